"""Comparing on the page: two systems' answers as they are pasted or uploaded, tables of cells, the calls, the files."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qa_scoring import METRICS
from qa_scoring.app import inputs, scoring
from qa_scoring.comparison import Comparison
from qa_scoring.comparison import compare as compare_scored
from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.report.tables import (
    comparison_cells,
    comparison_signatures,
    differing_in_words,
    references_cell,
    right_in_words,
)
from qa_scoring.rows import write_columns

SIDES: dict[str, inputs.Side] = {
    "Predictions of A": "predictions",
    "Predictions of B": "predictions",
    "References": "references",
}
"""Name on the page → what is uploaded."""
SYSTEMS = ("a", "b")
PASTED_FILES = ("predictions-a.jsonl", "predictions-b.jsonl", "references.jsonl")
"""What pasted rows are called as files: A's answers, B's, references with their questions."""
MOST_ROWS = 100
FIGURE_HEADERS = ("questions", "score", "A", "B", "B minus A [95 %]", "p")
ROW_HEADERS = ("row", "question", "A", "B", "references", "score of A", "score of B", "B minus A", "id")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comparing two systems on the page gives.

    Args:
        comparison: The figures and the rows.
        questions: One per row; empty strings where there are none.
        runs: A's run and B's, for the calls and the files.
        notes: What the user should know of the figures, one sentence each.
    """

    comparison: Comparison
    questions: list[str]
    runs: tuple[scoring.Run, scoring.Run]
    notes: list[str]

    @property
    def metric(self) -> str:
        """The metric that scored both."""
        return str(self.comparison.result["metric"])


# ----------------------------------------------------------------------------------------- reading


def read(pasted: str | None, uploads: Mapping[str, inputs.Upload]) -> tuple[inputs.Given, inputs.Given]:
    r"""Return what is compared: pasted columns, or uploaded files.

    Args:
        pasted: Lines from a spreadsheet, CSV or JSON Lines. A first line names the columns ``a``, ``b`` and
            ``references``, and if wanted ``id`` and ``question``; without it there are three columns, a, b and
            references. None for the files.
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
        tables = [inputs.from_table(inputs.parse_pasted(text)) for text in _pasted_sides(pasted)]
        given_a, given_b = (
            replace(table, names={"predictions": name, "references": PASTED_FILES[2]})
            for table, name in zip(tables, PASTED_FILES, strict=False)
        )
        return given_a, given_b
    for name in SIDES:
        if name not in uploads:
            raise InputError(f"There are no {name[0].lower()}{name[1:]}: upload them, or choose the pasted rows.")
    a, b, references = (uploads[name] for name in SIDES)
    return (
        inputs.from_uploads({"predictions": a, "references": references}),
        inputs.from_uploads({"predictions": b, "references": references}),
    )


def _pasted_sides(pasted: str) -> list[str]:
    """Return the pasted text twice, with the answers of A and then of B as the predictions."""
    if not pasted.strip():
        raise InputError("There is nothing to compare: paste the columns a, b and references, or upload files.")
    if pasted.lstrip().startswith("{"):
        rows = inputs.json_rows(pasted)
        for number, row in enumerate(rows):
            absent = [name for name in (*SYSTEMS, "references") if name not in row]
            if absent:
                raise InputError(
                    f"Pasted row {number} has no {absent[0]!r}: every JSON object needs a, b and references; got "
                    f"{', '.join(map(shorten, row)) or 'none'}."
                )
        return ["\n".join(json.dumps({**row, "prediction": row[system]}) for row in rows) for system in SYSTEMS]
    header, lines, delimiter = _split_header(pasted)
    sides = []
    for system in SYSTEMS:
        names = ("prediction" if name == system else "other" if name in SYSTEMS else name for name in header)
        sides.append(f"{delimiter.join(names)}\n{lines}")
    return sides


def _split_header(pasted: str) -> tuple[list[str], str, str]:
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


# --------------------------------------------------------------------------------------- comparing


def compare(
    given_a: inputs.Given,
    given_b: inputs.Given,
    metric: str,
    settings: scoring.Settings,
    *,
    thresholds: tuple[float, float] = (1.0, 1.0),
    report: scoring.Report = lambda what, items: items,
) -> Outcome:
    """Score both systems as the Score tab does, and compare them.

    Args:
        given_a: A's predictions, and the references.
        given_b: B's predictions, and the same references.
        metric: A name of ``qa_scoring.METRICS``.
        settings: Language, tokenizer, normalisation, and what to do with missing predictions; the rest is not read.
        thresholds: No-answer thresholds of A and of B, for EM and F1.
        report: Wraps the loops, to show progress.

    Returns:
        The outcome; its figures are those of ``qa-scoring compare``.

    Raises:
        InputError: Something cannot be scored; the message names the system.
        MissingPackageError: A package or model that is needed is not installed.

    Example:
        >>> a, b = read("in Rome,Rome,Rome", {})
        >>> compare(a, b, "m2qa_squad_v2", scoring.Settings()).comparison.result["exact"]["difference"]
        100.0
    """
    if metric not in METRICS:
        raise parameter_error("metric", f"one of {', '.join(METRICS)}", metric)
    runs = []
    for system, given, threshold in zip("AB", (given_a, given_b), thresholds, strict=True):
        chosen = replace(settings, metrics=(metric,), group_by=(), intervals=False, no_answer_threshold=threshold)
        try:
            runs.append(scoring.score(given, chosen, _named(system, report)))
        except InputError as error:
            raise InputError(f"Scoring {system}: {error}") from None
    list(report("the differences", ["intervals and p"]))
    run_a, run_b = runs
    comparison = compare_scored(run_a.scored[metric], run_b.scored[metric], confidence_level=scoring.CONFIDENCE_LEVEL)
    questions = run_a.columns.get("question", [""] * len(comparison))
    return Outcome(comparison, questions, (run_a, run_b), list(dict.fromkeys(run_a.notes + run_b.notes)))


def _named(system: str, report: scoring.Report) -> scoring.Report:
    return lambda what, items: report(f"{system}, {what}", items)


# ------------------------------------------------------------------------------------------ showing


def figures_table(outcome: Outcome) -> list[list[str]]:
    """Return the figures as cells, under ``FIGURE_HEADERS``.

    Args:
        outcome: Of ``compare``.

    Returns:
        A row per score, of all rows, and of HasAns and NoAns rows where there are both.

    Example:
        >>> figures_table(compare(*read("in Rome,Rome,Rome", {}), "m2qa_squad_v2", scoring.Settings()))[0]
        ['all (1)', 'exact', '0.00', '100.00', '+100.00 [+100.00, +100.00]', '1.0000']
    """
    return [
        [f"{questions} ({total})", score, *cells]
        for questions, score, (total, *cells) in comparison_cells(outcome.comparison)
    ]


def headline(outcome: Outcome) -> str:
    """Return in words how far apart the systems are: the first thing to read, also where the table is cut by a screen.

    Args:
        outcome: Of ``compare``.

    Returns:
        Sentences: the difference by the score that the rows are sorted by, and who is right how often.

    Example:
        >>> headline(compare(*read("in Rome,Rome,Rome", {}), "m2qa_squad_v2", scoring.Settings()))
        'f1, B minus A: +33.33 [+33.33, +33.33], p 1.0000. Right: both 0, only A 0, only B 1, neither 0.'
    """
    score = outcome.comparison.scores[-1]
    difference, p_value = next(cells[-2:] for _, name, cells in comparison_cells(outcome.comparison) if name == score)
    sentences = (f"{score}, B minus A: {difference}, p {p_value}.", right_in_words(outcome.comparison.result))
    return " ".join(filter(None, sentences))


def rows_table(outcome: Outcome, score: str) -> list[list[Any]]:
    """Return the rows that differ most as cells, under ``ROW_HEADERS``.

    Args:
        outcome: Of ``compare``.
        score: By which score, from 0 to 1.

    Returns:
        Up to ``MOST_ROWS`` rows; those that differ equally in the order given.

    Raises:
        InputError: The metric has no such score.
    """
    columns = outcome.comparison.columns
    return [
        [
            place + 1,
            outcome.questions[place],
            columns["prediction_a"][place],
            columns["prediction_b"][place],
            references_cell(columns["references"][place]),
            *(round(columns[f"{score}_{part}"][place], 4) for part in (*SYSTEMS, "difference")),
            columns["id"][place],
        ]
        for place in outcome.comparison.most_different(score, MOST_ROWS)
    ]


def shown_in_words(outcome: Outcome, score: str) -> str:
    """Return in words how many rows differ, and how many of them are shown.

    Args:
        outcome: Of ``compare``.
        score: By which score.

    Returns:
        A sentence.

    Example:
        >>> shown_in_words(compare(*read("in Rome,Rome,Rome", {}), "m2qa_squad_v2", scoring.Settings()), "f1")
        'f1 differs in 1 of 1 rows; 1 shown.'
    """
    differing = outcome.comparison.result[score]["differing"]
    return f"{differing_in_words(outcome.comparison.result, score)}; {min(differing, MOST_ROWS):,} shown."


def signatures(outcome: Outcome) -> str:
    """Return the signatures of A and B, and where they differ.

    Args:
        outcome: Of ``compare``.

    Returns:
        Lines.
    """
    return "\n".join(comparison_signatures(outcome.comparison.result))


# -------------------------------------------------------------------------------- calls and files


def command_line(outcome: Outcome) -> str:
    """Return the command that gives the same figures.

    Args:
        outcome: Of ``compare``.

    Returns:
        For a shell, with the files in the current folder.

    Example:
        >>> command_line(compare(*read("in Rome,Rome,Rome", {}), "m2qa_squad_v2", scoring.Settings()))
        'qa-scoring compare m2qa_squad_v2 predictions-a.jsonl predictions-b.jsonl references.jsonl --language en'
    """
    words = ["qa-scoring", "compare", outcome.metric, *_file_names(outcome)]
    for option, value in _shared_options(outcome).items():
        words += ["--" + option.replace("_", "-"), str(value)]
    thresholds = [run.settings.no_answer_threshold for run in outcome.runs]
    if outcome.metric == "m2qa_squad_v2" and thresholds != [1.0, 1.0]:
        words += ["--no-answer-threshold", *map(str, thresholds)]
    return shlex.join(words)


def python_call(outcome: Outcome) -> str:
    """Return the Python that gives the same figures.

    Args:
        outcome: Of ``compare``.

    Returns:
        A program, with the files in the current folder; ``comparison.result`` are the figures.
    """
    function, names = scoring.FUNCTIONS[outcome.metric], _file_names(outcome)
    lines = [
        f"from qa_scoring import compare, files, {function}",
        "",
        f"references = files.read_reference_file({names[2]!r})",
    ]
    for system, name, run in zip(SYSTEMS, names, outcome.runs, strict=False):
        options = dict(_shared_options(outcome))
        if outcome.metric == "m2qa_squad_v2" and run.settings.no_answer_threshold != 1.0:
            options["no_answer_threshold"] = run.settings.no_answer_threshold
        arguments = [f"files.read_prediction_file({name!r})", "references"]
        arguments += [f"{option}={value!r}" for option, value in options.items()]
        lines.append(f"{system} = {function}({', '.join(arguments)})")
    return "\n".join([*lines, "comparison = compare(a, b)", "print(comparison.result)", ""])


def _shared_options(outcome: Outcome) -> dict[str, Any]:
    options = scoring.call_options(outcome.runs[0], outcome.metric)
    return {name: value for name, value in options.items() if name != "no_answer_threshold"}


def _file_names(outcome: Outcome) -> list[str]:
    """Return the names of A's file, B's and that of the references: in folders of their own where names are equal."""
    a, b = (run.given.names for run in outcome.runs)
    names = [a["predictions"], b["predictions"], a["references"]]
    if len(set(names)) < len(names):
        return [f"{folder}/{name}" for folder, name in zip(("A", "B", "references"), names, strict=True)]
    return list(map(scoring.in_this_folder, names))


def write_downloads(outcome: Outcome, folder: Path) -> list[Path]:
    """Write the figures, one row per example with both scores, and pasted rows as the files that the calls name.

    Args:
        outcome: Of ``compare``.
        folder: Where to.

    Returns:
        The files.
    """
    paths = [folder / "comparison.json"]
    text = json.dumps(outcome.comparison.result, indent=2, ensure_ascii=False)
    paths[0].write_text(text + "\n", encoding="utf-8")
    columns = {"id": outcome.comparison.columns["id"], "question": outcome.questions, **outcome.comparison.columns}
    for suffix in (".jsonl", ".parquet"):
        paths.append(folder / f"comparison-rows{suffix}")
        write_columns(columns, paths[-1])
    if outcome.runs[0].given.from_table:
        contents = [
            *(
                _chosen(run.given.predictions, ("id", "prediction_text", "no_answer_probability"))
                for run in outcome.runs
            ),
            _chosen(outcome.runs[0].given.references, ("id", "question", "answers")),
        ]
        for name, rows in zip(PASTED_FILES, contents, strict=True):
            paths.append(scoring.write_json_lines(rows, folder / name))
    return paths


def _chosen(rows: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in names if name in row} for row in rows]
