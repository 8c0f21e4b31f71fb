"""The paper's networks: each is built, saved, loaded and independent of its batch; what is no judge is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from qa_scoring.encoders.scorers import no_progress, score_distinct
from qa_scoring.errors import InputError
from qa_scoring.judge.configuration import JudgeConfig
from qa_scoring.judge.families import ENCODERS, FAMILIES
from qa_scoring.judge.inputs import Triple, assemble, item, pad
from qa_scoring.judge.judges import rerank
from qa_scoring.judge.modeling import JudgeModel, save_judge
from qa_scoring.judge.network_judge import NetworkJudge, load_network_judge
from tests.judge.conftest import WORDS

RNG = np.random.default_rng(4)
ITEMS = [
    tuple(" ".join(RNG.choice(WORDS, size)) for size in sizes) for sizes in RNG.integers(1, 12, size=(30, 3)).tolist()
]


def build(base: Path, name: str, encoders: str = "own", **settings: Any) -> JudgeModel:
    torch.manual_seed(1)
    family = FAMILIES[name]
    model = JudgeModel.from_base(
        str(base),
        pairs=family.pairs,
        peer_attention=family.peer_attention,
        encoders=encoders,
        **{"max_tokens": 48, **settings},
    )
    with torch.no_grad():  # as training would: what starts at 0 is no longer 0
        for weight_name, weight in model.named_parameters():
            if "lora_B" in weight_name or "peers" in weight_name:
                weight.normal_(std=0.2)
    return model


def saved(model: JudgeModel, base: Path, folder: Path) -> str:
    from transformers import AutoTokenizer

    save_judge(model, AutoTokenizer.from_pretrained(base), folder)
    return str(folder)


def logits(model: JudgeModel, base: Path) -> torch.Tensor:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    triples = [Triple(question, reference, answer) for question, answer, reference in ITEMS]
    batch = pad(tokenizer, assemble(tokenizer, model.config.pairs, triples, 48), range(len(ITEMS)))
    with torch.inference_mode():
        found = model(**batch).logits
    assert isinstance(found, torch.Tensor)
    return found


def assert_same_model(loaded: JudgeModel, model: JudgeModel, base: Path) -> None:
    """The weights are equal to the last bit; the logits need not be: some processors round by where weights lie."""
    weights, expected = loaded.state_dict(), model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    torch.testing.assert_close(logits(loaded, base), logits(model, base), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("encoders", ENCODERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_saved_loaded_and_scores(family: str, encoders: str, bert_base: Path, tmp_path: Path) -> None:
    model = build(bert_base, family, encoders)
    folder = saved(model, bert_base, tmp_path)
    judge = load_network_judge(folder, device="cpu")
    expected = logits(model, bert_base)
    assert_same_model(judge.model, model, bert_base)
    together = score_distinct(judge, ITEMS)
    np.testing.assert_allclose(together.scores, torch.sigmoid(expected.double()).numpy(), atol=1e-6)
    alone = [score_distinct(judge, [texts]).scores[0] for texts in ITEMS[:8]]
    np.testing.assert_allclose(together.scores[:8], alone, atol=1e-5)
    assert together.scores.std() > 1e-3
    assert judge.reads_questions == any("q" in pair for pair in FAMILIES[family].pairs)
    assert not judge.reads_all_references
    count = len(FAMILIES[family].pairs) if encoders == "own" else 1
    weights = load_file(tmp_path / "model.safetensors")
    assert sum(name.endswith("embeddings.word_embeddings.weight") for name in weights) == count


def test_another_base(roberta_base: Path, tmp_path: Path) -> None:
    model = build(roberta_base, "A2 (r,q∘t) (t,q∘r)", dropout=0.3)
    judge = load_network_judge(saved(model, roberta_base, tmp_path), device="cpu", batch_size=3)
    assert_same_model(judge.model, model, roberta_base)
    assert judge.model.config.dropout == 0.3


def test_peer_attention_reads_the_other_member(bert_base: Path) -> None:
    """At first it adds nothing; then a change of what only the first pair has changes what comes of the second."""
    torch.manual_seed(1)
    plain = JudgeModel.from_base(str(bert_base), pairs=["q-r", "r-t"], max_tokens=48)
    torch.manual_seed(1)
    peers = JudgeModel.from_base(str(bert_base), pairs=["q-r", "r-t"], peer_attention=True, max_tokens=48)
    peers.classifier.load_state_dict(plain.classifier.state_dict())
    torch.testing.assert_close(logits(peers, bert_base), logits(plain, bert_base))
    for weight in peers.peers.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    with torch.no_grad():
        for model in (peers, plain):
            model.classifier.weight[:, :32] = 0  # only the second pair is read
    judged: list[bool] = []
    for model in (peers, plain):
        first, second = (_logit(model, bert_base, Triple(question, "walt", "disney")) for question in ("who", "when"))
        judged.append(first == second)
    assert judged == [False, True]


def _logit(model: JudgeModel, base: Path, triple: Triple) -> float:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    with torch.inference_mode():
        return float(model(**pad(tokenizer, assemble(tokenizer, model.config.pairs, [triple], 48), [0])).logits)


def test_adapters_leave_the_base_as_it_is(bert_base: Path) -> None:
    model = build(bert_base, "A1 (r,q∘t) (t,q∘r)", "adapters", adapter_rank=4)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    batch = {
        f"pair_{number}_{name}": torch.ones(2, 5, dtype=torch.long)
        for number in range(2)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    model(**batch, labels=torch.tensor([0.0, 1.0])).loss.backward()
    reached = {name for name, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert reached <= trained
    assert all("lora_" in name or name.startswith("classifier") for name in trained)
    for pair in ("r_qt", "t_qr"):
        assert any(f"lora_A.{pair}" in name for name in reached)


def test_weights_count_in_the_loss(bert_base: Path) -> None:
    model = build(bert_base, "A0 (r,t)")
    batch = {f"pair_0_{name}": torch.ones(2, 5, dtype=torch.long) for name in ("input_ids", "attention_mask")}
    labels = torch.tensor([0.0, 1.0])
    one, other = (model(**batch, labels=labels, weights=torch.tensor(weights)).loss for weights in ([2.0, 0], [0, 2.0]))
    assert float((one + other).detach()) / 2 == pytest.approx(float(model(**batch, labels=labels).loss.detach()))


def test_temperature_and_threshold_come_from_the_configuration(bert_base: Path, tmp_path: Path) -> None:
    model = build(bert_base, "A0 (r,t)", logit_temperature=2.0, threshold=0.3)
    judge = load_network_judge(saved(model, bert_base, tmp_path), device="cpu")
    scores = score_distinct(judge, ITEMS).scores
    np.testing.assert_allclose(scores, torch.sigmoid(logits(model, bert_base).double() / 2).numpy(), atol=1e-6)
    assert judge.threshold == 0.3
    assert judge.facts == {
        "judge": "A0/A1",
        "pairs": "r-t",
        "encoders": "own",
        "model": str(tmp_path),
        "revision": None,
        "transformers": judge.facts["transformers"],
        "dtype": "float32",
        "max_length": 48,
        "temperature": 2.0,
    }


def test_options_of_loading(bert_base: Path, tmp_path: Path) -> None:
    folder = saved(build(bert_base, "A1 (r,q∘t) (t,q∘r)"), bert_base, tmp_path)
    judge = load_network_judge(folder, device="cpu", dtype="bfloat16", max_length=12, batch_size=4)
    assert (judge.facts["dtype"], judge.facts["max_length"]) == ("bfloat16", 12)
    seen: list[int] = []
    found = judge.score(ITEMS, no_progress, lambda rows, scores: seen.extend(rows))
    assert sorted(seen) == list(range(len(ITEMS)))
    assert found.truncated.any()
    assert not score_distinct(load_network_judge(folder, device="cpu"), ITEMS).truncated.any()


def test_candidates_are_ranked(bert_base: Path, tmp_path: Path) -> None:
    judge = load_network_judge(saved(build(bert_base, "A0 (r,t)"), bert_base, tmp_path), device="cpu")
    candidates = ["paris", "the thames", " ", "paris", "walt disney"]
    ranked = judge.rerank("", "paris", candidates)
    assert ranked == rerank(judge, "", "paris", candidates)
    assert sorted(place for place, _ in ranked) == list(range(5))
    assert ranked[-1] == (2, 0.0)
    assert [probability for _, probability in ranked] == sorted((p for _, p in ranked), reverse=True)
    assert [place for place, _ in ranked if place in (0, 3)] == [0, 3]  # equal ones as given
    scores = score_distinct(judge, [item("", text, ["paris"]) for text in candidates]).scores
    assert dict(ranked)[4] == pytest.approx(scores[4], abs=1e-6)
    assert judge.rerank("who", "paris", []) == []


def test_what_cannot_be_ranked(bert_base: Path, tmp_path: Path) -> None:
    judge = load_network_judge(saved(build(bert_base, "A0 (q,t)"), bert_base, tmp_path), device="cpu")
    for arguments, message in (
        (("", "paris", ["rome"]), "This judge reads the question; got a blank one"),
        (("who", " ", ["rome"]), "'reference' must be a text that is not blank"),
        (("who", "paris", "rome"), "'candidates' must be a list of texts; got 'rome'"),
        (("who", "paris", [1]), "'candidates' must be a list of texts"),
        ((None, "paris", ["rome"]), "'question' must be a text; got None"),
    ):
        with pytest.raises(InputError, match=message):
            judge.rerank(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": ["x"]}, "'pairs' must be one or more of"),
        ({"encoders": "one"}, "'encoders' must be 'own' or 'shared' or 'adapters'; got 'one'"),
        ({"peer_attention": True, "pairs": ["q-r"]}, "Peer attention is between two pairs; got 1"),
        ({"adapter_rank": 0}, "'adapter_rank' must be an integer of at least 1"),
        ({"threshold": 1.2}, "'threshold' must be a number from 0 to 1; got 1.2"),
        ({"logit_temperature": 0}, "'logit_temperature' must be a number above 0; got 0"),
        ({"max_tokens": 4}, "'max_tokens' must be an integer of at least 8; got 4"),
        ({"dropout": 1}, "'dropout' must be a number of at least 0 and below 1; got 1"),
    ],
)
def test_wrong_configurations(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        JudgeConfig(**settings)


def test_pickled_weights_are_refused(bert_base: Path, tmp_path: Path) -> None:
    folder = saved(build(bert_base, "A0 (r,t)"), bert_base, tmp_path)
    assert {file.suffix for file in tmp_path.iterdir()} <= {".json", ".safetensors", ".txt", ".jinja"}
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"holds no model that can be loaded: .*pickled weights are refused"):
        load_network_judge(folder, device="cpu")
    with pytest.raises(InputError, match=r"pickled weights are refused"):
        JudgeModel.from_base(_pickled_base(bert_base, tmp_path / "base"), max_tokens=48)


def _pickled_base(base: Path, folder: Path) -> str:
    folder.mkdir()
    (folder / "config.json").write_text((base / "config.json").read_text())
    torch.save(load_file(base / "model.safetensors"), folder / "pytorch_model.bin")
    return str(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("drop", r"lacks classifier\.weight; see config\.json"),
        ("add", r"has unknown other; see config\.json"),
        ("shape", "holds no model that can be loaded: .*[Ss]ize|mismatch"),
    ],
)
def test_weights_that_are_not_the_configurations(change: str, message: str, bert_base: Path, tmp_path: Path) -> None:
    folder = saved(build(bert_base, "A0 (r,t)"), bert_base, tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    if change == "drop":
        del weights["classifier.weight"]
    elif change == "add":
        weights["other"] = torch.zeros(1)
    else:
        weights["classifier.weight"] = torch.zeros(1, 31)
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=message):
        load_network_judge(folder, device="cpu")


def test_code_of_a_model_is_never_run(bert_base: Path, tmp_path: Path) -> None:
    folder = saved(build(bert_base, "A0 (r,t)"), bert_base, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    mapped = dict.fromkeys(("AutoConfig", "AutoModel", "AutoTokenizer"), "evil.Evil")
    config = {**config, "auto_map": mapped, "base": {**config["base"], "auto_map": mapped}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text("raise SystemExit('code of the model ran')\n")
    assert isinstance(load_network_judge(folder, device="cpu"), NetworkJudge)


def test_what_is_no_judge(bert_base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no judge: its config\.json has model_type 'bert'; expected 'ava-judge'"):
        load_network_judge(str(bert_base))
    with pytest.raises(InputError, match="There is no folder /nowhere/at/all"):
        load_network_judge("/nowhere/at/all")
    folder = saved(build(bert_base, "A0 (r,t)"), bert_base, tmp_path)
    for options, message in (
        ({"revision": "main"}, "is a folder, which has no 'revision'"),
        ({"dtype": "int8"}, "'dtype' must be None or one of 'float32', 'bfloat16', 'float16'; got 'int8'"),
        ({"max_length": 65}, "'max_length' must be at most 64"),
        ({"batch_size": 0}, "'batch_size' must be None or an integer of at least 1; got 0"),
        ({"device": "abacus"}, "'device' must be None or one of"),
    ):
        with pytest.raises(InputError, match=message):
            load_network_judge(folder, **options)  # type: ignore[arg-type]
    judge = load_network_judge(folder, device="cpu")
    with pytest.raises(InputError, match="reads one reference at a time; got an item of 2"):
        score_distinct(judge, [item("who", "walt", ["disney", "walt"])])
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "base": {"model_type": "abacus"}}))
    with pytest.raises(InputError, match="'base' must be the configuration of an encoder of transformers"):
        load_network_judge(folder)
