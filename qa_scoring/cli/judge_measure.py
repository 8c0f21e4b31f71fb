"""``qa-scoring judge evaluate``, ``contrast``, ``systems`` and ``calibrate``: judges on judged answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qa_scoring.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from qa_scoring.judged.scorers import Answers, ModelOptions

Function = TypeVar("Function", bound=Callable[..., Any])

_JUDGE_OPTION = "embedded, a folder, a Hub id, or a baseline: exact, f1, recall, substring, sas"
_MODEL_OPTIONS = (
    click.option("--aggregate", default="mean", show_default=True, help="Of judges, over references: mean or max."),
    click.option("--revision", metavar="REVISION", help="Of judges on the Hub: branch, tag or commit."),
    click.option("--max-length", type=int, metavar="N", help="Of judges: longest input in tokens."),
    click.option("--batch-size", type=int, metavar="N", help="Inputs per batch; default: by tokens."),
    click.option("--device", metavar="NAME", help="cuda, mps or cpu; default: the first that is there."),
    click.option("--dtype", metavar="NAME", help="float32 (default), bfloat16 or float16."),
    click.option("--cache-dir", metavar="FOLDER", help="Keep scores here, and read them from here."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables."),
)
_JUDGES = (
    click.option("--judge", "judges", multiple=True, metavar="NAME", help=f"{_JUDGE_OPTION}; repeatable.  [embedded]"),
    click.option(
        "--thresholds-from",
        metavar="FILE",
        help="Take the threshold of every scorer that is the most accurate on these judged answers.",
    ),
    click.option("--confidence-level", type=float, default=0.95, show_default=True),
    click.option("--n-resamples", type=int, default=1000, show_default=True, help="0: no intervals."),
    click.option("--seed", type=int, default=42, show_default=True),
)


def _with(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@click.command(name="evaluate")
@click.argument("file", metavar="ANSWERS.jsonl")
@_with(_JUDGES)
@click.option("--no-baselines", is_flag=True, help="Only what --judge names.")
@click.option("--by", multiple=True, metavar="PART", help="Also per system, or per group (kind, source); repeatable.")
@_with(_MODEL_OPTIONS)
def evaluate_command(file: str, no_baselines: bool, by: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Compare judges, and what is usual without one, with people's verdicts on the answers in ANSWERS.jsonl.

    Rows: question, references, answer, correct (true or false), and where they are known system, and kind or source.
    Printed are accuracy, precision, recall, F1, AUROC and average precision with intervals, and how many answers are
    judged correct by the references of another question.
    """
    from qa_scoring.judgements import read_judged_answers

    judges = options.pop("judges")
    names = _names(judges, baselines=not no_baselines)
    evaluations = _evaluate(list(read_judged_answers(Path(file))), names, file=file, by=by, **options)
    if as_json:
        _print_json([asdict(evaluation) for evaluation in evaluations])
    else:
        from qa_scoring.report.judge_tables import evaluation_report

        _print(evaluation_report(evaluations))


@click.command(name="contrast")
@_with(_JUDGES)
@_with(_MODEL_OPTIONS)
def contrast_command(as_json: bool, **options: Any) -> None:
    """Measure judges on the contrast set that comes with the package: accuracy per kind, beside the baselines'."""
    from qa_scoring.judged.evaluation import contrast_answers, groups_won

    judges = options.pop("judges") or ("embedded",)
    names = _names(judges, baselines=True)
    evaluations = _evaluate(contrast_answers(), names, file=None, by=("group",), shuffle=False, **options)
    if as_json:
        won = {judge: groups_won(evaluations, judge, ["f1", "substring"]) for judge in judges}
        _print_json({"evaluations": [asdict(one) for one in evaluations], "beats_f1_and_substring": won})
    else:
        from qa_scoring.report.judge_tables import contrast_report

        _print(contrast_report(evaluations, judges))


@click.command(name="systems")
@click.argument("file", metavar="ANSWERS.jsonl")
@click.option("--judge", default="embedded", show_default=True, metavar="NAME", help=f"{_JUDGE_OPTION}.")
@click.option("--threshold", type=float, metavar="P", help="From 0 to 1.  [default: the judge's own]")
@click.option("--by-group", is_flag=True, help="Also per group (kind or source).")
@click.option(
    "--without-correct",
    default="zero",
    show_default=True,
    metavar="RULE",
    help="Of rankings, questions without a correct answer: zero, or leave_out.",
)
@_with(_MODEL_OPTIONS)
def systems_command(
    file: str, judge: str, threshold: float | None, by_group: bool, without_correct: str, as_json: bool, **options: Any
) -> None:
    """Compare whole systems by a judge and by people: accuracy, and for ranked answers P@1, MAP and MRR.

    Rows of ANSWERS.jsonl: system, question, references, answer, and where they are known correct (true, false or null),
    score (the system's own, which ranks the answers to a question), and kind or source. Printed are RMSE ± standard
    deviation and Kendall's tau-b over the systems, in the form of table 5 of Vu & Moschitti 2021.
    """
    from qa_scoring.judged.systems import evaluate_systems
    from qa_scoring.judgements import read_system_answers

    evaluation = evaluate_systems(
        list(read_system_answers(Path(file))),
        judge,
        threshold=threshold,
        by_group=by_group,
        without_correct=without_correct,
        options=_model_options(options),
    )
    if as_json:
        _print_json(asdict(evaluation))
    else:
        from qa_scoring.report.judge_tables import systems_report

        _print(systems_report(evaluation))


@click.command(name="calibrate")
@click.argument("folder", metavar="JUDGE")
@click.argument("file", metavar="ANSWERS.jsonl")
@click.option(
    "--rule", default="rmse", show_default=True, help="Of the threshold: rmse (over systems), f1 or accuracy."
)
@click.option("--out", metavar="DIR", help="Write a copy here.  [default: change JUDGE]")
@click.option("--diagram", metavar="FILE", help="Draw the reliability diagram, such as reliability.png.")
@click.option("--bins", type=int, default=15, show_default=True, help="Of reliability.")
@_with(tuple(option for option in _MODEL_OPTIONS if option is not _MODEL_OPTIONS[1]))  # folders have no revision
def calibrate_command(
    folder: str, file: str, rule: str, out: str | None, diagram: str | None, bins: int, as_json: bool, **options: Any
) -> None:
    """Fit temperature and threshold of the judge in the folder JUDGE to people's verdicts, and store both with it.

    Rows of ANSWERS.jsonl: question, references, answer, correct (true or false), and for the rule rmse, system. Take
    other answers than the judge is measured on.
    """
    from qa_scoring.judged.calibration import calibrate_judge
    from qa_scoring.judgements import read_judged_answers

    answers = list(read_judged_answers(Path(file)))
    calibration = calibrate_judge(folder, answers, rule=rule, out=out, bins=bins, options=_model_options(options))
    if diagram is not None:
        from qa_scoring.report.plots import save_reliability_diagram

        save_reliability_diagram(calibration.after.reliability, diagram, f"{Path(calibration.folder).name}, calibrated")
    if as_json:
        _print_json(asdict(calibration))
    else:
        from qa_scoring.report.judge_tables import calibration_report

        _print(calibration_report(calibration))
        if diagram is not None:
            click.echo(f"Diagram: {diagram}")


def _names(judges: tuple[str, ...], *, baselines: bool) -> list[str]:
    from qa_scoring.judged.scorers import BASELINES

    return [*(judges or ("embedded",)), *(name for name in BASELINES if baselines and name not in judges)]


def _evaluate(
    answers: Answers,
    names: list[str],
    *,
    file: str | None,
    thresholds_from: str | None,
    confidence_level: float,
    n_resamples: int,
    seed: int,
    by: tuple[str, ...],
    shuffle: bool = True,
    **options: Any,
) -> list[Any]:
    from qa_scoring.errors import InputError
    from qa_scoring.judged.evaluation import best_thresholds, evaluate_judges
    from qa_scoring.judgements import read_judged_answers

    models = _model_options(options)
    thresholds = None
    if thresholds_from is not None:
        if file is not None and Path(thresholds_from).resolve() == Path(file).resolve():
            raise InputError(f"{file} cannot give the thresholds that are measured on it; name another file.")
        thresholds = best_thresholds(list(read_judged_answers(Path(thresholds_from))), names, options=models)
    return evaluate_judges(
        answers,
        names,
        by=by,
        thresholds=thresholds,
        shuffle=shuffle,
        confidence_level=confidence_level if n_resamples > 0 else None,
        n_resamples=max(n_resamples, 1),
        seed=seed,
        options=models,
    )


def _model_options(options: dict[str, Any]) -> ModelOptions:
    from qa_scoring.judged.scorers import ModelOptions

    return ModelOptions(**options, progress=progress_bar)


def _print(report: RenderableType) -> None:
    from qa_scoring.report.tables import console

    console().print(report)


def _print_json(values: object) -> None:
    click.echo(json.dumps(values, indent=2, ensure_ascii=False))
