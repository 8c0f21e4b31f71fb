"""The progress bar of all commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def progress_bar(work: Iterable[Any]) -> Iterable[Any]:
    """Show progress on standard error while the work is done, if that is a terminal."""
    from tqdm import tqdm

    bar: Iterable[Any] = tqdm(work, desc="working", file=sys.stderr, disable=None, leave=False)
    return bar
