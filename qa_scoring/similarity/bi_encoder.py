"""Bi-encoders: each answer is read alone, the score is the cosine of the vectors (Risch et al. 2021, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring.encoders.hub import cannot_load, check_usable, commit_of
from qa_scoring.encoders.scorers import Keep, Pair, Progress, Scores, keep_nothing
from qa_scoring.extras import distribution_version
from qa_scoring.signature import Value

_TEXTS_PER_BATCH = 64


class BiEncoderScorer:
    """Scores pairs by the cosine of their sentence vectors, clipped at 0; every distinct text is read once.

    Args:
        model: A ``SentenceTransformer``.
        batch_size: Texts per batch; None for 64.
        facts: What the signature says of model and revision.
    """

    def __init__(self, model: Any, *, batch_size: int | None, facts: Mapping[str, Value]) -> None:
        self._model = model
        self._batch_size = batch_size or _TEXTS_PER_BATCH
        self.facts: Mapping[str, Value] = {
            "scorer": "bi-encoder",
            **facts,
            "activation": "cosine-clipped-at-0",
            "max_length": int(model.max_seq_length),
        }

    def score(self, pairs: Sequence[Pair], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score pairs; vectors are computed once per distinct text."""
        position: dict[str, int] = {}
        rows = np.array([[position.setdefault(text, len(position)) for text in pair] for pair in pairs])
        texts = sorted(position, key=len, reverse=True)
        prompt = self._model.prompts.get(self._model.default_prompt_name) or ""
        vectors: list[NDArray[np.float64]] = [np.empty(0)] * len(texts)
        truncated = np.empty(len(texts), dtype=np.bool_)
        scores = np.empty(len(pairs))
        starts = range(0, len(texts), self._batch_size)
        rank = np.empty(len(texts), dtype=np.int64)
        rank[[position[text] for text in texts]] = np.arange(len(texts))
        last_batch = rank[rows].max(axis=1) // self._batch_size  # after it both vectors of a pair are there
        finished = np.split(np.argsort(last_batch, kind="stable"), np.cumsum(np.bincount(last_batch))[:-1])
        for start, ready in zip(progress(starts), finished, strict=True):
            batch = texts[start : start + self._batch_size]
            places = [position[text] for text in batch]
            encoded = self._model.encode(batch, batch_size=len(batch), show_progress_bar=False)
            for place, vector in zip(places, encoded.astype(np.float64), strict=True):
                vectors[place] = vector / max(np.linalg.norm(vector), np.finfo(np.float64).tiny)
            tokens = self._model.tokenizer([prompt + text for text in batch], truncation=False)["input_ids"]
            truncated[places] = np.array([len(ids) for ids in tokens]) > self._model.max_seq_length
            for row in ready:
                first, second = rows[row]
                scores[row] = np.clip(vectors[first] @ vectors[second], 0.0, 1.0)
            keep(ready.tolist(), Scores(scores[ready], truncated[rows[ready]].any(axis=1)))
        return Scores(scores, truncated[rows].any(axis=1))


def load_bi_encoder(
    model: str, *, revision: str | None, batch_size: int | None, device: str, dtype: Any, max_length: int | None
) -> BiEncoderScorer:
    """Load a bi-encoder from the Hub or a folder.

    Args:
        model: Hub id or folder.
        revision: Branch, tag or commit on the Hub.
        batch_size: Texts per batch; None for 64.
        device: Where it runs.
        dtype: The torch type of its weights.
        max_length: Longest text in tokens; None takes the model's own.

    Returns:
        The scorer.

    Raises:
        InputError: The model cannot be loaded.
    """
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer

    try:
        encoder = SentenceTransformer(
            model,
            revision=revision,
            device=device,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},  # never a pickle
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise cannot_load(model, revision, error) from error
    check_usable(model, encoder, encoder.tokenizer, max_length)
    encoder.to(dtype=dtype)
    if max_length is not None:
        encoder.max_seq_length = max_length
    facts = {
        "model": model,
        "revision": commit_of(model, revision, organization="sentence-transformers"),
        "dtype": str(dtype).removeprefix("torch."),
        "sentence-transformers": distribution_version("sentence-transformers"),
    }
    return BiEncoderScorer(encoder, batch_size=batch_size, facts=facts)
