"""Scoring question-answering answers: shared code of the ``evaluate`` metrics of this project.

Importing this package loads nothing heavy; what is named here is imported when it is first used.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qa_scoring.ava import score_ava as score_ava
    from qa_scoring.comparison import compare as compare
    from qa_scoring.errors import InputError as InputError
    from qa_scoring.errors import MissingPackageError as MissingPackageError
    from qa_scoring.errors import QAScoringError as QAScoringError
    from qa_scoring.judge.loading import load_judge as load_judge
    from qa_scoring.multilingual_squad import score_multilingual_squad as score_multilingual_squad
    from qa_scoring.rows import Rows as Rows
    from qa_scoring.sas import score_sas as score_sas

__version__ = "0.1.0"

METRICS = ("m2qa_squad_v2", "sas_metric", "ava_metric")
"""Names of the metric folders that are installed with this package."""

_EXPORTS = {
    "InputError": "errors",
    "MissingPackageError": "errors",
    "QAScoringError": "errors",
    "Rows": "rows",
    "compare": "comparison",
    "load_judge": "judge.loading",
    "score_ava": "ava",
    "score_multilingual_squad": "multilingual_squad",
    "score_sas": "sas",
}

__all__ = ["METRICS", "__version__", "metric_path", *_EXPORTS]


def __getattr__(name: str) -> object:
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"qa_scoring.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module 'qa_scoring' has no attribute {name!r}")


def metric_path(name: str) -> str:
    """Return the folder of a metric of this project, for ``evaluate.load``.

    Args:
        name: ``"m2qa_squad_v2"``, ``"sas_metric"`` or ``"ava_metric"``.

    Returns:
        An absolute path that ``evaluate.load`` accepts from any working directory.

    Raises:
        ValueError: There is no metric of this name.

    Example:
        >>> import evaluate
        >>> metric = evaluate.load(metric_path("m2qa_squad_v2"))
    """
    if name not in METRICS:
        from qa_scoring.errors import parameter_error

        raise parameter_error("name", f"one of {', '.join(METRICS)}", name)
    return str(Path(__file__).resolve().parent.parent / name)
