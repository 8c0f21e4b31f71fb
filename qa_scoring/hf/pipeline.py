"""The question-answering pipeline, as a pipeline of transformers."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import Any

import transformers

from qa_scoring.compat import TASK
from qa_scoring.errors import InputError, shorten
from qa_scoring.extractive.reader import ExtractiveReader
from qa_scoring.extractive.spans import AnswerSettings, Reading

ANSWER_OPTIONS = tuple(field.name for field in fields(AnswerSettings))
WINDOW_OPTIONS = ("max_seq_len", "doc_stride", "max_question_len")

_FORMS = "question=... and context=..., a dict with both, or a list of such dicts"


_Pipeline: Any = transformers.Pipeline  # whose types allow no attribute of a subclass


class QuestionAnsweringPipeline(_Pipeline):  # type: ignore[misc]
    """Finds the answer to a question in a context, with any model for extractive question answering.

    Made by ``transformers.pipeline("question-answering", model=...)`` on transformers 5.3 and later, once a metric of
    this package is loaded or ``qa_scoring.hf.enabling.enable()`` was called; or with a model and its tokenizer.

    Args:
        model: A model with a question-answering head.
        tokenizer: Its fast tokenizer.
        task: Its name.
        **options: What every pipeline takes (``device``, ``batch_size``, ...), and the options of a call, as defaults:
            ``top_k`` (1), ``n_best`` (20), ``max_answer_len`` (15), ``handle_impossible_answer`` (False),
            ``null_threshold`` (None), ``align_to_words`` (None: where words have spaces between them), ``max_seq_len``
            (384, or what the model can read), ``doc_stride`` (128, or half a window), ``max_question_len`` (64).

    Raises:
        InputError: The model has no such head, the tokenizer is slow, or an option is not known.
    """

    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False
    _load_tokenizer = True
    default_input_names = "question,context"

    def __init__(self, model: Any, tokenizer: Any = None, *, task: str = TASK, **options: Any) -> None:
        reader = ExtractiveReader(model, tokenizer)
        super().__init__(model=model, tokenizer=tokenizer, task=task, **options)
        self.reader = reader

    def __call__(
        self, *inputs: Any, batch_size: int | None = None, num_workers: int | None = None, **options: Any
    ) -> Any:
        """Answer one or more questions.

        Args:
            *inputs: A dict with ``question`` and ``context``, a list of them, a generator or data set of them, or two
                strings; or none, with the keywords ``question`` and ``context``, strings or lists.
            batch_size: Windows per batch; default: batches of about the same number of tokens.
            num_workers: Without effect.
            **options: As in the class.

        Returns:
            For one question a dict, for a list of questions a list of dicts, for a generator or data set an iterator:
            ``answer`` (``context[start:end]``; ``""`` for "no answer"), ``score``, ``start``, ``end``,
            ``no_answer_probability``, ``null_odds`` and ``n_best``. With ``top_k`` above 1 a list of dicts in place
            of each dict.

        Raises:
            InputError: A question or context is empty or no string, or an option is wrong.
        """
        asked: Any = options.pop("question", None), options.pop("context", None)
        examples, form = _examples(inputs, *asked)
        _, parameters, _ = self._sanitize_parameters(**options)
        parameters = {**self._forward_params, **parameters, "batch_size": batch_size or self._batch_size}
        if form == "stream":
            return self._stream(examples, parameters)
        results = self._answer(examples, parameters)
        return results[0] if form == "one" else results

    def _sanitize_parameters(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        reader_arguments(options)  # says what is wrong with them
        return {}, options, {}

    def _stream(self, examples: Iterable[Any], parameters: Mapping[str, Any]) -> Iterator[Any]:
        """Answer as many at a time as share batches."""
        stream, done = iter(examples), 0
        while part := list(islice(stream, 256)):
            yield from self._answer(part, parameters, done)
            done += len(part)

    def _answer(self, examples: list[Any], parameters: Mapping[str, Any], first: int = 0) -> list[Any]:
        pairs = [_pair(example, row) for row, example in enumerate(examples, first)]
        readings = self.reader.read(
            [question for question, _ in pairs],
            [context for _, context in pairs],
            first_row=first,
            **reader_arguments(parameters),
        )
        top_k = parameters.get("top_k", 1)
        return [answers[0] if top_k == 1 else answers for answers in (reading.dicts() for reading in readings)]

    # One example through the three steps of every pipeline.

    def preprocess(self, example: Any, **_: Any) -> tuple[str, str]:
        """Return the question and the context of an example."""
        return _pair(example, 0)

    def _forward(self, example: tuple[str, str], **parameters: Any) -> Reading:
        question, context = example
        return next(self.reader.read([question], [context], **reader_arguments(parameters)))

    def postprocess(self, reading: Reading, **_: Any) -> list[dict[str, Any]]:
        """Return the answers of a reading as dicts."""
        return reading.dicts()


def reader_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Put the options of a pipeline into the arguments of ``ExtractiveReader.read``.

    Args:
        options: Any of ``ANSWER_OPTIONS``, ``WINDOW_OPTIONS`` and ``batch_size``; ``padding``, which the pipeline of
            transformers 4 took, has no effect.

    Returns:
        The arguments.

    Raises:
        InputError: An option is not known, or not what it must be.

    Example:
        >>> reader_arguments({"top_k": 2, "max_seq_len": 128})["settings"].top_k
        2
    """
    for name, value in options.items():
        if name not in (*ANSWER_OPTIONS, *WINDOW_OPTIONS, "batch_size", "padding"):
            known = ", ".join((*ANSWER_OPTIONS, *WINDOW_OPTIONS))
            raise InputError(f"Unknown argument {name!r} = {shorten(value)}. The pipeline knows {known}.")
    settings = AnswerSettings(**{name: options[name] for name in ANSWER_OPTIONS if name in options})
    windows = {name: options[name] for name in WINDOW_OPTIONS if name in options}
    return {"settings": settings, "batch_size": options.get("batch_size"), **windows}


def _examples(inputs: tuple[Any, ...], question: Any, context: Any) -> tuple[Any, str]:
    """Return the examples, and whether they are one, a list or a stream."""
    if inputs and (question is not None or context is not None):
        raise InputError(f"Pass {_FORMS}, not several of them.")
    if len(inputs) == 2 and all(isinstance(text, str) for text in inputs):
        question, context = inputs
    elif len(inputs) == 1:
        given = inputs[0]
        if isinstance(given, (list, tuple)):
            return list(given), "list"
        if isinstance(given, Mapping) or hasattr(given, "question_text"):
            return [given], "one"
        if isinstance(given, types.GeneratorType) or (hasattr(given, "__getitem__") and not isinstance(given, str)):
            return given, "stream"
        raise InputError(f"Pass {_FORMS}; got {shorten(given)}.")
    elif inputs or question is None or context is None:
        raise InputError(f"Pass {_FORMS}; got {shorten(inputs or {'question': question, 'context': context})}.")
    if isinstance(question, str) and isinstance(context, str):
        return [{"question": question, "context": context}], "one"
    if isinstance(question, str):
        raise InputError("One question needs one context; got a list of contexts. Pass a list of questions too.")
    questions = list(question)
    contexts = [context] * len(questions) if isinstance(context, str) else list(context)
    if len(questions) != len(contexts):
        raise InputError(f"There are {len(questions)} questions and {len(contexts)} contexts; give one per question.")
    return [{"question": one, "context": other} for one, other in zip(questions, contexts, strict=True)], "list"


def _pair(example: Any, row: int) -> tuple[Any, Any]:
    if hasattr(example, "question_text"):  # transformers 4's SquadExample
        return example.question_text, example.context_text
    if not isinstance(example, Mapping) or "question" not in example or "context" not in example:
        raise InputError(f"row {row}: expected a dict with 'question' and 'context'; got {shorten(example)}.")
    return example["question"], example["context"]
