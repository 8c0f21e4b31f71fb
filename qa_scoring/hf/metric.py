"""The base of this project's ``evaluate`` metrics.

``evaluate`` writes every input to Arrow before it computes, checks the type of the first row only, and lets Arrow
turn the others into strings. Here every row is validated first; rows passed straight to ``compute`` never touch
Arrow, rows collected with ``add`` and ``add_batch`` go through it in one canonical form.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import datasets
import evaluate

from qa_scoring.errors import InputError, QAScoringError
from qa_scoring.multilingual_squad import Scored
from qa_scoring.records import read_predictions, read_references, to_arrow_rows
from qa_scoring.signature import Signature


def answer_features() -> datasets.Features:
    """Return the columns of a prediction and of a reference, as ``evaluate`` stores them."""
    return datasets.Features(
        {
            "predictions": {
                "id": datasets.Value("string"),
                "prediction_text": datasets.Value("string"),
                "no_answer_probability": datasets.Value("float64"),
            },
            "references": {
                "id": datasets.Value("string"),
                "answers": {
                    "text": datasets.Sequence(datasets.Value("string")),
                    "answer_start": datasets.Sequence(datasets.Value("int32")),
                },
            },
        }
    )


class AnswerMetric(evaluate.Metric):  # type: ignore[misc]
    """A metric over predicted answers: validation, Arrow, and the signature of the last computation.

    A subclass gives ``_info``, ``_check`` and ``_compute``; ``_compute`` names its arguments and ends in
    ``return self._keep(scored)``.
    """

    _signature: Signature | None = None

    def signature(self) -> Signature:
        """Return everything that changed the figures of the last ``compute``.

        Returns:
            An ordered mapping; ``str`` gives one line, after sacreBLEU.

        Raises:
            QAScoringError: Nothing has been computed yet.
        """
        if self._signature is None:
            raise QAScoringError("There is no signature yet: call compute first.")
        return self._signature

    def add(self, *, prediction: Any = None, reference: Any = None, **unknown: Any) -> None:
        """Add one prediction and its reference to those that ``compute`` will score."""
        _refuse(unknown, "add takes 'prediction' and 'reference'")
        self.add_batch(predictions=_one(prediction), references=_one(reference))

    def add_batch(self, *, predictions: Any = None, references: Any = None, **unknown: Any) -> None:
        """Add a batch of predictions and references to those that ``compute`` will score."""
        _refuse(unknown, "add_batch takes 'predictions' and 'references'")
        rows = to_arrow_rows(read_predictions(predictions), read_references(references))
        super().add_batch(predictions=rows[0], references=rows[1])

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score the predictions passed here, or all that were added before."""
        known = [name for name in inspect.signature(self._compute).parameters if name not in self._feature_names()]
        _refuse({name: value for name, value in options.items() if name not in known}, f"known: {', '.join(known)}")
        self._check(**options)
        if self.writer is None and self.num_process == 1:
            return self._compute(predictions, references, **options)  # type: ignore[no-any-return]
        result: dict[str, Any] | None = super().compute(predictions=predictions, references=references, **options)
        return result

    def _check(self, **options: Any) -> None:
        """Raise what is wrong with the options, before collected rows are given up."""
        raise NotImplementedError

    def _keep(self, scored: Scored) -> dict[str, Any]:
        self._signature = scored.signature
        return scored.result

    def _configured(self, value: str | None) -> str | None:
        """Return the value, or else the configuration the metric was loaded with."""
        return self.config_name if value is None and self.config_name != "default" else value


def _one(value: Any) -> Any:
    return value if value is None else [value]


def _refuse(unknown: Mapping[str, Any], hint: str) -> None:
    if unknown:
        raise InputError(f"Unknown argument {', '.join(map(repr, unknown))} ({hint}).")
