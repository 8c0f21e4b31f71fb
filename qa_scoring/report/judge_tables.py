"""Tables of how good judges are, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from qa_scoring.judged.calibration import Calibration
from qa_scoring.judged.evaluation import JudgeEvaluation, groups_won
from qa_scoring.judged.systems import FIGURES as SYSTEM_FIGURES
from qa_scoring.judged.systems import SystemsEvaluation, SystemsTable
from qa_scoring.statistics.classification import FIGURES, ClassificationFigures
from qa_scoring.statistics.systems import SystemsComparison

_NAMES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "auroc": "AUROC",
    "average_precision": "avg. precision",
    "precision_at_1": "P@1",
    "mean_average_precision": "MAP",
    "mean_reciprocal_rank": "MRR",
}
_NONE = "–"


def evaluation_report(evaluations: Sequence[JudgeEvaluation]) -> RenderableType:
    """Return how often scorers agree with people: over all answers, and over the parts that were asked for.

    Args:
        evaluations: Of ``evaluate_judges``, at least one.

    Returns:
        Tables, and the signatures.
    """
    table = _table("scorer", "threshold", *map(_NAMES.__getitem__, FIGURES), "shuffled references")
    for evaluation in evaluations:
        table.add_row(
            Text(evaluation.name),
            f"{evaluation.figures.threshold:.4g}",
            *_cells(evaluation.figures),
            _NONE if evaluation.shuffled is None else f"{100.0 * evaluation.shuffled:.2f} %",
        )
    first = evaluations[0]
    note = f"{first.figures.total} answers, {first.figures.positives} of them correct by people"
    parts = [_parts_table(part, evaluations) for part in first.parts]
    return Group(Text(note), table, *parts, *_signatures(evaluations))


def contrast_report(evaluations: Sequence[JudgeEvaluation], judges: Sequence[str]) -> RenderableType:
    """Return the accuracy of scorers per kind of the contrast set, and where judges beat token F1 and substring match.

    Args:
        evaluations: Of ``evaluate_judges`` with ``by=["group"]``, ``f1`` and ``substring`` among them.
        judges: Those that are compared.

    Returns:
        A table, a line per judge, and the signatures.
    """
    table = _table("kind", "total", *(evaluation.name for evaluation in evaluations))
    kinds = evaluations[0].parts["group"]
    for kind, figures in kinds.items():
        accuracies = (evaluation.parts["group"][kind].accuracy for evaluation in evaluations)
        table.add_row(
            Text(kind), str(figures.total), *(f"{value:.3f}" for value in accuracies), end_section=kind == [*kinds][-1]
        )
    everything = [_with_interval(evaluation.figures, "accuracy") for evaluation in evaluations]
    table.add_row("all", str(evaluations[0].figures.total), *everything)
    lines = []
    for judge in judges:
        won = groups_won(evaluations, judge, ["f1", "substring"])
        lines.append(Text(f"kinds where {judge} beats token F1 and substring match: {len(won)} of {len(kinds)}"))
    return Group(table, *_signatures(evaluations), *lines)


def systems_report(evaluation: SystemsEvaluation) -> RenderableType:
    """Return figures of systems by people and by the judge, and how near they are.

    Args:
        evaluation: Of ``evaluate_systems``.

    Returns:
        A table per group and one over all answers, and the signature.
    """
    tables = [_systems_table(group, table) for group, table in evaluation.groups.items()]
    tables.append(_systems_table("all", evaluation.overall))
    return Group(*tables, Text(f"signature: {evaluation.signature}", style="dim"))


def calibration_report(calibration: Calibration) -> RenderableType:
    """Return temperature, threshold and calibration error of a judge, before and after.

    Args:
        calibration: Of ``calibrate_judge``.

    Returns:
        A table, and what it is over.
    """
    table = _table("", "before", "after")
    before, after = calibration.before, calibration.after
    rule = {"rmse": "RMSE over systems", "f1": "F1", "accuracy": "accuracy"}[calibration.rule]
    for name, old, new in (
        ("temperature", before.temperature, after.temperature),
        ("threshold", before.threshold, after.threshold),
        ("log loss", before.log_loss, after.log_loss),
        ("expected calibration error", before.expected_calibration_error, after.expected_calibration_error),
        (rule, before.rule_value, after.rule_value),
    ):
        table.add_row(name, f"{old:.4f}", f"{new:.4f}")
    lines = [f"{calibration.total} answers, {calibration.read} of them read by the judge"]
    if calibration.at_bound:
        lines.append("the best temperature lies outside the range searched: calibrate on more answers")
    lines.append(f"judge: {calibration.folder}")
    return Group(table, *map(Text, lines))


def _table(first: str, *columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first)
    for name in columns:
        table.add_column(Text(name), justify="right")
    return table


def _parts_table(part: str, evaluations: Sequence[JudgeEvaluation]) -> Table:
    table = _table(part, "total", "correct", "scorer", *map(_NAMES.__getitem__, FIGURES))
    table.columns[3].justify = "left"
    for label in evaluations[0].parts[part]:
        for evaluation in evaluations:
            figures = evaluation.parts[part][label]
            counts = (str(figures.total), str(figures.positives))
            table.add_row(
                Text(label), *counts, Text(evaluation.name), *_cells(figures), end_section=evaluation is evaluations[-1]
            )
    return table


def _cells(figures: ClassificationFigures) -> list[str]:
    return [_with_interval(figures, name) for name in FIGURES]


def _with_interval(figures: ClassificationFigures, name: str) -> str:
    value = getattr(figures, name)
    if value is None:
        return _NONE
    interval = (figures.confidence_intervals or {}).get(name)
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def _systems_table(title: str, systems: SystemsTable) -> Table:
    figures = [name for name in SYSTEM_FIGURES if any(name in system.by_judge for system in systems.systems)]
    columns = [f"{_NAMES[name]}, {who}" for name in figures for who in ("people", "judge")]
    table = _table("system", "answers", *columns)
    table.title, table.title_justify = Text(title), "left"
    for system in systems.systems:
        sides = (system.by_people or {}, system.by_judge)
        cells = [f"{side[name]:.3f}" if name in side else _NONE for name in figures for side in sides]
        table.add_row(Text(system.system), str(system.answers), *cells, end_section=system is systems.systems[-1])
    for label, text in (("RMSE ± std", _error), ("Kendall's tau-b (p)", _tau)):
        found = [systems.comparisons.get(name) for name in figures]
        table.add_row(label, "", *(cell for one in found for cell in ("", _NONE if one is None else text(one))))
    return table


def _error(comparison: SystemsComparison) -> str:
    return f"{comparison.rmse:.3f} ± {comparison.absolute_error_std:.3f}"


def _tau(comparison: SystemsComparison) -> str:
    if comparison.kendall_tau is None or comparison.p_value is None:
        return _NONE
    return f"{comparison.kendall_tau:.3f} ({comparison.p_value:.3f})"


def _signatures(evaluations: Sequence[JudgeEvaluation]) -> list[Text]:
    return [Text(f"signature of {one.name}: {one.signature}", style="dim") for one in evaluations]
