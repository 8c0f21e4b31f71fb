"""The log of a judge's training, and the figures in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def held_out_figures(correct: Sequence[bool], judged: Sequence[bool] | NDArray[np.bool_]) -> dict[str, float]:
    """Compare verdicts.

    Args:
        correct: n verdicts of people.
        judged: n verdicts of a judge.

    Returns:
        ``f1`` (of "correct") and ``accuracy``, 0 to 1.

    Example:
        >>> held_out_figures([True, True, False, False], [True, False, False, True])
        {'f1': 0.5, 'accuracy': 0.5}
    """
    people, judge = np.array(correct, dtype=np.bool_), np.array(judged, dtype=np.bool_)
    both = int((people & judge).sum())
    return {
        "f1": round(2 * both / max(int(people.sum()) + int(judge.sum()), 1), 6),
        "accuracy": round(float((people == judge).mean()), 6),
    }


def append_line(path: Path, values: dict[str, Any]) -> None:
    """Add a line to a log.

    Args:
        path: JSON Lines.
        values: The line.
    """
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(values, ensure_ascii=False) + "\n")
