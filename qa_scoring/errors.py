"""The errors this package raises on purpose.

::

    QAScoringError
    ├── InputError (also ValueError)        something the caller passed: a row, an argument, a file
    └── MissingPackageError (also ImportError)   an optional package that is not installed

Every message says what was expected, what came, where it came from, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class QAScoringError(Exception):
    """Base of every error raised on purpose by qa_scoring."""


class InputError(QAScoringError, ValueError):
    """A row, argument or file that cannot be scored."""


class MissingPackageError(QAScoringError, ImportError):
    """An optional package is needed and not installed."""


def parameter_error(name: str, expected: str, got: object) -> InputError:
    """Build the one sentence used for every wrong argument.

    Args:
        name: The argument's name.
        expected: What it must be.
        got: What was passed.

    Returns:
        The error, to be raised by the caller.

    Example:
        >>> print(parameter_error("n_resamples", "an integer of at least 1", 0))
        The argument 'n_resamples' must be an integer of at least 1; got 0.
    """
    return InputError(f"The argument {name!r} must be {expected}; got {shorten(got)}.")


def shorten(value: object, limit: int = 80) -> str:
    """Return the value's repr, cut to a length that fits in a message.

    Args:
        value: Anything.
        limit: Longest text returned, in characters.

    Returns:
        The repr, with an ellipsis in place of what was cut.

    Example:
        >>> shorten("abc")
        "'abc'"
    """
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def first_few(items: Iterable[object], total: int, shown: int = 5) -> str:
    """Return the first few items for a message, and say that there are more.

    Args:
        items: The items, in the order to show them.
        total: How many there are in all.
        shown: How many to name.

    Returns:
        A comma-separated list of reprs.

    Example:
        >>> first_few(["a", "b", "c"], total=3, shown=2)
        "'a', 'b', …"
    """
    named = [shorten(item) for item, _ in zip(items, range(shown), strict=False)]
    return ", ".join(named) + (", …" if total > shown else "")
