"""The embedded model: an encoder reads both answers, their tokens are matched, and a small head scores the matches.

Matching is greedy, as in BERTScore (Zhang et al. 2020, section 3): each token takes its most similar token of the other
answer. What the matches in every layer, and what the two strings share, say about similarity is learnt; in some layers
the space in which tokens are matched is learnt, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from qa_scoring.encoders.batching import token_batches
from qa_scoring.encoders.reading import TextReader, TextStates, Tokens, pad
from qa_scoring.encoders.scorers import Keep, Pair, Progress, Scores, keep_nothing
from qa_scoring.signature import Value
from qa_scoring.similarity.strings import StringFeatures, string_features

FEATURES_PER_LAYER = 5
_NEVER = -1e4
_LARGEST_DEVIATION = 6.0  # standard deviations: one odd feature does not decide a score


class Reading(NamedTuple):
    """What was read of n pairs.

    Args:
        rows: Their places.
        features: Shape (n, size).
        first: States of the one side.
        second: States of the other side.
    """

    rows: list[int]
    features: Tensor
    first: list[TextStates]
    second: list[TextStates]


class PairReader:
    """Describes pairs of texts by what their tokens, read by an encoder, have in common.

    Args:
        texts: Reads the texts.
    """

    def __init__(self, texts: TextReader) -> None:
        self.texts = texts
        self.size = FEATURES_PER_LAYER * texts.layers + len(StringFeatures._fields)

    def read(self, pairs: Sequence[Pair], progress: Progress) -> Iterator[Reading]:
        """Describe pairs; every distinct text of about a thousand pairs is encoded once.

        Args:
            pairs: The pairs.
            progress: Wraps the work, for a progress bar.

        Yields:
            Readings of some pairs each. Features are, per layer, the cosine of the mean vectors, token matching as
            F1, the larger and the smaller of precision and recall, and the cosine of the worst matched token; then
            the string features.
        """
        for rows in progress(list(self.texts.parts(pairs))):
            states = self.texts.encode(sorted({text for row in rows for text in pairs[row]}))
            lengths = [sum(states[text].tokens.shape[1] for text in pairs[row]) for row in rows]
            for places in token_batches(lengths, self.texts.batch_size, device=self.texts.device):
                batch = [rows[place] for place in places]
                chosen = [pairs[row] for row in batch]
                first, second = ([states[pair[side]] for pair in chosen] for side in (0, 1))
                strings = torch.tensor([string_features(pair) for pair in chosen])
                with torch.inference_mode():
                    vectors = [torch.stack([text.mean for text in side], dim=1) for side in (first, second)]
                    matched = match(pad(first), pad(second), *vectors)
                yield Reading(batch, torch.cat([matched.cpu(), strings], dim=1), first, second)


class Head(nn.Module):
    """Turns what was read of a pair into the logit of its similarity.

    Args:
        size: Number of features that are read.
        dimensions: Dimensions of a token's state.
        layers: Numbers of the layers, 0 being the embeddings, whose tokens are matched once more in a learnt space:
            a token x becomes x + U D x.
        rank: Rows of D and columns of U.
        hidden: Size of the hidden layer.
        dropout: Part of the hidden layer, and half as much of the tokens' states, that is dropped while training.
    """

    layers: Tensor
    mean: Tensor
    deviation: Tensor

    def __init__(
        self, size: int, dimensions: int, *, layers: Sequence[int], rank: int, hidden: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.register_buffer("layers", torch.tensor(layers, dtype=torch.int64))
        self.down = nn.Parameter(torch.randn(len(layers), dimensions, rank) * 0.02)
        self.up = nn.Parameter(torch.zeros(len(layers), rank, dimensions))
        self.token_weights = nn.Parameter(torch.zeros(len(layers), dimensions))
        total = size + FEATURES_PER_LAYER * len(layers)
        self.register_buffer("mean", torch.zeros(total))
        self.register_buffer("deviation", torch.ones(total))
        self.linear = nn.Linear(total, 1)
        self.hidden = nn.Linear(total, hidden)
        self.token_dropout = nn.Dropout(dropout / 2)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, 1)

    def forward(self, features: Tensor, first: Tokens, second: Tokens) -> Tensor:
        """Return n logits.

        Args:
            features: Shape (n, size).
            first: Tokens of the one side, in ``layers``.
            second: Tokens of the other side.

        Returns:
            Shape (n,).
        """
        standard = (torch.cat([features, self.rematch(first, second)], dim=1) - self.mean) / self.deviation
        standard = standard.clamp(-_LARGEST_DEVIATION, _LARGEST_DEVIATION)
        bent = self.output(self.dropout(functional.gelu(self.hidden(standard))))
        logits: Tensor = (self.linear(standard) + bent).squeeze(-1)
        return logits

    def rematch(self, first: Tokens, second: Tokens) -> Tensor:
        """Match tokens in the learnt space.

        Args:
            first: Tokens of the one side, in ``layers``.
            second: Tokens of the other side.

        Returns:
            Shape (n, 5 · layers), as ``match``; tokens weigh as their states say.
        """
        sides, weights, vectors = [], [], []
        for tokens in (first, second):
            moved = tokens.values + self.token_dropout(tokens.values) @ self.down[:, None] @ self.up[:, None]
            sides.append(Tokens(functional.normalize(moved, dim=-1), tokens.own))
            logits = (tokens.values @ self.token_weights[:, None, :, None]).squeeze(-1)
            weights.append(logits.masked_fill(~tokens.own, _NEVER).softmax(-1))
            vectors.append(functional.normalize((moved * tokens.own[..., None]).sum(2), dim=-1))
        return match(sides[0], sides[1], vectors[0], vectors[1], weights[0], weights[1])


class InteractionScorer:
    """Scores pairs with an encoder and a trained head; the order of the two texts does not matter.

    Args:
        reader: Reads pairs.
        head: The trained head, in evaluation mode, where the encoder is.
        facts: What the signature says of the model.
    """

    def __init__(self, reader: PairReader, head: Head, *, facts: Mapping[str, Value]) -> None:
        self._reader = reader
        self._head = head
        self.facts: Mapping[str, Value] = {
            "scorer": "cross-encoder",
            **facts,
            "dtype": reader.texts.dtype,
            "activation": "sigmoid",
            "max_length": reader.texts.max_length,
        }

    def score(self, pairs: Sequence[Pair], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score pairs."""
        scores = np.empty(len(pairs))
        truncated = np.empty(len(pairs), dtype=np.bool_)
        layers = self._head.layers.tolist()
        for rows, features, first, second in self._reader.read(pairs, progress):
            with torch.inference_mode():
                logits = self._head(features.to(self._head.mean.device), pad(first, layers), pad(second, layers))
            scores[rows] = torch.sigmoid(logits.double()).cpu().numpy()
            truncated[rows] = [one.truncated or other.truncated for one, other in zip(first, second, strict=True)]
            keep(rows, Scores(scores[rows], truncated[rows]))
        return Scores(scores, truncated)


def match(
    first: Tokens,
    second: Tokens,
    first_vectors: Tensor,
    second_vectors: Tensor,
    first_weights: Tensor | None = None,
    second_weights: Tensor | None = None,
) -> Tensor:
    """Match the tokens of n pairs.

    Args:
        first: Tokens of the one side, of length 1.
        second: Tokens of the other side.
        first_vectors: Shape (layers, n, dimensions), of length 1: one vector per text.
        second_vectors: Likewise.
        first_weights: Shape (layers, n, tokens): what a token's match counts; None for the same each.
        second_weights: Likewise.

    Returns:
        Shape (n, 5 · layers): per layer the cosine of the vectors, token matching as F1, the larger and the smaller of
        precision and recall, and the cosine of the worst matched token of either side.
    """
    similarity = first.values @ second.values.transpose(2, 3)
    similarity = similarity.masked_fill(~(first.own[:, :, None] & second.own[:, None, :]), -1.0)
    best, other_best = similarity.amax(3), similarity.amax(2)
    precision, recall = (
        (cosines * (own / own.sum(1, keepdim=True) if weights is None else weights)).sum(2)
        for cosines, own, weights in ((best, first.own, first_weights), (other_best, second.own, second_weights))
    )
    worst, other_worst = (
        cosines.masked_fill(~own, 1.0).amin(2) for cosines, own in ((best, first.own), (other_best, second.own))
    )
    columns = [
        (first_vectors * second_vectors).sum(-1),
        2 * precision * recall / (precision + recall).clamp(min=0.05),
        torch.maximum(precision, recall),
        torch.minimum(precision, recall),
        torch.minimum(worst, other_worst),
    ]
    return torch.stack(columns, dim=-1).transpose(0, 1).flatten(1)
