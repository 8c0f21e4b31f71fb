"""What a judge reads, put together in one place: training, calibration and scoring all call this module.

A judge of the paper's families reads one reference at a time, as one or more pairs of texts. In the names of the pairs
q is the question, r the reference and t the answer that is judged; two letters on one side are two texts, one after the
other, with one separator token of the tokenizer ([SEP], </s>) between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qa_scoring.encoders.scorers import Texts
from qa_scoring.errors import InputError, parameter_error

PAIRS = {
    "q-r": ("q", "r"),
    "r-t": ("r", "t"),
    "q-t": ("q", "t"),
    "q-rt": ("q", "rt"),
    "r-qt": ("r", "qt"),
    "t-qr": ("t", "qr"),
}
"""The pairs of texts of Vu & Moschitti 2021, sections 5.2 (A0) and 5.3 (A1): name → first side, second side."""

LEAST_ANSWER = 8
"""Tokens that an answer keeps even where question and reference fill the input, so that it is still judged."""


class Triple(NamedTuple):
    """What a judge of one reference reads.

    Args:
        question: The question; blank if the judge does not read it.
        reference: One reference.
        answer: The answer that is judged.
    """

    question: str
    reference: str
    answer: str


def item(question: str, answer: str, references: Sequence[str]) -> Texts:
    """Put together what a judge scores.

    Args:
        question: The question; blank if the judge does not read it.
        answer: The answer that is judged.
        references: One reference, or all of them for a judge that reads them together.

    Returns:
        Question, answer, references.

    Example:
        >>> item("Who?", "Curie", ["Marie Curie"])
        ('Who?', 'Curie', 'Marie Curie')
    """
    return (question, answer, *references)


def triple(texts: Texts) -> Triple:
    """Read an item of one reference as what a judge of one reference reads.

    Args:
        texts: Question, answer, reference, as ``item`` puts them together.

    Returns:
        The triple.

    Raises:
        InputError: The item has no reference, or several.

    Example:
        >>> triple(item("Who?", "Curie", ["Marie Curie"])).reference
        'Marie Curie'
    """
    if len(texts) != 3:
        raise InputError(f"This judge reads one reference at a time; got an item of {max(len(texts) - 2, 0)}.")
    question, answer, reference = texts
    return Triple(question, reference, answer)


def reads_questions(pairs: Sequence[str]) -> bool:
    """Whether a judge of these pairs reads the question.

    Args:
        pairs: Names of ``PAIRS``.

    Returns:
        True if one of them has a q.

    Example:
        >>> reads_questions(["r-t"]), reads_questions(["r-t", "q-t"])
        (False, True)
    """
    return any("q" in side for name in pairs for side in PAIRS[name])


class Assembled(NamedTuple):
    """Tokens of n inputs.

    Args:
        pairs: Per pair of texts, what the tokenizer gives for n inputs, not padded: ``input_ids``,
            ``attention_mask`` and whatever else the tokenizer has, n lists each.
        truncated: n flags, whether a text was cut.
    """

    pairs: list[dict[str, list[list[int]]]]
    truncated: list[bool]


class _Frame(NamedTuple):
    """What a tokenizer puts around two texts; every part is ids and, beside them, token types."""

    before: list[int]
    between: list[int]
    after: list[int]
    types: tuple[list[int], int, list[int], int, list[int]] | None  # of before, first, between, second, after


def assemble(tokenizer: Any, pairs: Sequence[str], triples: Sequence[Triple], max_length: int) -> Assembled:
    """Turn triples into tokens: for every pair, what ``tokenizer(first, second)`` gives.

    Two texts of one side have one separator token between them. An input that is too long loses the end of the answer
    first, all but ``LEAST_ANSWER`` tokens; then the longer of question and reference is cut from its end.

    Args:
        tokenizer: A fast tokenizer of transformers.
        pairs: Names of ``PAIRS``.
        triples: n triples.
        max_length: Longest input, in tokens, with those that the tokenizer adds.

    Returns:
        The tokens of every pair, and which triples were cut.

    Raises:
        InputError: The tokenizer is slow or joins no texts, or the length leaves no room for texts.
    """
    frame = _frame(tokenizer)
    ids = _token_ids(tokenizer, triples)
    found = Assembled([], [False] * len(triples))
    for name in pairs:
        first, second = PAIRS[name]
        joins = len(first + second) - 2
        if joins and tokenizer.sep_token_id is None:
            raise InputError(
                f"The tokenizer has no separator token, which the pair {name!r} needs. Choose other pairs."
            )
        around = len(frame.before) + len(frame.between) + len(frame.after) + joins
        room = max_length - around
        if room < len(first + second):
            raise parameter_error("max_length", f"at least {around + len(first + second)} for {name!r}", max_length)
        built: dict[str, list[list[int]]] = {"input_ids": [], "attention_mask": []}
        if frame.types is not None:
            built["token_type_ids"] = []
        for row, (question, reference, answer) in enumerate(triples):
            texts = {"q": ids[question], "r": ids[reference], "t": ids[answer]}
            lengths = {letter: len(texts[letter]) for letter in first + second}
            if sum(lengths.values()) > room:
                found.truncated[row] = True
                texts = {letter: texts[letter][:kept] for letter, kept in _kept(lengths, room).items()}
            _append(built, frame, *(_side(texts, side, tokenizer.sep_token_id) for side in (first, second)))
        found.pairs.append(built)
    return found


def longest_pairs(assembled: Assembled) -> list[int]:
    """Return how long each input is, for batches.

    Args:
        assembled: Tokens of n inputs.

    Returns:
        n lengths, of the longest pair.
    """
    return [max(map(len, row)) for row in zip(*(pair["input_ids"] for pair in assembled.pairs), strict=True)]


def pad(tokenizer: Any, assembled: Assembled, rows: Sequence[int]) -> dict[str, Any]:
    """Put inputs together as a batch, filled up on the right.

    Args:
        tokenizer: The one that assembled them.
        assembled: Tokens of n inputs.
        rows: Which of them.

    Returns:
        Tensors of shape (rows, longest of the pair), by name: ``pair_0_input_ids`` and so on.
    """
    import torch

    fill = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}
    batch = {}
    for number, pair in enumerate(assembled.pairs):
        for name, values in pair.items():
            chosen = [values[row] for row in rows]
            padded = np.full((len(chosen), max(map(len, chosen))), fill.get(name, 0), dtype=np.int64)
            for place, tokens in enumerate(chosen):
                padded[place, : len(tokens)] = tokens
            batch[f"pair_{number}_{name}"] = torch.from_numpy(padded)
    return batch


def _frame(tokenizer: Any) -> _Frame:
    """Learn from two words what the tokenizer puts around them."""
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            f"A {type(tokenizer).__name__} does not say which tokens are whose. Choose a base with a fast tokenizer "
            f"(tokenizer.json)."
        )
    encoded = tokenizer("a", "b")
    sides = encoded.sequence_ids(0)
    if 0 not in sides or 1 not in sides:
        raise InputError("The tokenizer makes nothing of the words 'a' and 'b'; expected tokens of both.")
    places = [sides.index(0), len(sides) - sides[::-1].index(0), sides.index(1), len(sides) - sides[::-1].index(1)]

    def parts(values: list[int]) -> tuple[list[int], int, list[int], int, list[int]]:
        start, end, again, last = places
        return values[:start], values[start], values[end:again], values[again], values[last:]

    before, _, between, _, after = parts(encoded["input_ids"])
    types = parts(encoded["token_type_ids"]) if "token_type_ids" in encoded else None
    return _Frame(before, between, after, types)


def _token_ids(tokenizer: Any, triples: Sequence[Triple]) -> dict[str, list[int]]:
    """Tokenise every distinct text once, without special tokens."""
    texts = list(dict.fromkeys(text for triple in triples for text in triple))
    if not texts:
        return {}
    encoded = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)
    return dict(zip(texts, encoded["input_ids"], strict=True))


def _kept(lengths: Mapping[str, int], room: int) -> dict[str, int]:
    """Say how many tokens each text keeps, in all as many as there is room for."""
    kept = dict(lengths)
    over = sum(kept.values()) - room
    if "t" in kept:
        cut = min(over, kept["t"] - min(kept["t"], LEAST_ANSWER, max(1, room // len(kept))))
        kept["t"] -= cut
        over -= cut
    protected = [letter for letter in kept if letter != "t"]
    for _ in range(over):
        kept[max(protected, key=kept.__getitem__)] -= 1
    return kept


def _side(texts: Mapping[str, list[int]], letters: str, separator: int) -> list[int]:
    """Put the texts of one side one after the other."""
    side = list(texts[letters[0]])
    for letter in letters[1:]:
        side.append(separator)
        side += texts[letter]
    return side


def _append(built: dict[str, list[list[int]]], frame: _Frame, first: list[int], second: list[int]) -> None:
    """Add the tokens of one input."""
    ids = [*frame.before, *first, *frame.between, *second, *frame.after]
    built["input_ids"].append(ids)
    built["attention_mask"].append([1] * len(ids))
    if frame.types is not None:
        before, own, between, other, after = frame.types
        built["token_type_ids"].append([*before, *[own] * len(first), *between, *[other] * len(second), *after])
