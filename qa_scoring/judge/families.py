"""The paper's model families by name, and what may be put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.judge.inputs import PAIRS

ENCODERS = ("own", "shared", "adapters")


class Family(NamedTuple):
    """A row of the paper's table of models.

    Args:
        pairs: Names of ``PAIRS``.
        peer_attention: Whether the pairs are read a second time, each with attention to the other.
    """

    pairs: tuple[str, ...]
    peer_attention: bool = False


FAMILIES = {
    "A0 (q,r)": Family(("q-r",)),
    "A0 (r,t)": Family(("r-t",)),
    "A0 (q,t)": Family(("q-t",)),
    "A0 (q,r) (r,t) (q,t)": Family(("q-r", "r-t", "q-t")),
    "A1 (q,r∘t)": Family(("q-rt",)),
    "A1 (r,q∘t)": Family(("r-qt",)),
    "A1 (t,q∘r)": Family(("t-qr",)),
    "A1 (q,r∘t) (r,q∘t)": Family(("q-rt", "r-qt")),
    "A1 (q,r∘t) (t,q∘r)": Family(("q-rt", "t-qr")),
    "A1 (r,q∘t) (t,q∘r)": Family(("r-qt", "t-qr")),
    "A1 (q,r∘t) (r,q∘t) (t,q∘r)": Family(("q-rt", "r-qt", "t-qr")),
    "A2 (r,q∘t) (t,q∘r)": Family(("r-qt", "t-qr"), peer_attention=True),
}
"""Vu & Moschitti 2021, table 4, after its linear model; which two pairs A2 reads is ours where the text is open."""


def check_family(pairs: Sequence[str], encoders: str, peer_attention: bool, adapter_rank: int) -> None:
    """Refuse settings that make no judge.

    Args:
        pairs: Names of ``PAIRS``.
        encoders: One of ``ENCODERS``.
        peer_attention: Whether two pairs attend to each other.
        adapter_rank: Rank of the adapters.

    Raises:
        InputError: A value is not what it must be, or peer attention has not two pairs.

    Example:
        >>> check_family(["r-t"], "shared", peer_attention=False, adapter_rank=8)
    """
    names = list(pairs) if isinstance(pairs, (list, tuple)) else []
    if not names or len(set(map(str, names))) < len(names) or any(str(name) not in PAIRS for name in names):
        raise parameter_error("pairs", f"one or more of {', '.join(map(repr, PAIRS))}, each once", pairs)
    if encoders not in ENCODERS:
        raise parameter_error("encoders", " or ".join(map(repr, ENCODERS)), encoders)
    if not isinstance(peer_attention, bool):
        raise parameter_error("peer_attention", "True or False", peer_attention)
    if isinstance(adapter_rank, bool) or not isinstance(adapter_rank, int) or adapter_rank < 1:
        raise parameter_error("adapter_rank", "an integer of at least 1", adapter_rank)
    if peer_attention and len(names) != 2:
        raise InputError(f"Peer attention is between two pairs; got {len(names)} ({', '.join(names)}).")
