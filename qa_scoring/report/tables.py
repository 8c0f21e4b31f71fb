"""Tables of figures for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from qa_scoring.agreement import Agreement
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


def console() -> Console:
    """Return a console on standard output; wide when it is not a terminal, so that nothing is cut."""
    output = Console(highlight=False, soft_wrap=True)
    return output if output.is_terminal else Console(highlight=False, soft_wrap=True, width=200)
