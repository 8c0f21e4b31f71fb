"""The course of a judge's training, drawn from its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from qa_scoring.errors import InputError


def training_curve(log: str | Path) -> Figure:
    """Draw loss, and F1 and accuracy on held-out examples, over the steps of a run.

    Args:
        log: ``training_log.jsonl`` of ``qa-scoring judge train``.

    Returns:
        The figure: losses above, F1 and accuracy below.

    Raises:
        InputError: The file cannot be read, or has no evaluation with a step.
    """
    lines = [line for line in _read_lines(Path(log)) if "step" in line]
    if not lines:
        raise InputError(f"{log} has nothing to draw; expected lines with 'step', 'loss', 'f1' and 'accuracy'.")
    figure = Figure(figsize=(6, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, names in ((above, ("loss", "held_out_loss")), (below, ("f1", "accuracy"))):
        for name in names:
            drawn = [line for line in lines if name in line]
            axes.plot([line["step"] for line in drawn], [line[name] for line in drawn], marker=".", label=name)
        axes.legend()
    above.set(ylabel="Binary cross-entropy")
    below.set(xlabel="Step", ylabel="On held-out examples", ylim=(0.0, 1.05))
    return figure


def _read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON Lines: {error}.") from error
    if not all(isinstance(line, dict) for line in lines):
        raise InputError(f"{path}: expected an object per line.")
    return lines
