"""The columns that statistics take: labels, scores and probabilities, checked row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qa_scoring.errors import InputError, parameter_error

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def number_column(name: str, values: ArrayLike, *, like: tuple[str, int] | None = None) -> FloatArray:
    """Return finite numbers, one per row.

    Args:
        name: The argument's name, for messages.
        values: Shape (n,).
        like: Name and length of the column it stands beside; without one the length is free.

    Returns:
        Shape (n,).

    Raises:
        InputError: Not one column of numbers, another length, or a number that is not finite.

    Example:
        >>> number_column("scores", [1, 2.5])
        array([1. , 2.5])
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise parameter_error(name, "a column of numbers", values) from None
    if column.ndim != 1:
        raise parameter_error(name, "one column of numbers, one per row", values)
    if like is not None and len(column) != like[1]:
        raise InputError(f"There are {like[1]} {like[0]} and {len(column)} {name}; give one of each per row.")
    _every(name, column, np.isfinite(column), "a finite number")
    return column


def label_column(name: str, values: ArrayLike) -> BoolArray:
    """Return labels of two classes.

    Args:
        name: The argument's name, for messages.
        values: Shape (n,), n of at least 1; each 0 or 1.

    Returns:
        Shape (n,): True for 1.

    Raises:
        InputError: There is no row, or a label is neither 0 nor 1.

    Example:
        >>> label_column("labels", [1, 0])
        array([ True, False])
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise parameter_error(name, "a column of 0 and 1", values) from None
    if column.ndim != 1 or not len(column):
        raise parameter_error(name, "a column of 0 and 1 with at least one row", values)
    _every(name, column, (column == 0.0) | (column == 1.0), "0 or 1")
    return column.astype(np.bool_)


def probability_column(name: str, values: ArrayLike, *, like: tuple[str, int] | None = None) -> FloatArray:
    """Return probabilities, one per row.

    Args:
        name: The argument's name, for messages.
        values: Shape (n,), each between 0 and 1.
        like: As in ``number_column``.

    Returns:
        Shape (n,).

    Raises:
        InputError: As for ``number_column``, or a number outside 0–1.

    Example:
        >>> probability_column("probabilities", [0.25, 1])
        array([0.25, 1.  ])
    """
    column = number_column(name, values, like=like)
    _every(name, column, (column >= 0.0) & (column <= 1.0), "between 0 and 1")
    return column


def require_both_classes(labels: BoolArray, purpose: str) -> None:
    """Refuse labels of one class only.

    Args:
        labels: Shape (n,).
        purpose: What needs both classes, as the subject of the message.

    Raises:
        InputError: All labels are equal.

    Example:
        >>> require_both_classes(np.array([True, False]), "A threshold")
    """
    if labels.all() or not labels.any():
        raise InputError(
            f"{purpose} needs rows of both classes; all {len(labels)} labels are {int(labels[0])}. "
            "Give rows with the other label too."
        )


def _every(name: str, column: FloatArray, valid: BoolArray, expected: str) -> None:
    if not valid.all():
        row = int(np.argmin(valid))
        raise parameter_error(f"{name}[{row}]", expected, float(column[row]))
