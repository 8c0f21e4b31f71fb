"""``evaluate.evaluator("question-answering")``: one pass of a model, one or more metrics."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import datasets
import evaluate
import numpy as np
import transformers
from evaluate.evaluator.question_answering import QuestionAnsweringEvaluator as StockEvaluator
from tqdm import tqdm

from qa_scoring.compat import DEFAULT_MODEL
from qa_scoring.encoders.devices import choose_device
from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.extractive.examples import Examples, make_examples, read_example_file
from qa_scoring.extractive.loading import load_reader
from qa_scoring.extractive.prediction_files import write_predictions
from qa_scoring.extractive.reader import ExtractiveReader
from qa_scoring.hf.pipeline import QuestionAnsweringPipeline, reader_arguments
from qa_scoring.records import read_references
from qa_scoring.rows import DEFAULT_SEED, check_statistics
from qa_scoring.statistics.bootstrap import FloatArray, percentile_interval, resampled_rows

STRATEGIES = ("simple", "bootstrap")
_WEIGHTS_AT_ONCE = 32  # resamples whose weights are together: for 12,000 rows 3 MB, which stays in a processor's cache


class QuestionAnsweringEvaluator(StockEvaluator):  # type: ignore[misc]
    """Evaluates models for extractive question answering.

    ``METRIC_KWARGS`` are passed to the metric and ``PIPELINE_KWARGS`` to the pipeline (``max_answer_len``,
    ``null_threshold``, ...); both belong to this evaluator alone.
    """

    def __init__(self, task: str = "question-answering", default_metric_name: str | None = None) -> None:
        super().__init__(task, default_metric_name=default_metric_name)
        self.METRIC_KWARGS: dict[str, Any] = {}
        self.PIPELINE_KWARGS: dict[str, Any] = {}

    def compute(
        self,
        model_or_pipeline: Any = None,
        data: str | os.PathLike[str] | datasets.Dataset | None = None,
        subset: str | None = None,
        split: str | None = None,
        metric: Any = None,
        tokenizer: Any = None,
        strategy: str = "simple",
        confidence_level: float = 0.95,
        n_resamples: int = 9999,
        device: int | str | None = None,
        random_state: int | None = None,
        question_column: str = "question",
        context_column: str = "context",
        id_column: str = "id",
        label_column: str = "answers",
        squad_v2_format: bool | None = None,
        *,
        batch_size: int | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        return_predictions: bool = False,
        output_dir: str | os.PathLike[str] | None = None,
        progress_bar: bool = True,
    ) -> dict[str, Any]:
        """Answer the questions of a data set and score the answers.

        Args:
            model_or_pipeline: A Hub id or local folder; a model (with ``tokenizer``); a pipeline; or any function that
                takes the lists ``question`` and ``context`` and returns one dict per question with ``answer`` and, as
                far as it knows them, ``score``, ``no_answer_probability`` and ``null_odds``. None takes transformers'
                default model.
            data: A ``Dataset``, a Hub id, or a file: SQuAD JSON, JSON Lines, CSV, Parquet.
            subset: Configuration of a data set on the Hub.
            split: Split of a data set on the Hub.
            metric: A metric or its name, a list of them, or what ``evaluate.combine`` gives. Keys that several metrics
                have get the metric's name in front.
            tokenizer: The tokenizer, or its name, of a model.
            strategy: ``"simple"``; or ``"bootstrap"``, which draws rows again and gives for every key ``score``,
                ``confidence_interval`` and ``standard_error``.
            confidence_level: Coverage of the interval, between 0 and 1.
            n_resamples: Resamples of the bootstrap.
            device: ``"cuda"``, ``"mps"``, ``"cpu"``, or a number as in evaluate: -1 is the CPU. None takes the first
                that is there, or leaves a model where it is.
            random_state: Seed of the bootstrap; None takes 42.
            question_column: Name of the questions.
            context_column: Name of the contexts.
            id_column: Name of the ids.
            label_column: Name of the answers.
            squad_v2_format: Whether there are questions without an answer: "no answer" is then one of the answers, and
                its probability goes to the metric. None looks.
            batch_size: Windows per batch; None fills batches by tokens.
            dtype: ``"float32"``, ``"bfloat16"`` or ``"float16"``, of a model that is loaded by name.
            revision: Branch, tag or commit of a model on the Hub.
            return_predictions: Whether to add ``predictions``, one dict per question.
            output_dir: A folder for ``predictions.json``, ``nbest_predictions.json`` and ``null_odds.json``, as the
                SQuAD script writes them. They are written before the metrics are computed.
            progress_bar: Whether to show progress on standard error, if that is a terminal.

        Returns:
            What the metrics give, and the times: ``total_time_in_seconds``, ``samples_per_second`` and
            ``latency_in_seconds``, of the model alone.

        Raises:
            InputError: An argument, a row or the model is not what it must be.
        """
        if strategy not in STRATEGIES:
            raise parameter_error("strategy", " or ".join(map(repr, STRATEGIES)), strategy)
        seed = DEFAULT_SEED if random_state is None else random_state
        check_statistics(confidence_level, n_resamples, seed)
        columns = {"question": question_column, "context": context_column, "id": id_column, "label": label_column}
        examples = self._examples(data, subset, split, {f"{name}_column": column for name, column in columns.items()})
        references = read_references(examples.answers).answers
        if squad_v2_format is None:
            squad_v2_format = not all(references)
        metrics = self._metrics(metric)
        arguments = self._metric_arguments(metrics)
        self._warn_of_formats(metrics, squad_v2_format, references)
        answerer = self._answerer(model_or_pipeline, tokenizer, device, dtype, revision)
        options = {"handle_impossible_answer": squad_v2_format, **self.PIPELINE_KWARGS}
        began = perf_counter()
        predictions = _answers(answerer, examples, options, self.PIPELINE_KWARGS, batch_size, progress_bar)
        times = self._compute_time_perf(began, perf_counter(), len(examples))
        if output_dir is not None:
            write_predictions(Path(output_dir), predictions)
        records = self.predictions_processor(predictions, squad_v2_format, examples.ids)["predictions"]
        results, figures = [], []
        for module, keywords in zip(metrics, arguments, strict=True):
            inputs = _metric_inputs(module, records, references, examples)
            result = module.compute(**inputs, **keywords)
            results.append(result)
            if strategy == "bootstrap":
                resample = {"n_resamples": n_resamples, "seed": seed}
                drawn = _resampled(module, inputs, keywords, progress_bar=progress_bar, **resample)
                figures.append(_with_intervals(result, drawn, confidence_level))
        shown = figures if strategy == "bootstrap" else results
        # evaluate's own rule for keys that several metrics have
        merged = shown[0] if len(shown) == 1 else _combined(metric, metrics)._merge_results(shown)
        if return_predictions:
            merged = {**merged, "predictions": predictions}
        return {**merged, **times}

    def predictions_processor(
        self, predictions: Sequence[Mapping[str, Any]], squad_v2_format: bool, ids: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Put answers into the form of the SQuAD metrics.

        Args:
            predictions: n dicts with ``answer`` and, in all or none, ``no_answer_probability``.
            squad_v2_format: Whether to pass these probabilities on.
            ids: n ids.

        Returns:
            ``predictions``: n records.
        """
        records = [{"id": key, "prediction_text": row["answer"]} for key, row in zip(ids, predictions, strict=True)]
        if squad_v2_format and all(row.get("no_answer_probability") is not None for row in predictions):
            for record, row in zip(records, predictions, strict=True):
                record["no_answer_probability"] = row["no_answer_probability"]
        return {"predictions": records}

    def _examples(self, data: Any, subset: str | None, split: str | None, columns: dict[str, str]) -> Examples:
        if isinstance(data, (str, os.PathLike)) and Path(data).is_file():
            examples = read_example_file(os.fspath(data), **columns)
        elif isinstance(data, os.PathLike) or (isinstance(data, str) and Path(data).suffix in (".json", ".jsonl")):
            raise InputError(f"There is no file {data}.")
        else:
            if isinstance(data, datasets.DatasetDict):
                raise InputError(f"data has the splits {', '.join(data)}; pass one of them, such as data[...].")
            if not isinstance(data, (str, datasets.Dataset)):
                raise parameter_error("data", "a Dataset, a Hub id, or a file", data)
            table = self.load_data(data, subset=subset, split=split)
            examples = make_examples({name: table[name] for name in table.column_names}, **columns)
        if examples.answers is None:
            raise InputError(f"The data has no column {columns['label_column']!r} to score against.")
        return examples

    def _answerer(self, model: Any, tokenizer: Any, device: Any, dtype: str | None, revision: str | None) -> Any:
        """Return a reader for a model or a pipeline of ours; else the pipeline or function itself."""
        if model is None or isinstance(model, (str, os.PathLike)):
            name, revision = DEFAULT_MODEL if model is None else (os.fspath(model), revision)
            words = tokenizer if isinstance(tokenizer, str) else None
            reader = load_reader(name, tokenizer=words, revision=revision, device=_device(device), dtype=dtype)
            return reader if tokenizer is None or words is not None else ExtractiveReader(reader.model, tokenizer)
        for name, value in (("dtype", dtype), ("revision", revision)):
            if value is not None:
                raise InputError(
                    f"The argument {name!r} is for models that are loaded by name; got a {type(model).__name__}."
                )
        if isinstance(model, transformers.Pipeline):
            if isinstance(device, int):
                self.check_for_mismatch_in_device_setup(device, model)
            if model.task != self.task:
                raise InputError(f"The pipeline is for {model.task!r}; expected one for {self.task!r}.")
            return model
        if isinstance(model, transformers.PreTrainedModel) or hasattr(model, "peft_config"):
            if isinstance(tokenizer, str):
                tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
            reader = ExtractiveReader(model, tokenizer)
            if device is not None:
                model.to(choose_device(_device(device)))
            return reader
        if not callable(model):
            raise parameter_error("model_or_pipeline", "a model, a Hub id, a folder, a pipeline or a function", model)
        return model

    def _metrics(self, metric: Any) -> list[Any]:
        if isinstance(metric, evaluate.CombinedEvaluations):
            return list(metric.evaluation_modules)
        chosen = list(metric) if isinstance(metric, (list, tuple)) else [metric]
        if not chosen:
            raise parameter_error("metric", "a metric or a list of at least one", metric)
        return [self.prepare_metric(one) for one in chosen]

    def _metric_arguments(self, metrics: Sequence[Any]) -> list[dict[str, Any]]:
        """Give every metric the keywords that it has, before the model runs; one must belong to at least one metric."""
        known = [_keywords(module) for module in metrics]
        for name in self.METRIC_KWARGS:
            if not any(names is None or name in names for names in known):
                listed = "; ".join(f"{m.name}: {', '.join(n or ())}" for m, n in zip(metrics, known, strict=True))
                raise InputError(f"METRIC_KWARGS: no metric knows {name!r} ({listed}).")
        arguments = [
            {name: value for name, value in self.METRIC_KWARGS.items() if names is None or name in names}
            for names in known
        ]
        for module, keywords in zip(metrics, arguments, strict=True):
            if _keeps_rows(module):
                module._check(**keywords)
        return arguments

    def _warn_of_formats(self, metrics: Sequence[Any], squad_v2_format: bool, references: list[list[str]]) -> None:
        names = {module.name for module in metrics}
        if "squad" in names and not all(references):
            warnings.warn(
                "The data has questions without an answer, which the metric 'squad' scores as wrong whatever the "
                "prediction; pass metric='squad_v2' or m2qa_squad_v2.",
                stacklevel=3,
            )


def _device(device: int | str | None) -> str | None:
    """Return a device of evaluate's numbers as torch names it."""
    if device is None or isinstance(device, str):
        return device
    return "cpu" if device < 0 else f"cuda:{device}"


def _answers(
    answerer: Any,
    examples: Examples,
    options: Mapping[str, Any],
    own_options: Mapping[str, Any],
    batch_size: int | None,
    progress_bar: bool,
) -> list[dict[str, Any]]:
    """Return one dict per question, with its id."""
    if isinstance(answerer, QuestionAnsweringPipeline):
        options = {**answerer._forward_params, **options}
        batch_size = batch_size or answerer._batch_size
        answerer = answerer.reader
    if isinstance(answerer, ExtractiveReader):
        arguments = reader_arguments({**options, "batch_size": batch_size})
        with tqdm(total=len(examples), desc="answering", disable=None if progress_bar else True) as bar:
            readings = answerer.read(
                examples.questions, examples.contexts, ids=examples.ids, done=bar.update, **arguments
            )
            answers: Iterable[Any] = [reading.dicts()[0] for reading in readings]
    else:
        is_pipeline = isinstance(answerer, transformers.Pipeline)
        sizes = {"batch_size": batch_size} if is_pipeline and batch_size is not None else {}
        given = options if is_pipeline else own_options
        answers = answerer(question=examples.questions, context=examples.contexts, **given, **sizes)
        answers = [answers] if isinstance(answers, Mapping) and len(examples) == 1 else answers
    return [_checked(answer, key) for answer, key in zip(_listed(answers, len(examples)), examples.ids, strict=True)]


def _listed(answers: Any, count: int) -> list[Any]:
    found = list(answers) if isinstance(answers, Iterable) and not isinstance(answers, (str, Mapping)) else None
    if found is None or len(found) != count:
        got = f"{len(found)} answers" if found is not None else shorten(answers)
        raise InputError(f"The function must return a list with one dict per question, {count} in all; got {got}.")
    return found


def _checked(answer: Any, key: str) -> dict[str, Any]:
    if isinstance(answer, (list, tuple)) and answer:  # top_k above 1: the surest
        answer = answer[0]
    if not isinstance(answer, Mapping) or not isinstance(answer.get("answer"), str):
        raise InputError(f"id {key!r}: expected a dict with the string 'answer'; got {shorten(answer)}.")
    return {"id": key, **answer}


# --------------------------------------------------------------------------------------------- metrics


def _keywords(module: Any) -> list[str] | None:
    """Return the arguments of a metric; None if it takes any."""
    parameters = inspect.signature(module._compute).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters if parameter.name not in module._feature_names()]


def _keeps_rows(module: Any) -> bool:
    """Whether a metric is one of this package."""
    return hasattr(module, "scored")


def _combined(metric: Any, metrics: list[Any]) -> Any:
    return metric if isinstance(metric, evaluate.CombinedEvaluations) else evaluate.combine(metrics)


def _metric_inputs(
    module: Any, records: list[dict[str, Any]], references: list[list[str]], examples: Examples
) -> dict[str, Any]:
    """Return predictions and references in SQuAD's form, with what else the metric reads."""
    if not _keeps_rows(module):  # evaluate's squad refuses probabilities, its squad_v2 demands them
        forms = module.features if isinstance(module.features, list) else [module.features]
        wanted = any("no_answer_probability" in str(form.get("predictions")) for form in forms)
        names = ("id", "prediction_text", *(("no_answer_probability",) if wanted else ()))
        # what was decided, where nothing else is known
        records = [{"no_answer_probability": float(not row["prediction_text"]), **row} for row in records]
        records = [{name: row[name] for name in names} for row in records]
    inputs: dict[str, Any] = {
        "predictions": records,
        "references": [
            {"id": key, "answers": {"text": texts, "answer_start": [0] * len(texts)}}
            for key, texts in zip(examples.ids, references, strict=True)
        ],
    }
    if getattr(module, "reads_questions", False):
        inputs["questions"] = examples.questions
    return inputs


def _resampled(
    module: Any,
    inputs: Mapping[str, Any],
    keywords: Mapping[str, Any],
    *,
    n_resamples: int,
    seed: int,
    progress_bar: bool,
) -> dict[str, FloatArray]:
    """Return the figures of every resample of the rows: name → shape (n_resamples,), NaN where there is none."""
    count = len(inputs["references"])
    draws = resampled_rows(count, n_resamples=n_resamples, seed=seed)
    if _keeps_rows(module):
        reweighted = module.scored().reweighted
        parts = [
            reweighted(np.array([np.bincount(row, minlength=count) for row in rows], dtype=np.float64))
            for drawn in draws
            for rows in np.array_split(drawn, range(_WEIGHTS_AT_ONCE, len(drawn), _WEIGHTS_AT_ONCE))
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    values: dict[str, FloatArray] = {}
    with tqdm(total=n_resamples, desc="bootstrap", disable=None if progress_bar else True) as bar:
        for number, row in enumerate(row for drawn in draws for row in drawn):
            picked = {
                # a row that is drawn twice is two rows
                name: [{**column[place], "id": str(new)} for new, place in enumerate(row.tolist())]
                for name, column in inputs.items()
            }
            for name, value in module.compute(**picked, **keywords).items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    values.setdefault(name, np.full(n_resamples, np.nan))[number] = value
            bar.update()
    return values


def _with_intervals(
    result: Mapping[str, Any], drawn: Mapping[str, FloatArray], confidence_level: float
) -> dict[str, dict[str, Any]]:
    """Return the score of every key with its interval and standard error; None where rows cannot be drawn for it."""
    figures = {}
    for name, value in result.items():
        known = drawn[name][~np.isnan(drawn[name])] if name in drawn else np.empty(0)
        error = float(np.std(known, ddof=1)) if known.size > 1 else None
        figures[name] = {
            "confidence_interval": percentile_interval(known, confidence_level),
            "standard_error": error,
            "score": value,
        }
    return figures
