"""What all actions share: errors as one sentence, and long work that shows how far it is and can be stopped."""

from __future__ import annotations

import functools
import html
import inspect
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from typing import Any, TypeVar

import gradio as gr

from qa_scoring.errors import QAScoringError

_log = logging.getLogger(__name__)
_UNEXPECTED = "Something went wrong inside the app; nothing was scored."

Result = TypeVar("Result")
Report = Callable[[str, Iterable[Any]], Iterable[Any]]
"""Takes what is being done and the work; gives the work back, piece by piece."""


def shown(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make an action of a function: what it refuses is shown as a sentence, what breaks is logged and not shown.

    Args:
        function: A function or generator, as gradio takes it.

    Returns:
        The same with its errors turned into ``gr.Error``.

    Example:
        >>> shown(len)([1, 2])
        2
    """
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **options: Any) -> Iterator[Any]:
            try:
                yield from function(*args, **options)
            except Exception as error:
                raise _as_shown(error) from None

        return generate

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except Exception as error:
            raise _as_shown(error) from None

    return call


def _as_shown(error: Exception) -> gr.Error:
    if isinstance(error, gr.Error):
        return error
    if isinstance(error, QAScoringError):
        message = " ".join(str(error).split())
    else:
        _log.error("An action of the page failed.", exc_info=error)
        message = _UNEXPECTED
    # The page draws messages as HTML, and a message may quote what a user wrote.
    return gr.Error(html.escape(message, quote=False), duration=None, print_exception=False)


class _StoppedError(Exception):
    """The user does not wait for the result any more."""


def watch(work: Callable[[Report], Result], *, every: float = 0.25) -> Generator[str, None, Result]:
    """Do work in a thread, and say how far it is while it lasts.

    Args:
        work: Takes a function that wraps its loops; closing the generator stops it at the next piece.
        every: Seconds between two words on the progress.

    Yields:
        What is being done, in words.

    Returns:
        What the work returned; what it raised is raised.

    Example:
        >>> def work(report):
        ...     return sum(report("adding", [1, 2]))
        >>> steps = watch(work)
        >>> try:
        ...     while True:
        ...         said = next(steps)
        ... except StopIteration as stop:
        ...     stop.value
        3
    """
    stopped = threading.Event()
    said = "Starting …"
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def report(what: str, items: Iterable[Any]) -> Iterator[Any]:
        nonlocal said
        total = len(items) if isinstance(items, Sized) else None
        for number, item in enumerate(items):
            if stopped.is_set() or not threading.main_thread().is_alive():
                raise _StoppedError
            said = f"{what}: {number:,} of {total:,}" if total else f"{what}: {number:,}"
            yield item
        said = f"{what}: done"

    def run() -> None:
        try:
            outcome.append(work(report))
        except BaseException as error:
            failure.append(error)

    # No daemon: one that is inside a model when Python ends aborts the process.
    thread = threading.Thread(target=run, daemon=False)
    thread.start()
    try:
        while True:
            thread.join(every)
            if not thread.is_alive():
                break
            yield said
    finally:
        stopped.set()
    if failure:
        raise failure[0]
    return outcome[0]
