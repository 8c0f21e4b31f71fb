"""Tables of figures for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from qa_scoring.agreement import Agreement
from qa_scoring.comparison import Comparison
from qa_scoring.rows import Figures
from qa_scoring.signature import Signature
from qa_scoring.statistics.correlation import COEFFICIENTS, Correlation

_SUBSETS = {"": "all", "HasAns_": "HasAns", "NoAns_": "NoAns"}


def figures_table(result: Figures, scores: Sequence[str]) -> Table:
    """Return a table with a line per subset, and per group where there are groups.

    Args:
        result: The result of a metric.
        scores: Names of the scores to show.

    Returns:
        The table; intervals beside the means where the result has them.
    """
    table = Table(box=box.SIMPLE_HEAD)
    groups = result.get("groups", {})
    if groups:
        table.add_column("group")
    table.add_column("questions")
    table.add_column("total", justify="right")
    for name in scores:
        table.add_column(name, justify="right")
    for label, figures in (*groups.items(), ("all", result)):
        for prefix, subset in _SUBSETS.items():
            if prefix and not (figures["HasAns_total"] and figures["NoAns_total"]):
                continue  # one of the subsets is everything
            cells = [
                subset,
                str(figures[f"{prefix}total"]),
                *(_mean(figures, prefix + name) for name in scores),
            ]
            table.add_row(*([Text(label if not prefix else "")] if groups else []), *cells, end_section=False)
    return table


def _mean(figures: Figures, key: str) -> str:
    if figures[key] is None:
        return "–"
    interval = figures.get("confidence_intervals", {}).get(key)
    return f"{figures[key]:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def result_report(result: Figures, scores: Sequence[str], signature: Signature) -> RenderableType:
    """Return what the command line prints after scoring.

    Args:
        result: The result of a metric.
        scores: Names of the scores to show.
        signature: Of the run.

    Returns:
        Table, best thresholds and the accuracy that human labels correct where there are any, signature.
    """
    parts: list[RenderableType] = [figures_table(result, scores)]
    for name in scores:
        if result.get(f"best_{name}") is not None:
            threshold = result[f"best_{name}_thresh"]
            parts.append(Text(f"best {name} {result[f'best_{name}']:.2f} at no-answer threshold {threshold:.6g}"))
    if result.get("ppi_accuracy") is not None:
        low, high = result["ppi_confidence_interval"]
        interval = f"{result['ppi_accuracy']:.2f} [{low:.2f}, {high:.2f}]"
        parts.append(Text(f"accuracy with {result['human_labels']} human labels {interval}"))
    parts.append(Text(f"signature: {signature}", style="dim"))
    return Group(*parts)


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """Return a table of correlations, a line per score and subset.

    Args:
        agreements: What ``measure_agreement`` returned.

    Returns:
        The table; intervals beside the values where there are any.
    """
    table = Table("subset", "total", "score", *COEFFICIENTS, box=box.SIMPLE_HEAD)
    for subset in dict.fromkeys(row.subset for row in agreements):
        rows = [row for row in agreements if row.subset == subset]
        for row in rows:
            cells = [_correlation(row.correlations[name]) for name in COEFFICIENTS]
            table.add_row(subset, str(row.total), Text(row.score), *cells, end_section=row is rows[-1])
    return table


def _correlation(correlation: Correlation) -> str:
    if correlation.value is None:
        return "–"
    interval = "" if correlation.low is None else f" [{correlation.low:.3f}, {correlation.high:.3f}]"
    return f"{correlation.value:.3f}{interval}"


def comparison_report(
    comparison: Comparison, columns: Mapping[str, Sequence[Any]], places: Sequence[int], score: str
) -> RenderableType:
    """Return what the command line prints after comparing two systems.

    Args:
        comparison: What ``compare`` returned.
        columns: Its columns, with ``question`` where there are questions.
        places: Which rows to show.
        score: By which score they were chosen.

    Returns:
        Table of differences, who is right how often, the rows, signatures.
    """
    result = comparison.result
    parts: list[RenderableType] = [_differences_table(comparison)]
    parts += [Text(line) for line in (right_in_words(result), f"{differing_in_words(result, score)}.") if line]
    if places:
        parts.append(_different_rows_table(columns, places, score))
    parts += [Text(line, style="dim") for line in comparison_signatures(result)]
    return Group(*parts)


def right_in_words(result: Figures) -> str:
    """Say which of two systems is right how often.

    Args:
        result: Of a comparison.

    Returns:
        A sentence; empty for a metric without verdicts.

    Example:
        >>> right_in_words({"right": {"both": 2, "only_a": 1, "only_b": 0, "neither": 3}})
        'Right: both 2, only A 1, only B 0, neither 3.'
    """
    if result["right"] is None:
        return ""
    names = {"both": "both", "only_a": "only A", "only_b": "only B", "neither": "neither"}
    counts = ", ".join(f"{name} {result['right'][key]:,}" for key, name in names.items())
    return f"Right: {counts}."


def differing_in_words(result: Figures, score: str) -> str:
    """Say in how many rows two systems differ.

    Args:
        result: Of a comparison.
        score: One of its scores.

    Returns:
        A clause.

    Example:
        >>> differing_in_words({"f1": {"differing": 3}, "total": 6}, "f1")
        'f1 differs in 3 of 6 rows'
    """
    return f"{score} differs in {result[score]['differing']:,} of {result['total']:,} rows"


def comparison_signatures(result: Figures) -> list[str]:
    """Return the signatures of both systems as lines: one if they are equal; if they differ, a third says so.

    Args:
        result: Of a comparison.

    Returns:
        The lines.

    Example:
        >>> comparison_signatures({"signature_a": "metric:m", "signature_b": "metric:m", "signature_differences": []})
        ['signature of A and B: metric:m']
    """
    if not result["signature_differences"]:
        return [f"signature of A and B: {result['signature_a']}"]
    return [
        f"signature of A: {result['signature_a']}",
        f"signature of B: {result['signature_b']}",
        f"The signatures differ ({', '.join(result['signature_differences'])}): the difference of the figures may come "
        f"from how the systems were scored.",
    ]


def _differences_table(comparison: Comparison) -> Table:
    result = comparison.result
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("questions", "score"):
        table.add_column(name)
    level = f"{100 * result['confidence_level']:g} %"
    for name in ("total", "A", "B", f"B minus A [{level}]", "p"):
        table.add_column(name, justify="right")
    for subset, key, cells in comparison_cells(comparison):
        table.add_row(subset, key, *cells, end_section=key == comparison.scores[-1])
    return table


def comparison_cells(comparison: Comparison) -> list[tuple[str, str, list[str]]]:
    """Return the differences as text, of all rows, and of HasAns and NoAns rows where there are both.

    Args:
        comparison: What ``compare`` returned.

    Returns:
        Questions, score, and the cells: total, A, B, B minus A with its interval, p.
    """
    result, lines = comparison.result, []
    for prefix, subset in _SUBSETS.items():
        if prefix and not (result["HasAns_total"] and result["NoAns_total"]):
            continue  # one of the subsets is everything
        for score in comparison.scores:
            one = result[prefix + score]
            digits = _digits(score)
            low, high = one["confidence_interval"]
            difference = f"{one['difference']:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
            cells = [f"{one['a']:.{digits}f}", f"{one['b']:.{digits}f}", difference, f"{one['p_value']:.4f}"]
            lines.append((subset, score, [str(result[f"{prefix}total"]), *cells]))
    return lines


def _digits(score: str) -> int:
    return 2 if score in ("exact", "f1") else 3


def references_cell(references: Sequence[str]) -> str:
    """Return references as one cell of a table.

    Args:
        references: Of one question; annotators repeat each other.

    Returns:
        Each once.

    Example:
        >>> references_cell(["Rome", "Roma", "Rome"])
        'Rome | Roma'
    """
    return " | ".join(dict.fromkeys(references))


def _different_rows_table(columns: Mapping[str, Sequence[Any]], places: Sequence[int], score: str) -> Table:
    digits = _digits(score)
    table = Table("id", box=box.SIMPLE_HEAD)
    if "question" in columns:
        table.add_column("question")
    for name in ("A", "B", "references"):
        table.add_column(name)
    for name in (f"{score} of A", "of B", "B minus A"):
        table.add_column(name, justify="right")
    for place in places:
        texts = [columns["id"][place]]
        if "question" in columns:
            texts.append(columns["question"][place] or "")
        texts += [columns["prediction_a"][place], columns["prediction_b"][place]]
        texts.append(references_cell(columns["references"][place]))
        numbers = [f"{columns[f'{score}_{side}'][place]:.{digits}f}" for side in "ab"]
        numbers.append(f"{columns[f'{score}_difference'][place]:+.{digits}f}")
        table.add_row(*(Text(text) for text in texts), *numbers)
    return table


def console() -> Console:
    """Return a console on standard output; wide when it is not a terminal, so that nothing is cut."""
    output = Console(highlight=False, soft_wrap=True)
    return output if output.is_terminal else Console(highlight=False, soft_wrap=True, width=200)
