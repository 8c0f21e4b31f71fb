"""Cross-encoders: one model reads both answers together (Risch et al. 2021, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from qa_scoring.encoders.batching import token_batches
from qa_scoring.encoders.scorers import Keep, Pair, Progress, Scores, keep_nothing
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.signature import Value


class CrossEncoderScorer:
    """Scores pairs with a sequence classifier: one label, or one of several by its probability.

    Args:
        model: A transformers model for sequence classification, in evaluation mode, or one that is called like it.
        tokenizer: Its fast tokenizer.
        activation: How the logit of a model with one label becomes a score: ``"sigmoid"``, or ``"identity"`` for an
            output that is in [0, 1] already.
        label: Of a model with several labels, the name or index of the one whose softmax probability is the score.
        max_length: Longest pair, in tokens; the longer side is cut first.
        batch_size: Pairs per batch; None fills batches by tokens.
        prompt: What the model was trained to read before the first text.
        facts: What the signature says of model, revision and backend.

    Raises:
        InputError: The model has several labels and none is chosen, or it has not the one that is chosen.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        activation: str,
        label: str | int | None = None,
        max_length: int,
        batch_size: int | None,
        prompt: str = "",
        facts: Mapping[str, Value],
    ) -> None:
        self._column = _column(model.config, label)
        self._model = model
        self._tokenizer = tokenizer
        self._activation = activation if self._column is None else "softmax"
        self._max_length = max_length
        self._batch_size = batch_size
        self._prompt = prompt
        self.facts: Mapping[str, Value] = {
            "scorer": "cross-encoder",
            **facts,
            "dtype": str(model.dtype).removeprefix("torch."),
            "activation": self._activation,
            "label": None if self._column is None else _label_names(model.config)[self._column],
            "max_length": max_length,
            "prompt": prompt or None,
        }

    def score(self, pairs: Sequence[Pair], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score pairs, sorted by length, in batches of about the same number of tokens."""
        encoded = self._tokenizer(
            [self._prompt + first for first, _ in pairs],
            [second for _, second in pairs],
            truncation="longest_first",
            max_length=self._max_length,
        )
        lengths = [len(ids) for ids in encoded["input_ids"]]
        truncated = np.array([bool(encoding.overflowing) for encoding in encoded.encodings])
        scores = np.empty(len(pairs))
        for rows in progress(list(token_batches(lengths, self._batch_size, device=self._model.device.type))):
            batch = self._tokenizer.pad(
                {name: [encoded[name][row] for row in rows] for name in encoded}, return_tensors="pt"
            ).to(self._model.device)
            with torch.inference_mode():
                scores[rows] = found = self._activated(self._model(**batch).logits.double()).cpu().numpy()
            if found.min() < 0.0 or found.max() > 1.0:
                raise InputError(
                    f"The model gave scores outside [0, 1] (from {found.min():.3g} to {found.max():.3g}). Its output "
                    f"needs activation='sigmoid'."
                )
            keep(rows, Scores(found, truncated[rows]))
        return Scores(scores, truncated)

    def _activated(self, logits: torch.Tensor) -> torch.Tensor:
        """Turn logits, shape (n, labels), into scores, shape (n,)."""
        if self._column is not None:
            return torch.softmax(logits, dim=-1)[:, self._column]
        return torch.sigmoid(logits[:, 0]) if self._activation == "sigmoid" else logits[:, 0]


def _label_names(config: Any) -> list[str]:
    return [str(config.id2label[index]) for index in range(config.num_labels)]


def _column(config: Any, label: str | int | None) -> int | None:
    """Return which output is the score; None for a model with one."""
    names = _label_names(config)
    listed = ", ".join(f"{index}: {name!r}" for index, name in enumerate(names))
    if len(names) == 1:
        if label is not None:
            raise InputError("The argument 'label' is for models with two or more labels (NLI); this one has one.")
        return None
    if label is None:
        raise InputError(
            f"A similarity model has one label; this one has {len(names)} ({listed}). Pass label={names[0]!r} or "
            f"another of them to score its probability, or choose a model that was trained to score similarity."
        )
    known = {name.casefold(): index for index, name in enumerate(names)}
    found = known.get(label.casefold()) if isinstance(label, str) else label
    if found is None and isinstance(label, str) and label.isdecimal():  # from a command line
        found = int(label)
    if found is None or not 0 <= found < len(names):
        raise parameter_error("label", f"one of the model's labels ({listed})", label)
    return found
