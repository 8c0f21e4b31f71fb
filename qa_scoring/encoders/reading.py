"""Texts as an encoder reads them: the states of their tokens, in every layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from qa_scoring.encoders.batching import token_batches
from qa_scoring.encoders.scorers import Texts

ITEMS_AT_ONCE = 1024
_TOKENS_AT_ONCE = 32_768  # whose states of all layers are kept: about 350 MB for seven layers of 384 dimensions


class TextStates(NamedTuple):
    """What the encoder makes of a text.

    Args:
        tokens: Shape (layers, tokens, dimensions), of length 1: the text's own tokens, in the embeddings and in the
            output of every layer.
        mean: Shape (layers, dimensions), of length 1: the mean over all tokens, [CLS] and [SEP] included.
        truncated: Whether the text was cut.
    """

    tokens: Tensor
    mean: Tensor
    truncated: bool


class Tokens(NamedTuple):
    """The tokens of n texts.

    Args:
        values: Shape (layers, n, tokens, dimensions), padded.
        own: Shape (n, tokens), which of them are there.
    """

    values: Tensor
    own: Tensor


class TextReader:
    """Reads texts with an encoder.

    Args:
        encoder: A transformers encoder, in evaluation mode.
        tokenizer: Its fast tokenizer.
        max_length: Longest text, in tokens.
        batch_size: Texts per batch; None fills batches by tokens.
    """

    def __init__(self, encoder: Any, tokenizer: Any, *, max_length: int, batch_size: int | None = None) -> None:
        self._encoder = encoder
        self._tokenizer = tokenizer
        self.batch_size = batch_size
        self.max_length = max_length
        self.device: str = encoder.device.type
        self.dtype = str(encoder.dtype).removeprefix("torch.")
        self.layers: int = encoder.config.num_hidden_layers + 1
        self.dimensions: int = encoder.config.hidden_size

    def encode(self, texts: Sequence[str]) -> dict[str, TextStates]:
        """Encode distinct texts.

        Args:
            texts: The texts.

        Returns:
            Their states.
        """
        encoded = self._tokenizer(list(texts), truncation=True, max_length=self.max_length)
        cut = [bool(encoding.overflowing) for encoding in encoded.encodings]
        lengths = [len(ids) for ids in encoded["input_ids"]]
        states: dict[str, TextStates] = {}
        for rows in token_batches(lengths, self.batch_size, device=self.device):
            batch = self._tokenizer.pad(
                {name: [encoded[name][row] for row in rows] for name in encoded}, return_tensors="pt"
            ).to(self._encoder.device)
            with torch.inference_mode():
                layers = torch.stack(self._encoder(**batch, output_hidden_states=True).hidden_states).float()
            for place, row in enumerate(rows):
                own = layers[:, place, : lengths[row]]
                # a text of control characters only has no tokens of its own: its [SEP] stands for it
                tokens = own[:, 1:-1] if lengths[row] > 2 else own[:, 1:]
                states[texts[row]] = TextStates(
                    functional.normalize(tokens, dim=-1), functional.normalize(own.mean(1), dim=-1), cut[row]
                )
        return states

    def parts(self, items: Sequence[Texts]) -> Iterator[list[int]]:
        """Put items into parts whose states fit into memory.

        Args:
            items: Texts that are read together.

        Yields:
            Rows, in order.
        """
        part: list[int] = []
        tokens = 0
        for row, item in enumerate(items):
            longest = sum(min(self.max_length, len(text.encode()) + 2) for text in item)
            if part and (len(part) == ITEMS_AT_ONCE or tokens + longest > _TOKENS_AT_ONCE):
                yield part
                part, tokens = [], 0
            part.append(row)
            tokens += longest
        if part:
            yield part


def pad(texts: Sequence[TextStates], layers: Sequence[int] | None = None) -> Tokens:
    """Put the tokens of texts into one tensor.

    Args:
        texts: The texts.
        layers: Which layers; None for all.

    Returns:
        The tokens, padded to the longest.
    """
    chosen = [text.tokens if layers is None else text.tokens[layers] for text in texts]
    values = nn.utils.rnn.pad_sequence([tokens.transpose(0, 1) for tokens in chosen], batch_first=True)
    lengths = torch.tensor([tokens.shape[1] for tokens in chosen], device=values.device)
    own = torch.arange(values.shape[1], device=values.device)[None] < lengths[:, None]
    return Tokens(values.permute(2, 0, 1, 3), own)
