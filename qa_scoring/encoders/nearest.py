"""Texts that mean nearly the same."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from qa_scoring.encoders.reading import TextReader
from qa_scoring.encoders.scorers import Nearest, Progress, no_progress

_TEXTS_AT_ONCE = 1000
_NEAREST = 20
_NEAR = 0.9  # references of a higher cosine are taken for spellings of the same


def nearest_texts(reader: TextReader, texts: Sequence[str], progress: Progress = no_progress) -> Nearest:
    """Find, for every text, those that mean nearly the same.

    Args:
        reader: Encodes them.
        texts: n distinct texts.
        progress: Wraps the work, for a progress bar.

    Returns:
        For every text up to twenty others, nearest first, by the cosine of the mean vectors of the last layer;
        those with a cosine of 0.9 or more are left out.
    """
    vectors = []
    for start in progress(range(0, len(texts), _TEXTS_AT_ONCE)):
        part = texts[start : start + _TEXTS_AT_ONCE]
        states = reader.encode(part)
        vectors.append(torch.stack([states[text].mean[-1] for text in part]))
    matrix = torch.cat(vectors)
    found: dict[str, list[str]] = {}
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        best = (matrix[start : start + _TEXTS_AT_ONCE] @ matrix.T).topk(min(2 * _NEAREST, len(texts)))
        for text, cosines, places in zip(texts[start:], best.values.tolist(), best.indices.tolist(), strict=False):
            near = [texts[place] for cosine, place in zip(cosines, places, strict=True) if cosine < _NEAR]
            found[text] = near[:_NEAREST]
    return found
