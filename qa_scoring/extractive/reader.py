"""Reads many questions with one model: windows of similar length share batches, whatever example they come from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from qa_scoring.encoders.batching import token_batches
from qa_scoring.encoders.devices import check_running
from qa_scoring.encoders.hub import longest_input
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extractive.spans import AnswerSettings, Logits, Reading, check_finite, read_logits
from qa_scoring.extractive.windows import LONGEST_WINDOW, OVERLAP, Window, WindowMaker

Done = Callable[[int], object]
"""Is told how many more questions have been answered."""

_EXAMPLES_AT_ONCE = 256  # whose windows are sorted by length together; batches of 32 come from eight times as many
_CHARACTERS_AT_ONCE = 300_000  # of their contexts, whose windows take about 1 kB per character
# What a layer makes of more tokens leaves the processor's cache, and from 32 MB on is memory that glibc asks the system
# for anew each time: windows of SQuAD 32 at once take 1.2 times the processor time of 8 at once, more padding included
# (22.7M parameters, one thread).
_TOKENS_AT_ONCE_ON_CPU = 1536


class ExtractiveReader:
    """Finds answers with a model for extractive question answering.

    Args:
        model: A transformers model with a question-answering head.
        tokenizer: Its fast tokenizer.

    Raises:
        InputError: The model has no such head, or the tokenizer is slow.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        name = type(model).__name__
        if "ForQuestionAnswering" not in name:  # XLNet has an XLNetForQuestionAnsweringSimple
            raise InputError(
                f"The model is a {name}, which has no question-answering head. Use one that was trained for extractive "
                f"question answering (a ...ForQuestionAnswering)."
            )
        if tokenizer is None:
            raise InputError("A model needs its tokenizer: pass tokenizer=..., or the model's Hub id or folder.")
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                f"The tokenizer {type(tokenizer).__name__} does not say where in the text its tokens are. Use a fast "
                f"one (with a tokenizer.json)."
            )
        self.model = model
        self.tokenizer = tokenizer
        self._takes = set(inspect.signature(model.forward).parameters)

    def read(
        self,
        questions: Sequence[str],
        contexts: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        first_row: int = 0,
        settings: AnswerSettings = AnswerSettings(),  # noqa: B008 - frozen
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        max_question_len: int = 64,
        batch_size: int | None = None,
        done: Done | None = None,
    ) -> Iterator[Reading]:
        """Answer questions.

        Args:
            questions: n questions, none empty.
            contexts: n contexts, none empty.
            ids: n ids, for messages; None numbers the rows.
            first_row: The number of the first row, for messages.
            settings: How answers are chosen.
            max_seq_len: Longest window of question and context, in tokens; None takes 384, or what the model can read.
            doc_stride: Tokens that neighbouring windows share; None takes 128, or half a window.
            max_question_len: Longest question, in tokens; the rest is cut.
            batch_size: Windows per batch, which a CPU reads in parts where they are long; None fills batches by tokens.
            done: Is told of every part of the work that is done.

        Yields:
            One reading per question, in order.

        Raises:
            InputError: A row cannot be read, an argument is wrong, or the model gives no numbers.
        """
        rows = range(first_row, first_row + len(questions))
        names = [f"row {row}" for row in rows] if ids is None else [f"id {key!r}" for key in ids]
        for name, question, context in zip(names, questions, contexts, strict=True):
            for what, text in (("question", question), ("context", context)):
                if not isinstance(text, str):
                    raise InputError(f"{name}: the {what} must be a string; got {type(text).__name__}.")
                if not text.strip():
                    raise InputError(f"{name}: the {what} is empty. Leave the row out, or give it a {what}.")
                try:
                    text.encode()
                except UnicodeEncodeError:  # which tokenizers refuse
                    raise InputError(f"{name}: the {what} is not valid Unicode (half a surrogate pair).") from None
        maker = self._maker(max_seq_len, doc_stride, max_question_len)
        check_running(None, batch_size, None)
        return self._read(questions, contexts, names, settings, maker, batch_size, done)

    def _read(
        self,
        questions: Sequence[str],
        contexts: Sequence[str],
        names: Sequence[str],
        settings: AnswerSettings,
        maker: WindowMaker,
        batch_size: int | None,
        done: Done | None,
    ) -> Iterator[Reading]:
        self.model.eval()
        for rows in _parts([len(context) for context in contexts], max(_EXAMPLES_AT_ONCE, 8 * (batch_size or 1))):
            made = maker.make([questions[row] for row in rows], [contexts[row] for row in rows])
            flat = [(place, window) for place, windows in enumerate(made) for window in windows]
            logits: list[Logits | None] = [None] * len(flat)
            left = [len(windows) for windows in made]
            lengths = [len(window.inputs["input_ids"]) for _, window in flat]
            if done is not None:
                done(left.count(0))
            for batch in _batches(lengths, batch_size, self.model.device.type):
                found = self._logits([flat[number][1] for number in batch])
                for number, one in zip(batch, found, strict=True):
                    place = flat[number][0]
                    check_finite(one, names[rows[place]])
                    logits[number] = one
                    left[place] -= 1
                    if done is not None and not left[place]:
                        done(1)
            first = 0
            for row, windows in zip(rows, made, strict=True):
                own = [one for one in logits[first : first + len(windows)] if one is not None]
                first += len(windows)
                yield read_logits(contexts[row], windows, own, settings)

    def _logits(self, windows: Sequence[Window]) -> list[Logits]:
        """Run the model over one batch."""
        tokenizer, device = self.tokenizer, self.model.device
        longest = max(len(window.inputs["input_ids"]) for window in windows)
        padding = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id}
        inputs = {}
        for name in windows[0].inputs:
            # a tokenizer may give token types that its model has no use for
            if "input_ids" in self._takes and name not in self._takes:
                continue
            filled = np.full((len(windows), longest), padding.get(name, 0))  # an eighth of the time of torch's
            for row, window in enumerate(windows):
                values = window.inputs[name]
                filled[row, : len(values)] = values  # on the right for all: no token moves to another position
            inputs[name] = torch.from_numpy(filled).to(device)
        with torch.inference_mode():
            output = self.model(**inputs, return_dict=True)
        if "start_logits" not in output:
            raise InputError(
                f"The model, a {type(self.model).__name__}, gives no start and end logits. Use a model that points at "
                f"the first and last token of the answer."
            )
        starts, ends = (output[name].double().cpu().numpy() for name in ("start_logits", "end_logits"))
        logits = []
        for row, window in enumerate(windows):
            length = len(window.inputs["input_ids"])
            logits.append(Logits(starts[row, :length], ends[row, :length]))
        return logits

    def _maker(self, max_seq_len: int | None, doc_stride: int | None, max_question_len: int) -> WindowMaker:
        arguments = {"max_seq_len": max_seq_len, "doc_stride": doc_stride, "max_question_len": max_question_len}
        for name, value in arguments.items():
            least = 0 if name == "doc_stride" else 1
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise parameter_error(name, f"an integer of at least {least}", value)
        positions = longest_input(self.model)
        longest = min(self.tokenizer.model_max_length, positions or self.tokenizer.model_max_length)
        if max_seq_len is None:
            max_seq_len = min(longest, LONGEST_WINDOW)
        elif max_seq_len > longest:
            raise parameter_error("max_seq_len", f"at most {longest}, what the model can read", max_seq_len)
        if doc_stride is None:
            doc_stride = min(max_seq_len // 2, OVERLAP)
        return WindowMaker(
            self.tokenizer, max_seq_len=max_seq_len, doc_stride=doc_stride, max_question_len=max_question_len
        )


def _parts(lengths: Sequence[int], most: int) -> Iterator[range]:
    """Split rows into runs of at most so many rows and, unless a row alone is longer, ``_CHARACTERS_AT_ONCE``."""
    first = total = 0
    for row, length in enumerate(lengths):
        if row > first and (row - first == most or total + length > _CHARACTERS_AT_ONCE):
            yield range(first, row)
            first, total = row, 0
        total += length
    if lengths:
        yield range(first, len(lengths))


def _batches(lengths: Sequence[int], batch_size: int | None, device: str) -> Iterator[list[int]]:
    """Yield rows of similar length, no more than asked for, and on a CPU no more tokens than it holds close."""
    if device != "cpu":
        yield from token_batches(lengths, batch_size, device=device)
        return
    for batch in token_batches(lengths, batch_size or len(lengths) or 1, device=device):
        count = 0
        while count < len(batch):
            most = max(1, _TOKENS_AT_ONCE_ON_CPU // lengths[batch[count]])
            yield batch[count : count + most]
            count += most
