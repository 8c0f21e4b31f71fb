"""One scored row per example: the only currency after scoring.

Subsets, thresholds, intervals, plots and comparisons are array operations on these columns; none goes back to a
tokenizer or a model. Rows are written to and read from JSON Lines or Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.overlap.scoring import FloatArray, IntArray
from qa_scoring.overlap.thresholds import BoolArray
from qa_scoring.signature import Signature
from qa_scoring.statistics.bootstrap import bootstrap_means

Figures = dict[str, Any]

DEFAULT_SEED = 42

SCORES = {"m2qa_squad_v2": ("exact", "f1"), "sas_metric": ("sas",), "ava_metric": ("ava_accuracy", "ava_score")}
"""Metric → its scores; rows are sorted by the last one."""


@dataclass(frozen=True)
class Rows:
    """Scores of n examples, in the order of the references.

    Args:
        ids: n strings.
        scores: Score name → shape (n,), in [0, 1], before any no-answer threshold.
        has_answer: Shape (n,), whether the question has a reference.
        answered: Shape (n,), whether the predicted string is not empty.
        best_reference: Shape (n,), index of the reference that won; -1 where there is none.
        no_answer: Shape (n,), no-answer values; None when none were given.
        sweep_order: Shape (n,), the rows in the order in which the no-answer values were given (ties).
        groups: n labels, or None.
        extra: Further columns (for example the predictions) for files, of length n each.

    Example:
        >>> import numpy as np
        >>> rows = Rows(["a", "b"], {"f1": np.array([1.0, 0.5])}, np.array([True, True]),
        ...             np.array([True, True]), np.array([0, 0]))
        >>> aggregate(rows, rows.scores, scale=100.0)["f1"]
        75.0
    """

    ids: list[str]
    scores: dict[str, FloatArray]
    has_answer: BoolArray
    answered: BoolArray
    best_reference: IntArray
    no_answer: FloatArray | None = None
    sweep_order: IntArray | None = None
    groups: list[str] | None = None
    extra: dict[str, list[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, indices: NDArray[np.int64]) -> Rows:
        """Return the rows at these positions, which must rise."""
        order = None
        if self.sweep_order is not None:
            position = np.empty(len(self), dtype=np.int64)
            position[self.sweep_order] = np.arange(len(self))
            order = np.argsort(position[indices], kind="stable")
        chosen = indices.tolist()
        return replace(
            self,
            ids=[self.ids[row] for row in chosen],
            scores={name: values[indices] for name, values in self.scores.items()},
            has_answer=self.has_answer[indices],
            answered=self.answered[indices],
            best_reference=self.best_reference[indices],
            no_answer=None if self.no_answer is None else self.no_answer[indices],
            sweep_order=order,
            groups=None if self.groups is None else [self.groups[row] for row in chosen],
            extra={name: [values[row] for row in chosen] for name, values in self.extra.items()},
        )

    def by_group(self) -> dict[str, Rows]:
        """Return the rows of every group, groups in order of appearance."""
        members: dict[str, list[int]] = {}
        for row, label in enumerate(self.groups or []):
            members.setdefault(label, []).append(row)
        return {label: self.select(np.array(rows, dtype=np.int64)) for label, rows in members.items()}

    def columns(self) -> dict[str, list[Any]]:
        """Return every column as plain Python values, as the files hold them."""
        columns: dict[str, list[Any]] = {"id": self.ids}
        if self.groups is not None:
            columns["group"] = self.groups
        columns |= {name: values.tolist() for name, values in self.scores.items()}
        columns["has_answer"] = self.has_answer.tolist()
        columns["answered"] = self.answered.tolist()
        columns["best_reference"] = [index if index >= 0 else None for index in self.best_reference.tolist()]
        if self.no_answer is not None:
            columns["no_answer"] = [value if np.isfinite(value) else None for value in self.no_answer.tolist()]
            position = np.empty(len(self), dtype=np.int64)
            position[np.arange(len(self)) if self.sweep_order is None else self.sweep_order] = np.arange(len(self))
            columns["sweep_position"] = position.tolist()
        return columns | self.extra

    def dicts(self) -> list[dict[str, Any]]:
        """Return one dict per row."""
        columns = self.columns()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


Reweighted = Callable[[FloatArray], dict[str, FloatArray]]


@dataclass(frozen=True)
class Scored:
    """What one run gives.

    Args:
        result: The figures, plain Python numbers.
        rows: One row per example, scores in [0, 1].
        signature: Everything that changes the figures.
        reweighted: The figures when row i counts w[r, i] times: shape (r, n) → name → shape (r,); NaN where a figure
            is not defined. What a bootstrap needs, without scoring again.
    """

    result: Figures
    rows: Rows
    signature: Signature
    reweighted: Reweighted


def group_labels(groups: Sequence[object] | None, count: int) -> list[str] | None:
    """Validate group labels: one per reference, strings, numbers, or tuples of them.

    Args:
        groups: The labels, or None.
        count: How many there must be.

    Returns:
        The labels as strings; the parts of a tuple are joined by `` × ``.

    Raises:
        InputError: The number is wrong, or a label is None.

    Example:
        >>> group_labels([("de", "news"), ("tr", "news")], 2)
        ['de × news', 'tr × news']
    """
    if groups is None:
        return None
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__"):
        raise parameter_error("groups", "a list with one label per reference", groups)
    if len(groups) != count:
        raise InputError(f"There are {len(groups)} group labels and {count} references; give one label per reference.")
    labels = []
    for row, label in enumerate(groups):
        parts = label if isinstance(label, tuple) else (label,)
        if not parts or any(part is None for part in parts):
            raise InputError(
                f"groups[{row}]: the label must be a string, a number or a tuple of them; got {shorten(label)}."
            )
        labels.append(" × ".join(map(str, parts)))
    return labels


# ---------------------------------------------------------------------------------- aggregation


def _subsets(has_answer: BoolArray) -> dict[str, BoolArray]:
    """Return SQuAD 2.0's three subsets: prefix of their keys → which rows belong."""
    return {"": np.ones_like(has_answer), "HasAns_": has_answer, "NoAns_": ~has_answer}


def aggregate(rows: Rows, scores: Mapping[str, FloatArray], *, scale: float) -> Figures:
    """Return the means of the scores over all rows, HasAns and NoAns rows.

    Args:
        rows: The rows.
        scores: Name → shape (n,), in [0, 1]; the rows' own scores, or what a threshold made of them.
        scale: What a mean is multiplied by: 100 for percentages.

    Returns:
        ``{name, ..., "total", "HasAns_name", ...}``; a subset without rows has total 0 and None.
    """
    figures: Figures = {}
    for prefix, members in _subsets(rows.has_answer).items():
        total = int(np.count_nonzero(members))
        for name, values in scores.items():
            # cumsum adds one number after the other, as the published scripts do: the same last digit.
            figures[prefix + name] = scale * float(np.cumsum(values[members])[-1]) / total if total else None
        figures[prefix + "total"] = total
    return figures


def confidence_intervals(
    rows: Rows,
    scores: Mapping[str, FloatArray],
    *,
    scale: float,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> dict[str, list[float] | None]:
    """Return bootstrap intervals for every mean of ``aggregate``.

    Args:
        rows: The rows.
        scores: As in ``aggregate``.
        scale: As in ``aggregate``.
        confidence_level: Between 0 and 1.
        n_resamples: At least 1.
        seed: Of the resampling.

    Returns:
        Key of ``aggregate`` → ``[low, high]``, or None for a subset without rows.
    """
    columns = mean_columns(rows, scores)
    intervals = bootstrap_means(columns, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed)
    return {
        key: None if interval is None else [scale * bound for bound in interval] for key, interval in intervals.items()
    }


def reweighted_means(rows: Rows, scores: Mapping[str, FloatArray], *, scale: float) -> Reweighted:
    """Return the means of ``aggregate`` as a function of how often each row counts.

    Args:
        rows: The rows.
        scores: As in ``aggregate``.
        scale: As in ``aggregate``.

    Returns:
        What ``Scored.reweighted`` is.
    """
    columns = mean_columns(rows, scores)
    table = np.array([*columns.values()])  # (figures, n)
    counted = ~np.isnan(table)
    values = scale * np.where(counted, table, 0.0)

    def means(weights: FloatArray) -> dict[str, FloatArray]:
        totals, counts = weights @ values.T, weights @ counted.T.astype(np.float64)
        found = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
        return dict(zip(columns, found.T, strict=True))

    return means


def mean_columns(rows: Rows, scores: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the values whose means are the figures of ``aggregate``.

    Args:
        rows: The rows.
        scores: Name → shape (n,).

    Returns:
        Key of ``aggregate`` → shape (n,), NaN for rows that do not count.
    """
    return {
        prefix + name: np.where(members, values, np.nan)
        for prefix, members in _subsets(rows.has_answer).items()
        for name, values in scores.items()
    }


def with_groups(rows: Rows, figures_of: Callable[[Rows], Figures]) -> Figures:
    """Return the figures of all rows, with those of every group where the rows have any.

    Args:
        rows: At least one row.
        figures_of: From rows to figures.

    Returns:
        The figures; ``groups`` holds label → figures.
    """
    figures = figures_of(rows)
    if rows.groups is not None:
        figures["groups"] = {label: figures_of(members) for label, members in rows.by_group().items()}
    return figures


def summarize_scores(
    rows: Rows,
    scores: Mapping[str, FloatArray],
    *,
    scale: float,
    confidence_level: float | None,
    n_resamples: int,
    seed: int,
) -> Figures:
    """Return the means of ``aggregate``, with intervals if asked for.

    Args:
        rows: At least one row.
        scores: As in ``aggregate``.
        scale: As in ``aggregate``.
        confidence_level: None, or the coverage of bootstrap intervals.
        n_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap.

    Returns:
        What ``aggregate`` gives; ``confidence_intervals`` if there is a confidence level.
    """
    figures = aggregate(rows, scores, scale=scale)
    if confidence_level is not None:
        figures["confidence_intervals"] = confidence_intervals(
            rows, scores, scale=scale, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed
        )
    return figures


def add_model_details(result: Figures, rows: Rows, missing: BoolArray, *, details: bool) -> None:
    """Add which answers a model read cut, and if asked for one dict per example.

    Args:
        result: Where ``truncated``, ``truncated_ids`` and ``details`` go.
        rows: The rows, with the columns ``truncated`` and ``prediction``.
        missing: Shape (n,), rows without a prediction.
        details: Whether to add the dicts.
    """
    truncated = [key for key, cut in zip(rows.ids, rows.extra["truncated"], strict=True) if cut]
    result["truncated"], result["truncated_ids"] = len(truncated), truncated
    if details:
        result["details"] = rows.dicts()
        for row in np.flatnonzero(missing).tolist():
            result["details"][row]["prediction"] = None


def check_statistics(confidence_level: float | None, n_resamples: int, seed: int) -> None:
    """Validate the arguments that all metrics share.

    Args:
        confidence_level: None, or strictly between 0 and 1.
        n_resamples: An integer of at least 1.
        seed: A non-negative integer.

    Raises:
        InputError: One of them is not that.
    """
    if confidence_level is not None and (
        isinstance(confidence_level, bool)
        or not isinstance(confidence_level, (int, float))
        or not 0.0 < confidence_level < 1.0
    ):
        raise parameter_error("confidence_level", "None or a number between 0 and 1, such as 0.95", confidence_level)
    for name, value, least in (("n_resamples", n_resamples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise parameter_error(name, f"an integer of at least {least}", value)


# ---------------------------------------------------------------------------------------- files

_NOT_SCORES = {"id", "group", "has_answer", "answered", "best_reference", "no_answer", "sweep_position"}


def write_rows(rows: Rows, path: str | Path) -> None:
    """Write rows to a file, one per example.

    Args:
        rows: The rows.
        path: Ends in ``.jsonl`` or ``.parquet``; its folder must exist.

    Raises:
        InputError: Another ending, or the file cannot be written.
    """
    write_columns(rows.columns(), path, {"qa_scoring.scores": json.dumps([*rows.scores])})


def write_columns(
    columns: Mapping[str, list[Any]], path: str | Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write a table to a file, one row per example.

    Args:
        columns: Name → one plain value per row.
        path: Ends in ``.jsonl`` or ``.parquet``; its folder must exist.
        metadata: What a Parquet file says of itself.

    Raises:
        InputError: Another ending, or the file cannot be written.
    """
    path = Path(path)
    try:
        if path.suffix == ".jsonl":
            with path.open("w", encoding="utf-8") as file:
                for values in zip(*columns.values(), strict=True):
                    file.write(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")
        elif path.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as parquet

            parquet.write_table(pa.table(dict(columns)).replace_schema_metadata(metadata), path)
        else:
            raise InputError(f"Rows are written as .jsonl or .parquet; got {path.name!r}.")
    except OSError as error:
        raise InputError(f"The rows cannot be written to {path}: {error.strerror or error}.") from error


def read_rows(path: str | Path) -> Rows:
    """Read rows that ``write_rows`` wrote.

    Args:
        path: Ends in ``.jsonl`` or ``.parquet``.

    Returns:
        The rows; in JSON Lines every numeric column without a meaning of its own is a score.

    Raises:
        InputError: The file is not what ``write_rows`` writes.
    """
    path = Path(path)
    try:
        if path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as file:
                items = [json.loads(line) for line in file if line.strip()]
            columns = {name: [item[name] for item in items] for name in (items[0] if items else ())}
            names = [
                name
                for name, values in columns.items()
                if name not in _NOT_SCORES and all(type(value) in (int, float) for value in values)
            ]
        elif path.suffix == ".parquet":
            import pyarrow.parquet as parquet

            table = parquet.read_table(path)
            columns = table.to_pydict()
            names = json.loads((table.schema.metadata or {})[b"qa_scoring.scores"])
        else:
            raise InputError(f"Rows are read from .jsonl or .parquet; got {path.name!r}.")
        return _rows_from_columns(columns, names)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"The rows cannot be read from {path}: {error.strerror or error}.") from error
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} does not hold rows as written by --rows ({type(error).__name__}: {error})."
        ) from error


def _rows_from_columns(columns: Mapping[str, list[Any]], names: Sequence[str]) -> Rows:
    if not columns or not columns["id"]:
        raise InputError("There are no rows in the file.")
    no_answer = None
    if "no_answer" in columns:
        no_answer = np.array([-np.inf if value is None else value for value in columns["no_answer"]], dtype=np.float64)
    order = np.argsort(columns["sweep_position"], kind="stable") if "sweep_position" in columns else None
    return Rows(
        ids=[str(key) for key in columns["id"]],
        scores={name: np.array(columns[name], dtype=np.float64) for name in names},
        has_answer=np.array(columns["has_answer"], dtype=np.bool_),
        answered=np.array(columns["answered"], dtype=np.bool_),
        best_reference=np.array(
            [-1 if index is None else index for index in columns["best_reference"]], dtype=np.int64
        ),
        no_answer=no_answer,
        sweep_order=order,
        groups=list(map(str, columns["group"])) if "group" in columns else None,
        extra={name: values for name, values in columns.items() if name not in _NOT_SCORES and name not in names},
    )
