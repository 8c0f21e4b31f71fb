"""Train a judge: what goes in, what is left behind, and the linear family; networks have ``network_training``."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa_scoring.encoders.scorers import Progress, no_progress, score_distinct
from qa_scoring.errors import InputError
from qa_scoring.extras import distribution_version, require
from qa_scoring.judge.examples import ExampleSets, JudgedExample, build_examples
from qa_scoring.judge.inputs import Triple, item
from qa_scoring.judge.linear import FILE, LinearJudge, features, fit_linear, save_linear
from qa_scoring.judge.training_config import JudgeTrainingConfig, judge_config_facts, judge_config_text
from qa_scoring.judge.training_log import append_line, held_out_figures

_CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class JudgeTrainingResult:
    """What a run leaves behind.

    Args:
        folder: The judge, as the loaders read it.
        log: JSON Lines: a line of facts, then a line per evaluation.
        config: The configuration as used, defaults included.
    """

    folder: Path
    log: Path
    config: Path


def train_judge(
    config: JudgeTrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    device: str | None = None,
    resume: bool = False,
    keep_checkpoints: bool = False,
    progress: Progress = no_progress,
) -> JudgeTrainingResult:
    """Train a judge and write it to a folder.

    While networks are trained, ``checkpoints`` in the folder holds what a run needs to go on: the weights as
    safetensors, and files of torch for the optimizer, which are read as plain tensors (``weights_only``). It is deleted
    at the end; what stays holds no pickle.

    Args:
        config: What to train, on what, and how.
        data: The folder that the sources' paths start from.
        out: Where the files go; made if it is not there.
        device: ``"cpu"``, ``"cuda"`` or ``"mps"``; None takes what is there.
        resume: Whether to go on from the last checkpoint in ``out``, after a run that was interrupted.
        keep_checkpoints: Whether the checkpoints stay.
        progress: Wraps the steps, for a progress bar.

    Returns:
        The files.

    Raises:
        InputError: The data or the base is not what it must be, nothing that F1 can be measured on is held out,
            ``out`` holds another run, there is nothing to resume, the device is not there, or the loss is no longer a
            number.
        MissingPackageError: A package is not installed.
    """
    out = Path(out)
    result = JudgeTrainingResult(out, out / "training_log.jsonl", out / "config.toml")
    _check_folder(config, result, resume)
    sets = build_examples(config.sources, data, seed=config.seed, holdout=config.holdout, held_out=config.held_out)
    if not any(example.correct for example in sets.held_out):
        raise InputError(
            f"F1 on held-out examples needs correct ones; {len(sets.held_out)} held out, none correct. Hold out more."
        )
    if config.family == "linear":
        _begin(config, result, sets, {"scikit-learn": distribution_version("scikit-learn")})
        _train_linear(config, result, sets)
        return result
    require("torch", extra="ava", purpose="the judge's training")
    require("accelerate", extra="ava", purpose="the judge's training")
    from qa_scoring.judge.network_training import NetworkTraining

    training = NetworkTraining(config, sets, device)
    if not resume:
        _begin(config, result, sets, training.facts)
    training.run(out, out / _CHECKPOINTS, result.log, resume=resume, progress=progress)
    if not keep_checkpoints:
        shutil.rmtree(out / _CHECKPOINTS)
    return result


def _check_folder(config: JudgeTrainingConfig, result: JudgeTrainingResult, resume: bool) -> None:
    """Refuse to write over a run, or to go on with one that is not there or is another."""
    if not resume:
        there = [
            path for path in (result.log, *(result.folder / name for name in (FILE, "config.json"))) if path.exists()
        ]
        if there:
            raise InputError(f"{result.folder} holds a run already; pass another folder, or resume it.")
        return
    if config.family == "linear":
        raise InputError("A linear judge is trained in seconds; there is nothing to resume.")
    if not any((result.folder / _CHECKPOINTS).glob("checkpoint-*")):
        raise InputError(f"{result.folder / _CHECKPOINTS} has no checkpoint; there is nothing to resume.")
    if result.config.read_text(encoding="utf-8") != judge_config_text(config):
        raise InputError(f"{result.config} is not the configuration given; resume a run with its own.")


def _begin(config: JudgeTrainingConfig, result: JudgeTrainingResult, sets: ExampleSets, facts: dict[str, Any]) -> None:
    """Write the configuration, and the first line of the log."""
    result.folder.mkdir(parents=True, exist_ok=True)
    result.config.write_text(judge_config_text(config), encoding="utf-8")
    counts = {"examples": _count(sets.train), "held_out": _count(sets.held_out)}
    append_line(result.log, {"config": judge_config_facts(config), **counts, **facts})


def _count(examples: Sequence[JudgedExample]) -> dict[str, dict[str, int]]:
    """Count correct and incorrect examples by origin."""
    found: dict[str, dict[str, int]] = {}
    for (origin, correct), count in sorted(Counter((row.origin, row.correct) for row in examples).items()):
        found.setdefault(origin, {"correct": 0, "incorrect": 0})["correct" if correct else "incorrect"] = count
    return found


def _train_linear(config: JudgeTrainingConfig, result: JudgeTrainingResult, sets: ExampleSets) -> None:
    table = features([Triple(row.question, row.reference, row.answer) for row in sets.train])
    fitted = fit_linear(
        table, [row.correct for row in sets.train], [row.weight for row in sets.train], seed=config.seed
    )
    save_linear(fitted, result.folder)
    judge = LinearJudge(fitted, facts={})
    scores = score_distinct(judge, [item(row.question, row.answer, [row.reference]) for row in sets.held_out]).scores
    append_line(result.log, held_out_figures([row.correct for row in sets.held_out], scores >= judge.threshold))
