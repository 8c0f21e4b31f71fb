"""One run of the page: the chosen metrics over what was given, the table of rows, and the calls that do the same."""

from __future__ import annotations

import json
import operator
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring import files
from qa_scoring.app import limits
from qa_scoring.app.inputs import TABLE_FILE, Given
from qa_scoring.app.views import Card, answer_card
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.multilingual_squad import score_multilingual_squad
from qa_scoring.overlap.thresholds import apply_threshold
from qa_scoring.records import Missing
from qa_scoring.report.tables import references_cell
from qa_scoring.rows import SCORES, Scored, write_rows
from qa_scoring.text.languages import find_language

Report = Callable[[str, Iterable[Any]], Iterable[Any]]
Order = NDArray[np.int64]

LABELS = {
    "m2qa_squad_v2": "EM and F1 (m2qa_squad_v2)",
    "sas_metric": "SAS (sas_metric)",
    "ava_metric": "AVA (ava_metric)",
}
"""Metric → what it is called on the page."""
FUNCTIONS = {
    "m2qa_squad_v2": "score_multilingual_squad",
    "sas_metric": "score_sas",
    "ava_metric": "score_ava",
}
"""Metric → the function of the package that scores."""
_SUBSETS = {"": "all", "HasAns_": "HasAns", "NoAns_": "NoAns"}
CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True)
class Settings:
    """How to score.

    Args:
        metrics: Names of ``qa_scoring.METRICS``.
        language: Code, name or tag.
        tokenizer: A tokenizer's name; None for the language's own.
        normalization: ``"squad"`` or ``"unicode"``.
        no_answer_threshold: No-answer values strictly above it count as an empty answer, for EM and F1.
        group_by: Columns of the references.
        intervals: Whether to add bootstrap intervals.
        missing: ``"error"``, or ``"score_zero"`` for questions without a prediction.
    """

    metrics: Sequence[str] = ("m2qa_squad_v2",)
    language: str = "en"
    tokenizer: str | None = None
    normalization: str = "squad"
    no_answer_threshold: float = 1.0
    group_by: Sequence[str] = ()
    intervals: bool = True
    missing: Missing = "error"


@dataclass(frozen=True, eq=False)
class Run:
    """What one run gave.

    Args:
        given: What was scored.
        settings: How.
        scored: Metric → result, rows and signature.
        columns: The table of rows: name → one plain value per row, None where there is none. Scores are from 0 to 1,
            EM and F1 after the no-answer threshold.
        notes: What the user should know of the figures, one sentence each.
    """

    given: Given
    settings: Settings
    scored: dict[str, Scored]
    columns: dict[str, list[Any]]
    notes: list[str]

    def __len__(self) -> int:
        return len(self.columns["row"])


def _unreported(what: str, items: Iterable[Any]) -> Iterable[Any]:
    return items


def score(given: Given, settings: Settings, report: Report = _unreported) -> Run:
    """Score with every chosen metric.

    Args:
        given: Predictions and references.
        settings: How to score.
        report: Wraps the loops of a metric, with its name, to show progress.

    Returns:
        The run; its figures are those of the metrics' functions and of the command line.

    Raises:
        InputError: Something cannot be scored.
        MissingPackageError: A package or model that is needed is not installed.

    Example:
        >>> from qa_scoring.app.inputs import from_table
        >>> run = score(from_table([["", "Where?", "in Köln", "Köln", "", ""]]), Settings(language="de"))
        >>> run.scored["m2qa_squad_v2"].result["f1"]
        66.66666666666666
    """
    if not settings.metrics:
        raise InputError("No metric is chosen; tick at least one.")
    for name in settings.metrics:
        if name not in SCORES:
            raise parameter_error("metrics", f"of {', '.join(SCORES)}", name)
    language = find_language(settings.language)
    spoken = language.name.capitalize()
    if "sas_metric" in settings.metrics and language.code != "en":
        raise InputError(
            f"sas_metric reads English only on this page, not {spoken}: leave it out, or run it on the command "
            f"line with --model."
        )
    groups = _groups(given, settings.group_by)
    scored = {
        name: _score_one(name, given, settings, groups, partial(report, name))
        for name in SCORES
        if name in settings.metrics
    }
    notes = []
    if "ava_metric" in scored and language.code != "en":
        notes.append(f"The judge of this page was trained on English; its verdicts on {spoken} are unproven.")
    for name, one in scored.items():
        if one.result.get("truncated"):
            notes.append(f"{name}: {one.result['truncated']} answers were longer than the model reads, and were cut.")
    return Run(given, settings, scored, _columns(given, settings, scored), notes)


def _groups(given: Given, names: Sequence[str]) -> list[tuple[Any, ...]] | None:
    if not names:
        return None
    labels = list(zip(*(files.column(given.references, name, "Group by") for name in names), strict=True))
    distinct = len(set(map(str, labels)))
    if distinct > limits.GROUPS:
        raise InputError(f"Group by {', '.join(names)}: there are {distinct:,} groups; the page takes {limits.GROUPS}.")
    return labels


def _score_one(
    name: str,
    given: Given,
    settings: Settings,
    groups: list[tuple[Any, ...]] | None,
    progress: Callable[[Iterable[Any]], Iterable[Any]],
) -> Scored:
    shared: dict[str, Any] = {
        "groups": groups,
        "confidence_level": CONFIDENCE_LEVEL if settings.intervals else None,
        "missing": settings.missing,
        "progress": progress,
    }
    if name == "m2qa_squad_v2":
        return score_multilingual_squad(given.predictions, given.references, **_overlap_options(settings), **shared)
    list(progress(["loading the model"]))  # and PyTorch, which takes its time and is loaded here only
    if name == "sas_metric":
        from qa_scoring.sas import score_sas

        return score_sas(given.predictions, given.references, language=settings.language, **shared)
    from qa_scoring.ava import score_ava

    return score_ava(given.predictions, given.references, **shared)


def _overlap_options(settings: Settings) -> dict[str, Any]:
    return {
        "language": settings.language,
        "tokenizer": settings.tokenizer,
        "normalization": settings.normalization,
        "no_answer_threshold": settings.no_answer_threshold,
    }


# -------------------------------------------------------------------------------- table of rows


def _columns(given: Given, settings: Settings, scored: dict[str, Scored]) -> dict[str, list[Any]]:
    rows = next(iter(scored.values())).rows
    columns: dict[str, list[Any]] = {"row": list(range(1, len(rows) + 1)), "id": rows.ids}
    if isinstance(given.references, list):
        columns["question"] = [str(row.get("question") or "") for row in given.references]
    columns["prediction"] = rows.extra["prediction"]
    columns["references"] = rows.extra["references"]
    for one in scored.values():
        for name, values in one.rows.scores.items():
            if name in ("exact", "f1") and rows.no_answer is not None:
                values = apply_threshold(values, rows.has_answer, rows.no_answer, settings.no_answer_threshold)
            columns[name] = values.tolist()
    if rows.no_answer is not None:
        columns["no_answer"] = rows.columns()["no_answer"]
    if rows.groups is not None:
        columns["group"] = rows.groups
    return columns


@dataclass(frozen=True)
class Filter:
    """A condition on one column of the table.

    Args:
        column: A column of numbers.
        comparison: One of ``COMPARISONS``.
        value: What to compare with.
    """

    column: str
    comparison: str
    value: float


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "≠": operator.ne,
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
}
READY_FILTERS = {
    "EM 0 but SAS > 0.8": (Filter("exact", "=", 0.0), Filter("sas", ">", 0.8)),
    "Judge says wrong, F1 > 0.5": (Filter("ava_accuracy", "=", 0.0), Filter("f1", ">", 0.5)),
}
NUMBERS = ("exact", "f1", "sas", "ava_score", "ava_accuracy", "no_answer")
"""Columns that filters take."""


def choose_rows(run: Run, filters: Sequence[Filter] = (), sort_by: str = "row", descending: bool = False) -> Order:
    """Return the rows that meet all conditions, in the order asked for.

    Args:
        run: The run.
        filters: Conditions; a row without a value meets none on that column.
        sort_by: A column; rows without a value come last, equal ones keep their order.
        descending: Whether to sort from high to low.

    Returns:
        Places in the table.

    Raises:
        InputError: A column is not there or holds no numbers, or a comparison is unknown.

    Example:
        >>> from qa_scoring.app.inputs import from_table
        >>> table = [["a", "", "Rome", "Paris", "", ""], ["b", "", "Paris", "Paris", "", ""]]
        >>> choose_rows(score(from_table(table), Settings()), [Filter("exact", "=", 1)]).tolist()
        [1]
    """
    kept = np.ones(len(run), dtype=np.bool_)
    for condition in filters:
        column = _column(run, condition.column)
        if condition.column not in NUMBERS:
            raise InputError(f"Rows are filtered by numbers ({', '.join(NUMBERS)}), not by {condition.column!r}.")
        if condition.comparison not in COMPARISONS:
            raise parameter_error("comparison", f"one of {' '.join(COMPARISONS)}", condition.comparison)
        values = np.array([np.nan if value is None else value for value in column], dtype=np.float64)
        kept &= ~np.isnan(values) & COMPARISONS[condition.comparison](values, condition.value)
    column = _column(run, sort_by)
    chosen = np.flatnonzero(kept).tolist()
    known = [place for place in chosen if column[place] is not None]
    known.sort(key=column.__getitem__, reverse=descending)
    return np.array(known + [place for place in chosen if column[place] is None], dtype=np.int64)


def _column(run: Run, name: str) -> list[Any]:
    if name in run.columns:
        return run.columns[name]
    for metric, scores in SCORES.items():
        if name in scores:
            raise InputError(f"There is no {name!r} in these rows: score with {metric} too.")
    raise InputError(f"There is no {name!r} in these rows; they have {', '.join(run.columns)}.")


def page_of_rows(run: Run, order: Order, page: int) -> list[list[Any]]:
    """Return the cells of one page of the table.

    Args:
        run: The run.
        order: Of ``choose_rows``.
        page: From 1.

    Returns:
        Up to ``limits.PAGE_ROWS`` rows; different references are joined, scores rounded.
    """
    start = (page - 1) * limits.PAGE_ROWS
    return [
        [_cell(name, column[place]) for name, column in run.columns.items()]
        for place in order[start : start + limits.PAGE_ROWS].tolist()
    ]


def _cell(name: str, value: Any) -> Any:
    if name == "references":
        return references_cell(value)
    if name == "ava_accuracy":
        return "correct" if value else "wrong"
    if isinstance(value, float):
        return round(value, 4)
    return "" if value is None else value


def row_detail(run: Run, row: int) -> dict[str, Any]:
    """Return all that is known of one row, with what the normaliser and the tokenizer made of it.

    Args:
        run: The run.
        row: Its number, from 1.

    Returns:
        The keys of the metrics' ``details``, and ``question``; ``exact`` and ``f1`` are those of the answer as given,
        whatever the no-answer threshold makes of it.

    Raises:
        InputError: There is no such row.
    """
    if not 1 <= row <= len(run):
        raise InputError(f"There is no row {row}; the rows are 1 to {len(run)}.")
    place = row - 1
    prediction, references = (run.columns[name][place] for name in ("prediction", "references"))
    # The tokens are made again for this one row: keeping those of all rows would take more room than the rows.
    one = score_multilingual_squad([prediction], [references], details=True, **_overlap_options(run.settings))
    known = {name: column[place] for name, column in run.columns.items() if name not in ("exact", "f1")}
    detail: dict[str, Any] = one.result["details"][0] | known
    for name, scored in run.scored.items():
        if "reference_scores" in scored.rows.extra:
            detail[f"{SCORES[name][-1]}_by_reference"] = scored.rows.extra["reference_scores"][place]
    return detail


def row_cards(run: Run, row: int) -> list[Card]:
    """Return the scores of one row, as the table has them.

    Args:
        run: The run.
        row: Its number, from 1.

    Returns:
        One per metric that was chosen; EM and F1 are two, and say so where the no-answer threshold decides them.

    Example:
        >>> from qa_scoring.app.inputs import from_table
        >>> run = score(from_table([["", "Where?", "in Köln", "Köln", "", ""]]), Settings(language="de"))
        >>> [(card.name, card.value) for card in row_cards(run, 1)]
        [('Exact match', '✗ no'), ('F1', '0.667')]
    """
    scores = {name: column[row - 1] for name, column in run.columns.items()}
    cards = []
    if "exact" in scores:
        value, threshold = scores.get("no_answer"), run.settings.no_answer_threshold
        note = ""
        if value is not None and value > threshold:
            note = f"counts as an empty answer: its no-answer value {value:g} is above {threshold:g}"
        cards += [answer_card("exact", scores["exact"], note), answer_card("f1", scores["f1"], note)]
    if "sas" in scores:
        cards.append(answer_card("sas", scores["sas"]))
    if "ava_score" in scores:
        cards.append(answer_card("ava_accuracy", scores["ava_accuracy"], f"probability {scores['ava_score']:.3f}"))
    return cards


# -------------------------------------------------------------------------------------- figures


def figures_table(run: Run) -> tuple[list[str], list[list[str]]]:
    """Return the headline figures as a table: of all rows, HasAns and NoAns, then the same per group.

    Args:
        run: The run.

    Returns:
        Headers and rows; EM and F1 in percent, the others from 0 to 1, intervals in brackets.
    """
    headers = ["group", "questions", "total", *(name for metric in run.scored for name in SCORES[metric])]
    first = next(iter(run.scored.values())).result
    rows = []
    for label in (None, *first.get("groups", {})):
        parts = {
            metric: one.result if label is None else one.result["groups"][label] for metric, one in run.scored.items()
        }
        counts = next(iter(parts.values()))
        for prefix, subset in _SUBSETS.items():
            if prefix and not (counts["HasAns_total"] and counts["NoAns_total"]):
                continue  # one of the subsets is everything
            cells = [_figure(parts[metric], prefix + name) for metric in parts for name in SCORES[metric]]
            rows.append(["all" if label is None else label, subset, str(counts[f"{prefix}total"]), *cells])
    return headers, rows


def _figure(figures: dict[str, Any], key: str) -> str:
    value = figures[key]
    if value is None:
        return "–"
    places = 2 if key.endswith(("exact", "f1")) else 3
    interval = figures.get("confidence_intervals", {}).get(key)
    shown = f"{value:.{places}f}"
    return shown if interval is None else f"{shown} [{interval[0]:.{places}f}, {interval[1]:.{places}f}]"


def results(run: Run) -> dict[str, Any]:
    """Return the figures of every metric as the command line's ``--json`` prints them.

    Args:
        run: The run.

    Returns:
        Metric → figures, with ``signature``.
    """
    return {name: {**one.result, "signature": str(one.signature)} for name, one in run.scored.items()}


def write_downloads(run: Run, folder: Path) -> list[Path]:
    """Write the rows of every metric, the figures, and pasted rows as the file that the calls name.

    Args:
        run: The run.
        folder: Where to.

    Returns:
        The files.
    """
    paths = [folder / "result.json"]
    paths[0].write_text(json.dumps(results(run), indent=2, ensure_ascii=False), encoding="utf-8")
    for name, one in run.scored.items():
        for suffix in (".jsonl", ".parquet"):
            paths.append(folder / f"{name}-rows{suffix}")
            write_rows(one.rows, paths[-1])
    if run.given.from_table:
        paths.append(write_table(run.given, folder))
    return paths


def write_table(given: Given, folder: Path) -> Path:
    """Write pasted rows as the file that the calls name.

    Args:
        given: Pasted rows.
        folder: Where to.

    Returns:
        The file.
    """
    return write_json_lines(given.references, folder / TABLE_FILE)


def write_json_lines(rows: Iterable[Any], path: Path) -> Path:
    """Write rows as JSON Lines.

    Args:
        rows: Plain values.
        path: Where to.

    Returns:
        The file.
    """
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


# ---------------------------------------------------------------------------------------- calls


def command_line(run: Run, metric: str) -> str:
    """Return the command that gives the same figures.

    Args:
        run: The run.
        metric: One of its metrics.

    Returns:
        For a shell, with the files in the current folder.
    """
    settings, names = run.settings, run.given.names
    words = ["qa-scoring", "score", metric, in_this_folder(names["predictions"]), in_this_folder(names["references"])]
    for name in settings.group_by:
        words += ["--by", name]
    for option, value in call_options(run, metric).items():
        words += ["--" + option.replace("_", "-"), str(value)]
    if metric == "m2qa_squad_v2" and "no_answer" in names:
        words += ["--no-answer-file", in_this_folder(names["no_answer"])]
    return shlex.join(words)


def python_call(run: Run, metric: str) -> str:
    """Return the Python that gives the same figures.

    Args:
        run: The run.
        metric: One of its metrics.

    Returns:
        A program, with the files in the current folder; ``scored.result`` are the figures.
    """
    settings, names = run.settings, run.given.names
    function = FUNCTIONS[metric]
    lines = [
        f"from qa_scoring import files, {function}",
        "",
        f"predictions = files.read_prediction_file({in_this_folder(names['predictions'])!r})",
        f"references = files.read_reference_file({in_this_folder(names['references'])!r})",
    ]
    if metric == "m2qa_squad_v2" and "no_answer" in names:
        lines.insert(1, "from qa_scoring.records import read_predictions, with_no_answer_values")
        lines.append(f"values = files.read_no_answer_file({in_this_folder(names['no_answer'])!r})")
        lines.append("predictions = with_no_answer_values(read_predictions(predictions), values)")
    options = [f"{name}={value!r}" for name, value in call_options(run, metric).items()]
    if settings.group_by:
        columns = ", ".join(f'files.column(references, {name!r}, "groups")' for name in settings.group_by)
        options.append(f"groups=list(zip({columns}))")
    arguments = "".join(f"    {argument},\n" for argument in ("predictions", "references", *options))
    return "\n".join(lines) + f"\nscored = {function}(\n{arguments})\nprint(scored.result, scored.signature)\n"


def call_options(run: Run, metric: str) -> dict[str, Any]:
    """Return what is not the default, under the names that function and command share.

    Args:
        run: The run.
        metric: One of its metrics.

    Returns:
        Name → value.
    """
    settings, options = run.settings, dict[str, Any]()
    if metric != "ava_metric":
        options["language"] = settings.language
    if metric == "m2qa_squad_v2":
        if settings.tokenizer is not None:
            options["tokenizer"] = settings.tokenizer
        if settings.normalization != "squad":
            options["normalization"] = settings.normalization
        if settings.no_answer_threshold != 1.0:
            options["no_answer_threshold"] = settings.no_answer_threshold
    if settings.missing != "error":
        options["missing"] = settings.missing
    if settings.intervals:
        options["confidence_level"] = CONFIDENCE_LEVEL
    return options


def in_this_folder(name: str) -> str:
    """Return a file's name so that no command takes it for an option.

    Args:
        name: The name.

    Returns:
        A path.

    Example:
        >>> in_this_folder("-n.json")
        './-n.json'
    """
    return f"./{name}" if name.startswith("-") else name
