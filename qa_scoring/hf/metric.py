"""The base of this project's ``evaluate`` metrics; loading one turns the question-answering task on.

``evaluate`` writes every input to Arrow before it computes, checks the type of the first row only, and lets Arrow
turn the others into strings. Here every row is validated first and stays in Python; only the rows of a distributed
run (``num_process`` > 1) go through ``evaluate``'s Arrow files, in one canonical form.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets
import evaluate

from qa_scoring.errors import InputError, QAScoringError
from qa_scoring.hf.enabling import enable
from qa_scoring.records import read_predictions, read_questions, read_references, to_record_rows
from qa_scoring.rows import Scored
from qa_scoring.signature import Signature


def answer_features(*, questions: bool = False) -> datasets.Features:
    """Return the columns of a prediction and of a reference, as ``evaluate`` stores them.

    Args:
        questions: Whether a reference holds its question.

    Returns:
        The columns.
    """
    question = {"question": datasets.Value("string")} if questions else {}
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
                **question,
            },
        }
    )


class AnswerMetric(evaluate.Metric):  # type: ignore[misc]
    """A metric over predicted answers: validation, collected rows, and the signature of the last computation.

    A subclass gives ``_info``, ``_check`` and ``_compute``; ``_compute`` names its arguments and ends in
    ``return self._keep(scored)``.
    """

    reads_questions = False
    """Whether questions are collected with the references."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.info.module_name = type(self).__module__.rpartition(".")[2]  # not the class's: what users load
        enable()
        self._scored: Scored | None = None
        self._collected: tuple[list[Any], list[Any]] = ([], [])  # predictions, references

    def __len__(self) -> int:
        return len(self._collected[0]) if self.num_process == 1 else super().__len__()

    def signature(self) -> Signature:
        """Return everything that changed the figures of the last ``compute``.

        Returns:
            An ordered mapping; ``str`` gives one line, after sacreBLEU.

        Raises:
            QAScoringError: Nothing has been computed yet.
        """
        return self.scored().signature

    def scored(self) -> Scored:
        """Return what the last ``compute`` gave: result, one row per example, signature.

        Returns:
            All of it.

        Raises:
            QAScoringError: Nothing has been computed yet.
        """
        if self._scored is None:
            raise QAScoringError("There is no signature yet: call compute first.")
        return self._scored

    def add(self, *, prediction: Any = None, reference: Any = None, question: Any = None, **unknown: Any) -> None:
        """Add one prediction and its reference to those that ``compute`` will score."""
        _refuse(unknown, "add takes 'prediction' and 'reference'")
        self.add_batch(predictions=_one(prediction), references=_one(reference), questions=_one(question))

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, questions: Any = None, **unknown: Any
    ) -> None:
        """Add a batch of predictions and references to those that ``compute`` will score."""
        _refuse(unknown, "add_batch takes 'predictions' and 'references'")
        rows = self._record_rows(predictions, references, questions)
        if self.num_process > 1:
            super().add_batch(predictions=rows[0], references=rows[1])
        else:
            self._collected[0].extend(rows[0])
            self._collected[1].extend(rows[1])

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score the predictions passed here, together with all that were added before.

        Rows that were added stay until a computation succeeds.
        """
        known = [name for name in inspect.signature(self._compute).parameters if name not in self._feature_names()]
        _refuse({name: value for name, value in options.items() if name not in known}, f"known: {', '.join(known)}")
        result: dict[str, Any] | None
        if self.num_process > 1:
            self._check(**options)
            if predictions is not None or references is not None:
                predictions, references = self._record_rows(predictions, references, options.pop("questions", None))
            result = super().compute(predictions=predictions, references=references, **options)
            return result
        if len(self):
            added = self._collected
            if predictions is not None or references is not None:
                rows = self._record_rows(predictions, references, options.pop("questions", None))
                added = (added[0] + rows[0], added[1] + rows[1])
            predictions, references = added
        result = self._compute(predictions, references, **options)
        self._collected = ([], [])
        return result

    def _record_rows(self, predictions: Any, references: Any, questions: Any) -> tuple[list[Any], list[Any]]:
        """Validate a batch and put it into the one form that ``evaluate`` can store."""
        references = list(references) if isinstance(references, Iterator) else references
        columns = read_references(references)
        rows = to_record_rows(read_predictions(predictions), columns)
        if self.reads_questions:
            ids = columns.ids or list(map(str, range(len(columns.answers))))
            for row, question in zip(rows[1], read_questions(questions, references, ids), strict=True):
                row["question"] = question or ""
        elif questions is not None:
            _refuse({"questions": questions}, "this metric reads no questions")
        return rows

    def _check(self, **options: Any) -> None:
        """Raise what is wrong with the options, before the rows of all processes are collected."""
        raise NotImplementedError

    def _keep(self, scored: Scored) -> dict[str, Any]:
        self._scored = scored
        return scored.result

    def _build_data_dir(self) -> str:
        """Make the folder of the rows of a distributed run; a configuration may be the path of a model, not a name."""
        configuration = self.config_name
        if not configuration.isidentifier():
            configuration = hashlib.blake2b(configuration.encode(), digest_size=16).hexdigest()
        folder = Path(self._data_dir_root, self.name, configuration)
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def _configured(self, value: str | None) -> str | None:
        """Return the value, or else the configuration the metric was loaded with."""
        return self.config_name if value is None and self.config_name != "default" else value


def _one(value: Any) -> Any:
    return value if value is None else [value]


def _refuse(unknown: Mapping[str, Any], hint: str) -> None:
    if unknown:
        raise InputError(f"Unknown argument {', '.join(map(repr, unknown))} ({hint}).")
