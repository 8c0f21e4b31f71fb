"""Questions and contexts as a model reads them: windows of tokens that know where they are in the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from qa_scoring.errors import parameter_error

LONGEST_WINDOW = 384  # tokens, as in the BERT paper's SQuAD script
OVERLAP = 128  # tokens


class Window(NamedTuple):
    """A question with a part of its context.

    Args:
        inputs: What the model takes: name → one number per token.
        null: Place of the token that stands for "no answer": [CLS], else the first token.
        first: Place of the first token of the context.
        tokens: How many tokens of the context.
        start: Which token of the whole context the first one is.
        offsets: First character and the one after the last of every token, in its own text.
        encoding: The tokenizer's, which knows words.
        context_side: 1 if the context comes second, as for most models; else 0.
    """

    inputs: dict[str, list[int]]
    null: int
    first: int
    tokens: int
    start: int
    offsets: list[tuple[int, int]]
    encoding: Any
    context_side: int


class WindowMaker:
    """Makes windows with a fast tokenizer.

    Args:
        tokenizer: A fast tokenizer of transformers.
        max_seq_len: Longest window, in tokens.
        doc_stride: Tokens that neighbouring windows share, at most half of the room that the question leaves.
        max_question_len: Longest question, in tokens, at most half of a window; the rest is cut.

    Raises:
        InputError: Windows of this length have no room for a context, or less than they are to share.
    """

    def __init__(self, tokenizer: Any, *, max_seq_len: int, doc_stride: int, max_question_len: int) -> None:
        if doc_stride >= max_seq_len:
            raise parameter_error("doc_stride", f"less than max_seq_len ({max_seq_len})", doc_stride)
        room = max_seq_len - tokenizer.num_special_tokens_to_add(pair=True)
        if room < 2:
            raise parameter_error("max_seq_len", f"at least {max_seq_len - room + 2} for this model", max_seq_len)
        self._tokenizer = tokenizer
        self._max_seq_len = max_seq_len
        self._doc_stride = doc_stride
        self._room = room
        self._max_question_len = min(max_question_len, room // 2)
        self._question_first = tokenizer.padding_side == "right"
        self._side = 1 if self._question_first else 0

    def make(self, questions: Sequence[str], contexts: Sequence[str]) -> list[list[Window]]:
        """Make the windows of n examples.

        Args:
            questions: n questions.
            contexts: n contexts.

        Returns:
            The windows of every example, in the order of the context; none where the context has no token.
        """
        windows: list[list[Window]] = [[] for _ in questions]
        shortened, lengths = self._shorten(questions)
        strides: dict[int, list[int]] = {}  # how much windows share → rows
        for row, length in enumerate(lengths):
            strides.setdefault(min(self._doc_stride, (self._room - length) // 2), []).append(row)
        for stride, rows in strides.items():
            texts = [shortened[row] for row in rows], [contexts[row] for row in rows]
            encoded = self._tokenizer(
                *(texts if self._question_first else texts[::-1]),
                truncation="only_second" if self._question_first else "only_first",
                max_length=self._max_seq_len,
                stride=stride,
                return_overflowing_tokens=True,
            )
            names = [name for name in self._tokenizer.model_input_names if name in encoded]
            parts: dict[int, list[int]] = {}
            for part, sample in enumerate(encoded["overflow_to_sample_mapping"]):
                parts.setdefault(rows[sample], []).append(part)
            for row, members in parts.items():
                if self._tokenizer.truncation_side == "left":  # which starts at the context's end
                    members.reverse()
                start = 0
                for part in members:
                    window = self._window({name: encoded[name][part] for name in names}, encoded.encodings[part], start)
                    if window.tokens:
                        windows[row].append(window)
                    start += window.tokens - stride
        return windows

    def _shorten(self, questions: Sequence[str]) -> tuple[list[str], list[int]]:
        """Cut questions that are too long; return them and their numbers of tokens."""
        shortened, lengths = list(questions), [0] * len(questions)
        rows = list(range(len(questions)))
        while rows:  # what is left of a word may become more tokens than it was
            encoded = self._tokenizer(
                [shortened[row] for row in rows],
                add_special_tokens=False,
                verbose=False,  # no warning of what is too long for the model
            )
            long = []
            for row, encoding in zip(rows, encoded.encodings, strict=True):
                lengths[row] = len(encoding.ids)
                if lengths[row] > self._max_question_len:
                    text = shortened[row]
                    shortened[row] = text[: min(encoding.offsets[self._max_question_len - 1][1], len(text) - 1)]
                    long.append(row)
            rows = long
        return shortened, lengths

    def _window(self, inputs: dict[str, list[int]], encoding: Any, start: int) -> Window:
        sides = encoding.sequence_ids
        count = sides.count(self._side)
        return Window(
            inputs=inputs,
            null=_null_place(self._tokenizer, encoding.ids, sides),
            first=sides.index(self._side) if count else 0,
            tokens=count,
            start=start,
            offsets=encoding.offsets,
            encoding=encoding,
            context_side=self._side,
        )


def _null_place(tokenizer: Any, ids: list[int], sides: list[int | None]) -> int:
    """Return where training scripts put questions without an answer: [CLS], else the start of the text."""
    added = [token if side is None else None for token, side in zip(ids, sides, strict=True)]  # texts may hold [CLS]
    for special in (tokenizer.cls_token_id, tokenizer.bos_token_id):
        if special is not None and special in added:
            return added.index(special)
    return 0
