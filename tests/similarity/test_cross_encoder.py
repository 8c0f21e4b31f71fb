"""Cross-encoders, held against ``sentence_transformers.CrossEncoder.predict`` on the same model and pairs.

What no reference gives is proven by construction: batches and order change nothing, every distinct pair is read
once, a cut is flagged exactly where a tokenizer without a limit gives more tokens.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qa_scoring import InputError
from qa_scoring.encoders.scorers import Pair, score_distinct
from qa_scoring.similarity.loading import load_scorer
from tests.similarity.conftest import MAX_LENGTH, change_config
from tests.similarity.doors import DOORS, score

PAIRS = [
    ("New York City", "New York"),
    ("New York", "New York City"),
    ("Paris", "Paris"),
    ("1976", "in the year 1976"),
    ("5.5 million", "5,500,000"),
    ("👩‍👩‍👧 family", "😀"),
    ("\x00control\x1f", "control\u200b"),
    ("\t  spaces \n", "spaces"),
    ("東京", "Токио"),
    ("é", "e\u0301"),
    ("[SEP] [CLS]", "[PAD]"),
    ("king " * 2000, "king"),
    ("king", "king " * 2000),
    ("queen of the museum " * 40, "art " * 300),
    ("Paris", "Paris"),
    ("?", "!"),
]


def predict(folder: Path, pairs: list[Pair], **options: Any) -> np.ndarray:
    from sentence_transformers import CrossEncoder

    return np.asarray(CrossEncoder(str(folder), device="cpu").predict(pairs, **options))


@pytest.fixture(scope="module")
def reference(one_label: Path) -> Any:
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(one_label), device="cpu")


def scores(folder: Path, pairs: list[Pair], **options: Any) -> np.ndarray:
    return score_distinct(load_scorer("cross-encoder", str(folder), device="cpu", **options), pairs).scores


def test_scores_are_those_of_predict(one_label: Path, reference: Any) -> None:
    ours = scores(one_label, PAIRS)
    assert np.ptp(ours) > 0.05, "the model of this test must tell pairs apart"
    np.testing.assert_allclose(ours, reference.predict(PAIRS), rtol=0, atol=1e-5)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12))
def test_scores_of_any_text_are_those_of_predict(pairs: list[Pair], one_label: Path, reference: Any) -> None:
    np.testing.assert_allclose(scores(one_label, pairs), reference.predict(pairs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 7, 64, None])
def test_batch_size_and_order_change_nothing(batch_size: int | None, one_label: Path) -> None:
    alone = np.array([scores(one_label, [pair])[0] for pair in PAIRS])
    order = np.random.default_rng(0).permutation(len(PAIRS))
    together = scores(one_label, [PAIRS[row] for row in order], batch_size=batch_size)
    np.testing.assert_allclose(together, alone[order], rtol=0, atol=1e-5)


def test_the_two_orders_of_a_pair_are_read_differently(one_label: Path) -> None:
    first, second = scores(one_label, PAIRS[:2])
    assert abs(first - second) > 1e-4  # hence symmetric=True


def batches_of(scorer: Any, pairs: list[Pair]) -> list[list[int]]:
    seen: list[list[int]] = []

    def watch(batches: Iterable[list[int]]) -> Iterable[list[int]]:
        for batch in batches:
            seen.append(batch)
            yield batch

    score_distinct(scorer, pairs, watch)
    return seen


def test_distinct_pairs_are_read_once(one_label: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer: Any = load_scorer("cross-encoder", str(one_label), device="cpu", batch_size=4)
    read = []
    forward = scorer._model.forward
    monkeypatch.setattr(
        scorer._model, "forward", lambda **inputs: read.append(len(inputs["input_ids"])) or forward(**inputs)
    )
    repeated = [pair for pair in PAIRS[:10] for _ in range(9)]
    result = score_distinct(scorer, repeated)
    assert sum(read) == len(set(repeated))
    assert max(read) == 4
    np.testing.assert_array_equal(result.scores.reshape(10, 9), np.repeat(result.scores[::9, None], 9, axis=1))


def test_no_pairs_ask_nothing_of_the_model(one_label: Path) -> None:
    assert batches_of(load_scorer("cross-encoder", str(one_label), device="cpu"), []) == []


def test_batches_hold_all_pairs_and_a_bounded_number_of_tokens(
    one_label: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qa_scoring.encoders import batching

    monkeypatch.setattr(batching, "TOKENS_PER_BATCH_ON_CPU", 256)
    scorer: Any = load_scorer("cross-encoder", str(one_label), device="cpu")
    pairs = [("king " * words, "queen") for words in range(1, 61)]  # 4 to 63 tokens
    batches = batches_of(scorer, pairs)
    assert sorted(row for batch in batches for row in batch) == list(range(60))
    assert all(len(batch) * (max(batch) + 4) <= 256 for batch in batches)
    assert len(batches) < 20


@pytest.mark.parametrize("max_length", [8, 20, None])
def test_truncation_is_flagged_exactly_where_tokens_are_lost(max_length: int | None, one_label: Path) -> None:
    scorer: Any = load_scorer("cross-encoder", str(one_label), device="cpu", max_length=max_length)
    limit = max_length or MAX_LENGTH
    # lengths around the limit, on either side and on both
    pairs = [("king " * first, "queen " * second) for first in (1, 2, 3, 30, 58) for second in range(1, 63)]
    expected = [first.count("k") + second.count("q") + 3 > limit for first, second in pairs]
    assert {True, False} == set(expected)
    assert score_distinct(scorer, pairs).truncated.tolist() == expected


@pytest.mark.parametrize("longer", [0, 1])
def test_the_longer_side_is_cut_first(longer: int, one_label: Path) -> None:
    room = 20 - 3  # special tokens
    short = "red blue green"
    long = " ".join(["king", "queen", "museum", "art"] * 10)
    kept = " ".join(long.split()[: room - 3])

    def pair(text: str) -> Pair:
        return (text, short) if longer == 0 else (short, text)

    scorer = load_scorer("cross-encoder", str(one_label), device="cpu", max_length=20)
    result = score_distinct(scorer, [pair(long), pair(kept)])
    assert result.truncated.tolist() == [True, False]
    assert result.scores[0] == pytest.approx(result.scores[1], abs=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 0.05), ("float16", 0.01)])
def test_half_precision_is_upcast_before_the_activation(dtype: str, tolerance: float, one_label: Path) -> None:
    scorer: Any = load_scorer("cross-encoder", str(one_label), device="cpu", dtype=dtype)
    assert scorer.facts["dtype"] == dtype
    result = score_distinct(scorer, PAIRS).scores
    np.testing.assert_allclose(result, scores(one_label, PAIRS), rtol=0, atol=tolerance)
    logits = torch.logit(torch.from_numpy(result))
    narrow = getattr(torch, dtype)
    # the logits are numbers of the narrow type, the scores are not rounded to it
    np.testing.assert_allclose(logits, logits.to(narrow).double(), rtol=0, atol=1e-9)
    assert not np.allclose(result, torch.from_numpy(result).to(narrow).double(), rtol=0, atol=1e-9)


def test_activation_identity_gives_the_raw_output_where_it_is_a_score(make_cross_encoder: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_cross_encoder(seed=3)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] *= 0.02
    weights["classifier.bias"].fill_(0.5)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    raw = scores(folder, PAIRS, activation="identity")
    np.testing.assert_allclose(raw, predict(folder, PAIRS, activation_fn=torch.nn.Identity()), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        scores(folder, PAIRS, activation="sigmoid"), 1.0 / (1.0 + np.exp(-raw)), rtol=0, atol=1e-6
    )


def test_raw_output_outside_the_range_is_an_error(one_label: Path) -> None:
    with pytest.raises(InputError, match=r"outside \[0, 1\] \(from .* to .*\).*activation='sigmoid'"):
        scores(one_label, PAIRS, activation="identity")


def test_scores_that_are_no_numbers_are_an_error(make_cross_encoder: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_cross_encoder()
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"].fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"not a number.*float16"):
        scores(folder, PAIRS)


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_two_labels_are_no_similarity(activation: str | None, two_labels: Path) -> None:
    message = (
        r"A similarity model has one label; this one has 2 \(0: 'LABEL_0', 1: 'LABEL_1'\)\. Pass label='LABEL_0' or "
    )
    with pytest.raises(InputError, match=message):
        load_scorer("cross-encoder", str(two_labels), device="cpu", activation=activation)


def test_identity_in_the_configuration_needs_a_declared_activation(identity_activation: Path) -> None:
    with pytest.raises(InputError, match=r"its output is Identity.*Pass activation='sigmoid'"):
        load_scorer("cross-encoder", str(identity_activation), device="cpu")
    expected = predict(identity_activation, PAIRS, activation_fn=torch.nn.Sigmoid())
    assert not np.allclose(predict(identity_activation, PAIRS), expected)
    ours = scores(identity_activation, PAIRS, activation="sigmoid")
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)


def test_sigmoid_in_the_configuration_is_taken(make_cross_encoder: Callable[..., Path], one_label: Path) -> None:
    folder = make_cross_encoder(activation="torch.nn.modules.activation.Sigmoid")
    np.testing.assert_allclose(scores(folder, PAIRS), scores(one_label, PAIRS), rtol=0, atol=1e-6)


def test_an_encoder_without_a_trained_head_is_refused(bi_encoder: Path) -> None:
    with pytest.raises(InputError, match=r"is a BertModel, which has no trained layer.*scorer='bi-encoder'"):
        load_scorer("cross-encoder", str(bi_encoder), device="cpu")


# ------------------------------------------------------------------------- one of several labels

NLI = {"contradiction": 0, "entailment": 1, "neutral": 2}


@pytest.fixture(scope="module")
def nli(make_cross_encoder: Callable[..., Path]) -> Path:
    folder = make_cross_encoder(labels=3)
    change_config(folder, label2id=NLI, id2label={str(index): name for name, index in NLI.items()})
    return folder


@pytest.mark.parametrize("label", ["entailment", "Entailment", 1, "1"])
@pytest.mark.parametrize("door", DOORS)
def test_label_is_the_softmax_probability_of_predict(door: str, label: str | int, nli: Path, tmp_path: Path) -> None:
    expected = predict(nli, PAIRS, apply_softmax=True)[:, 1]
    assert np.ptp(expected) > 0.05
    predictions, references = [first for first, _ in PAIRS], [[second] for _, second in PAIRS]
    result = score(door, predictions, references, tmp_path, model=str(nli), label=label, device="cpu")
    found = [row["sas"] for row in result["details"]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert "|activation:softmax|label:entailment|" in result["signature"]


def test_labels_share_nothing_but_sum_to_one(nli: Path) -> None:
    total = sum(scores(nli, PAIRS, label=label) for label in NLI)
    np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-9)


def test_two_labels_are_enough(two_labels: Path) -> None:
    expected = predict(two_labels, PAIRS, apply_softmax=True)[:, 0]
    np.testing.assert_allclose(scores(two_labels, PAIRS, label="label_0"), expected, rtol=0, atol=1e-5)


LISTED = r"\(0: 'contradiction', 1: 'entailment', 2: 'neutral'\)"
BAD_LABELS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown name": ({"label": "similar"}, rf"'label' must be one of the model's labels {LISTED}; got 'similar'"),
    "index too large": ({"label": 3}, rf"'label' must be one of the model's labels {LISTED}; got 3"),
    "index too large, from a command line": ({"label": "3"}, rf"one of the model's labels {LISTED}; got '3'"),
    "negative index": ({"label": -1}, rf"'label' must be one of the model's labels {LISTED}; got -1"),
    "none where there are several": ({}, rf"one label; this one has 3 {LISTED}\. Pass label='contradiction' or"),
    "no name": ({"label": ""}, "'label' must be None, or the name or index of one of the model's labels; got ''"),
    "True": ({"label": True}, "'label' must be None, or the name or index .*; got True"),
    "a list": ({"label": ["entailment"]}, "'label' must be None, or the name or index"),
    "with an activation": ({"label": 1, "activation": "sigmoid"}, "pass 'label' .* or 'activation' .*, not both"),
    "with a bi-encoder": ({"label": 1, "scorer": "bi-encoder"}, "'label' is for cross-encoders .*'bi-encoder'"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_label(options: dict[str, Any], message: str, nli: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_scorer(**({"scorer": "cross-encoder", "model": str(nli), "device": "cpu"} | options))


@pytest.mark.parametrize("door", DOORS)
def test_a_model_with_one_label_takes_none(door: str, one_label: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'label' is for models with two or more labels \(NLI\); this one has one"):
        score(door, ["a"], [["b"]], tmp_path, model=str(one_label), label="LABEL_0", device="cpu")


# --------------------------------------------------------------------------------------- prompts


def test_a_saved_prompt_is_read_as_predict_reads_it(one_label: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    parameters = inspect.signature(CrossEncoder.__init__).parameters
    if "prompts" not in parameters:
        pytest.skip("this version of sentence-transformers has no prompts for cross-encoders")
    folder = tmp_path / "model"
    CrossEncoder(
        str(one_label), device="cpu", prompts={"same": "the year ", "other": "king "}, default_prompt_name="same"
    ).save(str(folder))
    expected = predict(folder, PAIRS)
    assert np.abs(expected - predict(one_label, PAIRS)).max() > 1e-3
    scorer = load_scorer("cross-encoder", str(folder), device="cpu")
    np.testing.assert_allclose(score_distinct(scorer, PAIRS).scores, expected, rtol=0, atol=1e-5)
    assert scorer.facts["prompt"] == "the year "


def test_prompts_without_a_default_change_nothing(one_label: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    if "prompts" not in inspect.signature(CrossEncoder.__init__).parameters:
        pytest.skip("this version of sentence-transformers has no prompts for cross-encoders")
    CrossEncoder(str(one_label), device="cpu", prompts={"same": "the year "}).save(str(tmp_path))
    scorer = load_scorer("cross-encoder", str(tmp_path), device="cpu")
    np.testing.assert_allclose(score_distinct(scorer, PAIRS).scores, scores(one_label, PAIRS), rtol=0, atol=1e-6)
    assert scorer.facts["prompt"] is None
