"""Exact match and token F1, one score per example.

What differs between published scripts is data (``OverlapRule``); the loop is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

Tokens = list[str]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def token_f1(prediction: Tokens, reference: Tokens) -> float:
    """Return the F1 of two bags of tokens, repeats counted.

    Args:
        prediction: Tokens of the prediction, at least one.
        reference: Tokens of the reference, at least one.

    Returns:
        A number in [0, 1].

    Example:
        >>> token_f1(["eiffel", "tower"], ["tower"])
        0.6666666666666666

    Source:
        Rajpurkar et al. 2016, SQuAD, section 6.1.
    """
    # The bags share min(count, count) of each token; if either side has no repeats that is the set
    # intersection, a tenth of the cost of counting.
    distinct = set(prediction)
    if len(distinct) == len(prediction):
        common = len(distinct.intersection(reference))
    else:
        other = set(reference)
        if len(other) == len(reference):
            common = len(other.intersection(prediction))
        else:
            common = sum((Counter(prediction) & Counter(reference)).values())
    return _f1(common, len(prediction), len(reference))


def longest_run_f1(prediction: Tokens, reference: Tokens) -> float:
    """Return the F1 of the longest contiguous run of tokens that both sides share.

    Args:
        prediction: Tokens of the prediction, at least one.
        reference: Tokens of the reference, at least one.

    Returns:
        A number in [0, 1].

    Example:
        >>> longest_run_f1(["a", "b", "c"], ["b", "c", "a"])
        0.6666666666666666

    Source:
        Cui et al. 2019, CMRC 2018, evaluation script version 6.
    """
    match = SequenceMatcher(None, reference, prediction, autojunk=False).find_longest_match()
    return _f1(match.size, len(prediction), len(reference))


def _f1(common: int, predicted: int, expected: int) -> float:
    if common == 0:
        return 0.0
    precision = common / predicted
    recall = common / expected
    return (2 * precision * recall) / (precision + recall)


@dataclass(frozen=True)
class OverlapRule:
    """How one script compares two answers.

    Args:
        normalize: String → normalised words; equal words are an exact match.
        tokenize: Normalised words → the tokens that F1 counts.
        f1: F1 of two non-empty lists of tokens.
        blank_matches: Whether two answers that both have no tokens have an F1 of 1.
        drop_blank_references: Whether references without words are ignored while another one has some.
        exact_without_spaces: Whether exact match compares the words with nothing between them.
        exact_is_full_f1: Whether an F1 of 1 is an exact match, whatever the order of the tokens.
        first_reference_only: Whether references after the first are ignored.
    """

    normalize: Callable[[str], list[str]]
    tokenize: Callable[[list[str]], Tokens]
    f1: Callable[[Tokens, Tokens], float] = token_f1
    blank_matches: bool = True
    drop_blank_references: bool = True
    exact_without_spaces: bool = False
    exact_is_full_f1: bool = False
    first_reference_only: bool = False


@dataclass(frozen=True)
class OverlapScores:
    """Scores of n examples.

    Args:
        exact: Shape (n,), 0.0 or 1.0.
        f1: Shape (n,), in [0, 1].
        best_reference: Shape (n,), index of the first reference with the highest F1; -1 without references.
    """

    exact: FloatArray
    f1: FloatArray
    best_reference: IntArray


def score_overlap(predictions: Iterable[str], references: Sequence[Sequence[str]], rule: OverlapRule) -> OverlapScores:
    """Score every prediction against its references, keeping the best.

    Args:
        predictions: n strings; an empty one says that there is no answer.
        references: n lists of strings; an empty list says that the question has no answer.
        rule: How two strings are compared.

    Returns:
        One row of scores per example.

    Example:
        >>> rule = OverlapRule(normalize=str.split, tokenize=lambda words: words)
        >>> score_overlap(["in Paris", ""], [["Paris", "in Paris"], []], rule).exact.tolist()
        [1.0, 1.0]
    """
    normalize, tokenize, f1 = rule.normalize, rule.tokenize, rule.f1
    exact_scores, f1_scores, winners = [], [], []
    for prediction, answers in zip(predictions, references, strict=True):
        words = normalize(prediction)
        exact, best_f1, winner = 0.0, -1.0, -1
        tokens: Tokens | None = None
        for index, answer in enumerate(answers):
            if index and (rule.first_reference_only or answers.index(answer) < index):
                continue  # the same string was scored before
            expected = words if answer == prediction else normalize(answer)
            if not expected and rule.drop_blank_references:
                continue
            if words == expected or (rule.exact_without_spaces and "".join(words) == "".join(expected)):
                exact, best_f1, winner = 1.0, float(rule.blank_matches or bool(tokenize(expected))), index
                break
            if tokens is None:
                tokens = tokenize(words)
            expected_tokens = tokenize(expected)
            if tokens and expected_tokens:
                score = f1(tokens, expected_tokens)
            else:
                score = float(rule.blank_matches and not tokens and not expected_tokens)
            if score > best_f1:
                best_f1, winner = score, index
        if winner < 0:  # no reference with words: only a prediction without words is right
            exact = best_f1 = 0.0 if words else 1.0
            winner = 0 if answers else -1
        elif rule.exact_is_full_f1:
            exact = float(best_f1 == 1.0)
        exact_scores.append(exact)
        f1_scores.append(best_f1)
        winners.append(winner)
    return OverlapScores(
        np.array(exact_scores, dtype=np.float64),
        np.array(f1_scores, dtype=np.float64),
        np.array(winners, dtype=np.int64),
    )
