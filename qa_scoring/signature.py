"""Signatures: everything that changes a score, beside the score (after sacreBLEU, Post 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

Value = str | int | float | bool | None


class Signature(Mapping[str, Value]):
    """An ordered, read-only set of facts; two scores are comparable only if theirs are equal.

    Args:
        facts: Name → value, in the order to print them; None values are left out.

    Example:
        >>> signature = Signature({"metric": "m2qa_squad_v2", "threshold": 1.0, "seed": None})
        >>> str(signature)
        'metric:m2qa_squad_v2|threshold:1.0'
        >>> signature["threshold"]
        1.0
    """

    def __init__(self, facts: Mapping[str, Value]) -> None:
        self._facts = MappingProxyType({key: value for key, value in facts.items() if value is not None})

    def __getitem__(self, key: str) -> Value:
        return self._facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" for key, value in self._facts.items())

    def __repr__(self) -> str:
        return f"Signature({str(self)!r})"
