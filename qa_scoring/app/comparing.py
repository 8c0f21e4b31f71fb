"""Two systems' answers to the same questions: the difference of their figures, and the rows that make it."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from qa_scoring.app import inputs, scoring
from qa_scoring.errors import InputError, shorten
from qa_scoring.rows import DEFAULT_SEED
from qa_scoring.statistics.bootstrap import bootstrap_means

METRIC = "m2qa_squad_v2"
SIDES: dict[str, inputs.Side] = {
    "Predictions of A": "predictions",
    "Predictions of B": "predictions",
    "References": "references",
}
"""Name on the page → what is uploaded."""
SYSTEMS = ("a", "b")
MOST_ROWS = 100
RESAMPLES = 2000
HEADERS = ("row", "id", "question", "A", "B", "references", "F1 of A", "F1 of B", "B minus A")
"""Columns of the rows that differ."""


class Difference(NamedTuple):
    """One figure of both systems, in percent.

    Args:
        a: Of A.
        b: Of B.
        difference: B minus A.
        interval: Its 95 % interval, by a bootstrap that draws both systems' rows together.
    """

    a: float
    b: float
    difference: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What comparing two systems gives.

    Args:
        exact: EM.
        f1: Token F1.
        right: ``both``, ``only_a``, ``only_b`` and ``neither`` → how many rows (EM 1 is right).
        rows: The rows where F1 differs most, under ``HEADERS``; those that differ equally in the order given.
        differing: How many rows differ in F1.
    """

    exact: Difference
    f1: Difference
    right: dict[str, int]
    rows: list[list[Any]]
    differing: int


def read(pasted: str | None, uploads: Mapping[str, inputs.Upload]) -> tuple[inputs.Given, inputs.Given]:
    r"""Return what is compared: pasted columns, or uploaded files.

    Args:
        pasted: Lines from a spreadsheet or CSV. A first line names the columns ``a``, ``b`` and ``references``, and if
            wanted ``id`` and ``question``; without it there are three columns, a, b and references. None for the files.
        uploads: Name of ``SIDES`` → upload.

    Returns:
        A and B, with the same references.

    Raises:
        InputError: Something is not there or cannot be read.

    Example:
        >>> a, b = read("a,b,references\nin Rome,Rome,Rome", {})
        >>> a.predictions[0]["prediction_text"], b.predictions[0]["prediction_text"]
        ('in Rome', 'Rome')
    """
    if pasted is not None:
        header, lines, delimiter = _split_header(pasted)
        tables = []
        for system in SYSTEMS:
            names = delimiter.join(
                "prediction" if name == system else "other" if name in SYSTEMS else name for name in header
            )
            tables.append(inputs.parse_pasted(f"{names}\n{lines}"))
        return inputs.from_table(tables[0]), inputs.from_table(tables[1])
    for name in SIDES:
        if name not in uploads:
            raise InputError(f"There are no {name[0].lower()}{name[1:]}: upload them, or choose the pasted rows.")
    a, b, references = (uploads[name] for name in SIDES)
    return (
        inputs.from_uploads({"predictions": a, "references": references}),
        inputs.from_uploads({"predictions": b, "references": references}),
    )


def _split_header(pasted: str) -> tuple[list[str], str, str]:
    if not pasted.strip():
        raise InputError("There is nothing to compare: paste the columns a, b and references, or upload files.")
    lines = pasted.strip("\r\n").split("\n")
    delimiter = "\t" if "\t" in lines[0] else ","
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    try:
        first = next(reader)
    except csv.Error as error:
        raise InputError(f"The pasted rows cannot be read: {error}.") from None
    names = [name.strip().lower() for name in first]
    names = ["references" if name in ("reference", "answers") else name for name in names]
    if {*SYSTEMS, "references"} <= set(names):
        rest = "\n".join(lines[reader.line_num :])
        if not rest.strip():
            raise InputError("There is nothing to compare: only the names of the columns were pasted.")
        return names, rest, delimiter
    if len(first) != 3:
        raise InputError(
            f"The pasted rows need a first line that names the columns a, b and references, or three columns, a, b "
            f"and references; got {len(first)}: {shorten(', '.join(first))}."
        )
    return [*SYSTEMS, "references"], "\n".join(lines), delimiter


def compare(
    given_a: inputs.Given,
    given_b: inputs.Given,
    settings: scoring.Settings,
    report: scoring.Report = lambda what, items: items,
) -> Comparison:
    """Score both systems, each answer as it is given: no-answer values are not used.

    Args:
        given_a: A's predictions, and the references.
        given_b: B's predictions, and the same references.
        settings: Language, tokenizer, normalisation, and what to do with missing predictions; the rest is not read.
        report: Wraps the loops, to show progress.

    Returns:
        The comparison.

    Raises:
        InputError: Something cannot be scored; the message begins with the system.

    Example:
        >>> a, b = read("in Rome,Rome,Rome", {})
        >>> compare(a, b, scoring.Settings()).exact.difference
        100.0
    """
    settings = replace(settings, metrics=(METRIC,), group_by=(), intervals=False, no_answer_threshold=math.inf)
    run_a = _score("A", given_a, settings, report)
    run_b = _score("B", given_b, settings, report)
    a, b = run_a.scored[METRIC], run_b.scored[METRIC]
    changes = {name: b.rows.scores[name] - a.rows.scores[name] for name in ("exact", "f1")}
    intervals = bootstrap_means(
        changes, confidence_level=scoring.CONFIDENCE_LEVEL, n_resamples=RESAMPLES, seed=DEFAULT_SEED
    )
    figures = {}
    for name in changes:
        interval = intervals[name]
        assert interval is not None  # every row has both scores
        of_a, of_b = a.result[name], b.result[name]
        figures[name] = Difference(of_a, of_b, of_b - of_a, (100 * interval[0], 100 * interval[1]))
    right_a, right_b = a.rows.scores["exact"] == 1, b.rows.scores["exact"] == 1
    right = {"both": right_a & right_b, "only_a": right_a & ~right_b, "only_b": right_b & ~right_a}
    counts = {name: int(np.count_nonzero(rows)) for name, rows in right.items()}
    counts["neither"] = len(right_a) - sum(counts.values())
    order = np.argsort(-np.abs(changes["f1"]), kind="stable")
    differing = int(np.count_nonzero(changes["f1"]))
    rows = [_row(run_a, run_b, place) for place in order[: min(differing, MOST_ROWS)].tolist()]
    return Comparison(figures["exact"], figures["f1"], counts, rows, differing)


def _score(name: str, given: inputs.Given, settings: scoring.Settings, report: scoring.Report) -> scoring.Run:
    try:
        return scoring.score(given, settings, lambda what, items: report(name, items))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _row(a: scoring.Run, b: scoring.Run, place: int) -> list[Any]:
    columns = a.columns
    f1_a, f1_b = columns["f1"][place], b.columns["f1"][place]
    return [
        columns["row"][place],
        columns["id"][place],
        columns["question"][place] if "question" in columns else "",
        columns["prediction"][place],
        b.columns["prediction"][place],
        " | ".join(columns["references"][place]),
        round(f1_a, 4),
        round(f1_b, 4),
        round(f1_b - f1_a, 4),
    ]


def figures_table(comparison: Comparison) -> list[list[str]]:
    """Return the figures as rows of score, A, B, and B minus A with its interval.

    Args:
        comparison: Of ``compare``.

    Returns:
        EM and F1, in percent.

    Example:
        >>> figures_table(compare(*read("in Rome,Rome,Rome", {}), scoring.Settings()))[0]
        ['EM', '0.00', '100.00', '+100.00 [+100.00, +100.00]']
    """
    return [
        [
            name,
            f"{one.a:.2f}",
            f"{one.b:.2f}",
            f"{one.difference:+.2f} [{one.interval[0]:+.2f}, {one.interval[1]:+.2f}]",
        ]
        for name, one in (("EM", comparison.exact), ("F1", comparison.f1))
    ]


def in_words(comparison: Comparison) -> str:
    """Return in words how many rows which system gets right, and how many are shown.

    Args:
        comparison: Of ``compare``.

    Returns:
        Sentences.

    Example:
        >>> in_words(compare(*read("in Rome,Rome,Rome", {}), scoring.Settings()))
        'Right (EM): both 0, only A 0, only B 1, neither 0. F1 differs in 1 of 1 rows; 1 shown.'
    """
    right = ", ".join(
        f"{name} {comparison.right[key]:,}"
        for key, name in (("both", "both"), ("only_a", "only A"), ("only_b", "only B"), ("neither", "neither"))
    )
    total = sum(comparison.right.values())
    return (
        f"Right (EM): {right}. F1 differs in {comparison.differing:,} of {total:,} rows; {len(comparison.rows)} shown."
    )


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the figures as plain values, for programs.

    Args:
        comparison: Of ``compare``.

    Returns:
        ``exact`` and ``f1`` with their parts, ``right``, ``differing``, and how the interval was made.
    """
    return {
        "exact": comparison.exact._asdict(),
        "f1": comparison.f1._asdict(),
        "right": comparison.right,
        "differing": comparison.differing,
        "confidence_level": scoring.CONFIDENCE_LEVEL,
        "n_resamples": RESAMPLES,
        "seed": DEFAULT_SEED,
    }
