"""The shipped judge: an encoder reads question, references and answer alone, and a small head weighs what they share.

Tokens are matched greedily, as in BERTScore (Zhang et al. 2020, section 3), but each way by itself: how much of the
reference the answer has is another matter than how much of the answer the reference has. What the question says already
counts less. The strings' own figures stand beside. All references are read; the best one decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from qa_scoring.encoders.batching import token_batches
from qa_scoring.encoders.reading import TextReader, TextStates, Tokens, pad
from qa_scoring.encoders.scorers import Progress, Texts
from qa_scoring.judge.shared_words import QUESTION_WORDS, SharedWords, question_kind, shared_words
from qa_scoring.judge.words import read_words

FEATURES_PER_LAYER = 9
MOST_REFERENCES = 6
"""So many references of an item are read: those that share most with the answer."""
_LARGEST_DEVIATION = 6.0  # standard deviations: one odd feature does not decide
_LEAST_NOVELTY = 0.02  # of a token that the question has as well


class Reading(NamedTuple):
    """What was read of some items.

    Args:
        pairs: m pairs of a row and the number of one of its references.
        features: Shape (m, size).
        truncated: m flags, whether a text was cut.
    """

    pairs: list[tuple[int, int]]
    features: Tensor
    truncated: list[bool]


def chosen_references(answer: str, references: Sequence[str]) -> list[int]:
    """Choose the references that a judge reads.

    Args:
        answer: The answer.
        references: All references.

    Returns:
        The numbers of at most ``MOST_REFERENCES`` distinct ones: those of which the answer has most trigrams.

    Example:
        >>> chosen_references("Curie", ["Curie", "Marie Curie", "Curie"])
        [0, 1]
    """
    first = {text: number for number, text in reversed(list(enumerate(references)))}
    numbers = sorted(first.values())
    if len(numbers) <= MOST_REFERENCES:
        return numbers
    found = read_words(answer).trigrams

    def shared(number: int) -> float:
        trigrams = read_words(references[number]).trigrams
        return sum(min(count, found[item]) for item, count in trigrams.items()) / trigrams.total()

    return sorted(sorted(numbers, key=lambda number: -shared(number))[:MOST_REFERENCES])


class ItemReader:
    """Describes items of question, answer and references by what they share.

    Args:
        texts: Reads the texts.
    """

    def __init__(self, texts: TextReader) -> None:
        self.texts = texts
        self.size = FEATURES_PER_LAYER * texts.layers + len(SharedWords._fields) + len(QUESTION_WORDS)

    def read(self, items: Sequence[Texts], progress: Progress) -> Iterator[Reading]:
        """Describe items; every distinct text of about a thousand items is encoded once.

        Args:
            items: Question, answer, references.
            progress: Wraps the work, for a progress bar.

        Yields:
            Readings of all pairs of some items. Features are those of ``match`` for every layer, then the figures of
            ``shared_words`` and ``question_kind``.
        """
        for rows in progress(list(self.texts.parts(items))):
            pairs = [(row, number) for row in rows for number in chosen_references(items[row][1], items[row][2:])]
            texts = {items[row][2 + number] for row, number in pairs}
            texts |= {text for row in rows for text in items[row][:2]}
            states = self.texts.encode(sorted(texts))
            features = torch.empty(len(pairs), self.size)
            lengths = [sum(states[text].tokens.shape[1] for text in _triple(items, pair)) for pair in pairs]
            for places in token_batches(lengths, self.texts.batch_size, device=self.texts.device):
                chosen = [_triple(items, pairs[place]) for place in places]
                strings = torch.tensor([[*shared_words(*triple), *question_kind(triple[0])] for triple in chosen])
                sides = [[states[triple[side]] for triple in chosen] for side in range(3)]
                with torch.inference_mode():
                    features[places] = torch.cat([match(*sides).cpu(), strings], dim=1)
            cut = [any(states[text].truncated for text in _triple(items, pair)) for pair in pairs]
            yield Reading(pairs, features, cut)


def _triple(items: Sequence[Texts], pair: tuple[int, int]) -> tuple[str, str, str]:
    """Return the question, one reference and the answer."""
    row, number = pair
    return items[row][0], items[row][2 + number], items[row][1]


def match(questions: Sequence[TextStates], references: Sequence[TextStates], answers: Sequence[TextStates]) -> Tensor:
    """Match the tokens of n references and answers.

    Args:
        questions: n questions.
        references: n references.
        answers: n answers.

    Returns:
        Shape (n, 9 · layers): per layer recall and precision (mean cosine of the best matches of the reference's and
        of the answer's tokens), the worst match of either, the cosine of the mean vectors, recall and precision with
        tokens weighed by how little they match the question, and the cosines of the question's mean vector with the
        answer's and the reference's.
    """
    question, reference, answer = pad(questions), pad(references), pad(answers)
    recalled, precise = _best(reference, answer)
    known_reference, _ = _best(reference, question)
    known_answer, _ = _best(answer, question)
    vectors = [torch.stack([text.mean for text in side], dim=1) for side in (questions, references, answers)]
    columns = [
        _mean(recalled, reference.own),
        _mean(precise, answer.own),
        recalled.masked_fill(~reference.own, 1.0).amin(2),
        precise.masked_fill(~answer.own, 1.0).amin(2),
        (vectors[1] * vectors[2]).sum(-1),
        _mean(recalled, reference.own, 1.0 - known_reference),
        _mean(precise, answer.own, 1.0 - known_answer),
        (vectors[0] * vectors[2]).sum(-1),
        (vectors[0] * vectors[1]).sum(-1),
    ]
    return torch.stack(columns, dim=-1).transpose(0, 1).flatten(1)


def _best(first: Tokens, second: Tokens) -> tuple[Tensor, Tensor]:
    """Return the cosine of every token's best match, shapes (layers, n, tokens)."""
    similarity = first.values @ second.values.transpose(2, 3)
    similarity = similarity.masked_fill(~(first.own[:, :, None] & second.own[:, None, :]), -1.0)
    return similarity.amax(3), similarity.amax(2)


def _mean(cosines: Tensor, own: Tensor, weights: Tensor | None = None) -> Tensor:
    weights = own.float().expand_as(cosines) if weights is None else weights.clamp(min=_LEAST_NOVELTY) * own
    return (cosines * weights).sum(2) / weights.sum(2)


class MatchingHead(nn.Module):
    """Turns the features of a pair into a logit: linear, plus one hidden layer.

    Args:
        size: Number of features.
        hidden: Size of the hidden layer.
        dropout: Part of the features and of the hidden layer that is dropped while training.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, size: int, *, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("deviation", torch.ones(size))
        self.linear = nn.Linear(size, 1)
        self.hidden = nn.Linear(size, hidden)
        self.output = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        """Return logits.

        Args:
            features: Shape (..., size).

        Returns:
            Shape (...).
        """
        standard = ((features - self.mean) / self.deviation).clamp(-_LARGEST_DEVIATION, _LARGEST_DEVIATION)
        bent = self.output(self.dropout(functional.gelu(self.hidden(self.dropout(standard)))))
        logits: Tensor = (self.linear(standard) + bent).squeeze(-1)
        return logits


def best_of(logits: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the highest logit of every item.

    Args:
        logits: Shape (m,), of pairs.
        rows: Shape (m,), the item of each.
        count: Number of items.

    Returns:
        Shape (count,).

    Example:
        >>> best_of(torch.tensor([1.0, 3.0, 2.0]), torch.tensor([0, 0, 1]), 2).tolist()
        [3.0, 2.0]
    """
    return torch.full((count,), -torch.inf).scatter_reduce(0, rows, logits, "amax")
