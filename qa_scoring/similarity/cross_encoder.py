"""Cross-encoders: one model reads both answers together (Risch et al. 2021, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from qa_scoring.errors import InputError
from qa_scoring.signature import Value
from qa_scoring.similarity.batching import token_batches
from qa_scoring.similarity.pairs import Pair, PairScores, Progress


class CrossEncoderScorer:
    """Scores pairs with a sequence classifier of one label.

    Args:
        model: A transformers model for sequence classification, in evaluation mode.
        tokenizer: Its fast tokenizer.
        activation: How a logit becomes a score: ``"sigmoid"``, or ``"identity"`` for a model whose output is in
            [0, 1] already.
        max_length: Longest pair, in tokens; the longer side is cut first.
        batch_size: Pairs per batch; None fills batches by tokens.
        facts: What the signature says of model and revision.

    Raises:
        InputError: The model has more than one label.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        activation: str,
        max_length: int,
        batch_size: int | None,
        facts: Mapping[str, Value],
    ) -> None:
        if model.config.num_labels != 1:
            raise InputError(
                f"A similarity model has one label; this one has {model.config.num_labels}. Choose a model that was "
                f"trained to score similarity."
            )
        self._model = model
        self._tokenizer = tokenizer
        self._activation = activation
        self._max_length = max_length
        self._batch_size = batch_size
        self.facts: Mapping[str, Value] = {
            "scorer": "cross-encoder",
            **facts,
            "dtype": str(model.dtype).removeprefix("torch."),
            "activation": activation,
            "max_length": max_length,
        }

    def score(self, pairs: Sequence[Pair], progress: Progress) -> PairScores:
        """Score pairs, sorted by length, in batches of about the same number of tokens."""
        encoded = self._tokenizer(
            [first for first, _ in pairs],
            [second for _, second in pairs],
            truncation="longest_first",
            max_length=self._max_length,
        )
        lengths = [len(ids) for ids in encoded["input_ids"]]
        scores = np.empty(len(pairs))
        for rows in progress(list(token_batches(lengths, self._batch_size))):
            batch = self._tokenizer.pad(
                {name: [encoded[name][row] for row in rows] for name in encoded}, return_tensors="pt"
            ).to(self._model.device)
            with torch.inference_mode():
                logits = self._model(**batch).logits.squeeze(-1).double()
            scores[rows] = (torch.sigmoid(logits) if self._activation == "sigmoid" else logits).cpu().numpy()
        if scores.min() < 0.0 or scores.max() > 1.0:
            raise InputError(
                f"The model gave scores outside [0, 1] (from {scores.min():.3g} to {scores.max():.3g}). Its output "
                f"needs activation='sigmoid'."
            )
        truncated = np.array([bool(encoding.overflowing) for encoding in encoded.encodings])
        return PairScores(scores, truncated)
