"""Bi-encoders, held against the cosine of ``SentenceTransformer.encode`` on the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_scoring import InputError
from qa_scoring.encoders.scorers import Pair, score_distinct
from qa_scoring.similarity.loading import load_scorer
from tests.similarity.conftest import MAX_LENGTH
from tests.similarity.test_cross_encoder import PAIRS


@pytest.fixture(scope="module")
def reference(bi_encoder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(bi_encoder), device="cpu")


def cosines(reference: Any, pairs: list[Pair]) -> np.ndarray:
    first, second = (reference.encode([pair[side] for pair in pairs]).astype(np.float64) for side in (0, 1))
    return (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)


def scores(folder: Path, pairs: list[Pair], **options: Any) -> np.ndarray:
    return score_distinct(load_scorer("bi-encoder", str(folder), device="cpu", **options), pairs).scores


def test_scores_are_cosines(bi_encoder: Path, reference: Any) -> None:
    ours = scores(bi_encoder, PAIRS)
    assert np.ptp(ours) > 0.05, "the model of this test must tell pairs apart"
    np.testing.assert_allclose(ours, np.clip(cosines(reference, PAIRS), 0.0, 1.0), rtol=0, atol=1e-5)
    assert ours.max() <= 1.0


def test_negative_cosines_are_clipped_at_zero(bi_encoder: Path, reference: Any) -> None:
    words = ["king", "paris", "1976", "?", "red blue", "😀", "museum of art", "km", "obama", "9.5%", "zq"]
    pairs = [(first, second) for first in words for second in words]
    expected = cosines(reference, pairs)
    assert (expected < -0.01).any(), "the model of this test must give some negative cosine"
    ours = scores(bi_encoder, pairs)
    assert (ours[expected < 0.0] == 0.0).all()
    np.testing.assert_allclose(ours, np.clip(expected, 0.0, 1.0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 7, 64, None])
def test_batch_size_and_order_change_nothing(batch_size: int | None, bi_encoder: Path) -> None:
    alone = np.array([scores(bi_encoder, [pair])[0] for pair in PAIRS])
    order = np.random.default_rng(0).permutation(len(PAIRS))
    together = scores(bi_encoder, [PAIRS[row] for row in order], batch_size=batch_size)
    np.testing.assert_allclose(together, alone[order], rtol=0, atol=1e-5)


def test_both_orders_of_a_pair_score_the_same(bi_encoder: Path) -> None:
    swapped = scores(bi_encoder, [pair[::-1] for pair in PAIRS])
    np.testing.assert_allclose(swapped, scores(bi_encoder, PAIRS), rtol=0, atol=1e-6)


def test_every_text_is_read_once(bi_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer: Any = load_scorer("bi-encoder", str(bi_encoder), device="cpu", batch_size=3)
    read: list[str] = []
    encode = scorer._model.encode
    monkeypatch.setattr(
        scorer._model, "encode", lambda texts, **options: read.extend(texts) or encode(texts, **options)
    )
    score_distinct(scorer, [(first, second) for first in "abcd" for second in "cdef"] * 5)
    assert sorted(read) == list("abcdef")


@pytest.mark.parametrize("max_length", [8, None])
def test_truncation_is_flagged_exactly_where_tokens_are_lost(max_length: int | None, bi_encoder: Path) -> None:
    limit = max_length or MAX_LENGTH
    pairs = [("king " * (limit - 2), "queen"), ("king", "queen " * (limit - 1)), ("king " * 2000, "queen"), ("a", "b")]
    scorer = load_scorer("bi-encoder", str(bi_encoder), device="cpu", max_length=max_length)
    result = score_distinct(scorer, pairs)
    assert result.truncated.tolist() == [False, True, True, False]
    assert scorer.facts["max_length"] == limit


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_vectors_are_upcast_before_the_cosine(dtype: str, bi_encoder: Path) -> None:
    ours = scores(bi_encoder, PAIRS, dtype=dtype)
    np.testing.assert_allclose(ours, scores(bi_encoder, PAIRS), rtol=0, atol=0.05)
    identical = np.array([first == second for first, second in PAIRS])
    np.testing.assert_allclose(ours[identical], 1.0, rtol=0, atol=1e-12)


def test_a_prompt_of_the_model_counts_as_tokens(bi_encoder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    prompted = SentenceTransformer(
        str(bi_encoder), device="cpu", prompts={"meaning": "red blue green "}, default_prompt_name="meaning"
    )
    prompted.save(str(tmp_path))
    pairs = [("king " * (MAX_LENGTH - 5), "queen"), ("king " * (MAX_LENGTH - 4), "queen")]
    result = score_distinct(load_scorer("bi-encoder", str(tmp_path), device="cpu"), pairs)
    assert result.truncated.tolist() == [False, True]
    np.testing.assert_allclose(result.scores, np.clip(cosines(prompted, pairs), 0.0, 1.0), rtol=0, atol=1e-5)


def test_an_activation_is_refused(bi_encoder: Path) -> None:
    with pytest.raises(InputError, match="'activation' is for cross-encoders; a bi-encoder gives the cosine"):
        load_scorer("bi-encoder", str(bi_encoder), device="cpu", activation="sigmoid")


def test_facts_name_what_changes_a_score(bi_encoder: Path) -> None:
    facts = load_scorer("bi-encoder", str(bi_encoder), device="cpu", dtype="bfloat16").facts
    assert facts["scorer"] == "bi-encoder"
    assert facts["model"] == str(bi_encoder)
    assert facts["dtype"] == "bfloat16"
    assert facts["activation"] == "cosine-clipped-at-0"
    assert facts["max_length"] == MAX_LENGTH
