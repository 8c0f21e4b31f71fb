"""Batches of about the same number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

TOKENS_PER_BATCH = 4096  # padded tokens; short inputs come hundreds at a time, long ones a few


def token_batches(lengths: Sequence[int], batch_size: int | None) -> Iterator[list[int]]:
    """Yield rows of similar length, longest first, so that memory is taken at the start.

    Args:
        lengths: Of n inputs, in tokens.
        batch_size: Inputs per batch; None fills batches by tokens.

    Returns:
        Lists of rows, each row once.

    Example:
        >>> list(token_batches([3, 5, 4], batch_size=2))
        [[1, 2], [0]]
    """
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        limit = batch_size or max(1, TOKENS_PER_BATCH // lengths[batch[0] if batch else row])
        if len(batch) == limit:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
