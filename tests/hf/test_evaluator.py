"""``evaluate.evaluator("question-answering")``: models, data and metrics of every kind, and what goes wrong."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
import pytest
import torch
import transformers

import qa_scoring
from qa_scoring import InputError
from qa_scoring.extractive.spans import AnswerSettings
from qa_scoring.hf.evaluator import QuestionAnsweringEvaluator
from qa_scoring.hf.pipeline import QuestionAnsweringPipeline
from tests.conftest import read_json
from tests.hf.conftest import (
    CONTEXTS,
    FIGURES,
    QUESTIONS,
    ROWS,
    Calls,
    as_dataset,
    as_squad,
    as_squad_file,
    make_config,
    make_tokenizer,
)
from tests.hf.stock import Squad, SquadV2

Load = Callable[[str], Any]
TIMES = ("total_time_in_seconds", "samples_per_second", "latency_in_seconds")


@pytest.fixture(scope="module")
def readings(reader: Any) -> Any:
    """Return what the reader says of the rows, "no answer" being an answer."""
    contexts = [row["context"] for row in ROWS]
    return list(reader.read(QUESTIONS, contexts, settings=AnswerSettings(handle_impossible_answer=True)))


@pytest.fixture(scope="module")
def expected(readings: Any, load: Load) -> dict[str, Any]:
    """Return the figures of these answers, by the metric alone."""
    predictions = [
        {
            "id": row["id"],
            "prediction_text": reading.answers[0].text,
            "no_answer_probability": reading.no_answer_probability,
        }
        for row, reading in zip(ROWS, readings, strict=True)
    ]
    result: dict[str, Any] = load("m2qa_squad_v2").compute(predictions=predictions, references=as_squad(ROWS))
    assert 0 < result["exact"] < result["f1"] < result["best_f1"]
    return result


def figures(result: Any, names: tuple[str, ...] = FIGURES) -> Any:
    return pytest.approx({name: result[name] for name in names})


def answers(result: Any) -> list[str]:
    return [row["answer"] for row in result["predictions"]]


# ---------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda folder, reader: {"model_or_pipeline": folder}, id="folder"),
        pytest.param(lambda folder, reader: {"model_or_pipeline": Path(folder), "tokenizer": folder}, id="path"),
        pytest.param(lambda folder, reader: {"model_or_pipeline": folder, "tokenizer": make_tokenizer()}, id="both"),
        pytest.param(
            lambda folder, reader: {"model_or_pipeline": reader.model, "tokenizer": reader.tokenizer}, id="model"
        ),
        pytest.param(
            lambda folder, reader: {"model_or_pipeline": reader.model, "tokenizer": folder, "device": -1},
            id="model and name of its tokenizer",
        ),
        pytest.param(
            lambda folder, reader: {"model_or_pipeline": QuestionAnsweringPipeline(reader.model, reader.tokenizer)},
            id="our pipeline",
        ),
        pytest.param(
            lambda folder, reader: {
                "model_or_pipeline": transformers.pipeline("question-answering", model=folder, device=-1)
            },
            id="transformers.pipeline",
        ),
        pytest.param(
            lambda folder, reader: {
                "model_or_pipeline": lambda question, context, **options: QuestionAnsweringPipeline(
                    reader.model, reader.tokenizer
                )(question=question, context=context, handle_impossible_answer=True, **options)
            },
            id="function",
        ),
    ],
)
def test_models_of_every_kind(given: Any, qa: Any, model_folder: str, reader: Any, load: Load) -> None:
    settings = AnswerSettings(handle_impossible_answer=True)
    contexts = [row["context"] for row in ROWS]
    texts = [one.answers[0].text for one in reader.read(QUESTIONS, contexts, settings=settings, doc_stride=8)]
    arguments = given(model_folder, reader)
    qa.PIPELINE_KWARGS["doc_stride"] = 8  # transformers 4 overlaps windows more
    metric = load("m2qa_squad_v2")
    result = qa.compute(data=as_dataset(), metric=metric, return_predictions=True, **arguments)
    found, model = answers(result), arguments["model_or_pipeline"]
    if isinstance(model, transformers.Pipeline) and not isinstance(model, QuestionAnsweringPipeline):
        found, texts = found[:6], texts[:6]  # transformers 4's own answers with whole "words" in Chinese
    assert found == texts
    predictions = [{"id": row["id"], "prediction_text": row["answer"]} for row in result["predictions"]]
    again = metric.compute(predictions=predictions, references=as_squad(ROWS))
    assert {name: result[name] for name in ("exact", "f1", "NoAns_f1")} == figures(again, ("exact", "f1", "NoAns_f1"))


def test_without_a_model_transformers_default_is_taken(qa: Any, load: Load) -> None:
    with pytest.raises(InputError, match="distilbert/distilbert-base-cased-distilled-squad"):
        qa.compute(data=as_dataset(), metric=load("m2qa_squad_v2"))


def test_a_function_may_know_no_more_than_answers(qa: Any, load: Load) -> None:
    result = qa.compute(
        model_or_pipeline=lambda question, context: ({"answer": text.split()[0]} for text in context),
        data=as_dataset(),
        metric=load("m2qa_squad_v2"),
        return_predictions=True,
    )
    assert result["predictions"][0] == {"id": "en-1", "answer": "Marie"}
    assert result["best_f1"] is None  # without a probability of "no answer" there is no threshold


def test_prepare_pipeline(qa: Any, reader: Any) -> None:
    pipe = qa.prepare_pipeline(reader.model, tokenizer=reader.tokenizer)
    assert type(pipe).__name__ == "QuestionAnsweringPipeline"  # on transformers 4 its own
    assert qa.prepare_pipeline(pipe) is pipe
    assert pipe(question=QUESTIONS[0], context=ROWS[0]["context"])["answer"]


def test_batches_and_dtype(qa: Any, model_folder: str, expected: Any, load: Load, reader: Any) -> None:
    given = {"data": as_dataset(), "metric": load("m2qa_squad_v2")}
    with Calls(reader.model) as alone:
        result = qa.compute(reader.model, tokenizer=reader.tokenizer, batch_size=1, **given)
    assert {name: result[name] for name in FIGURES} == figures(expected)
    with Calls(reader.model) as together:
        qa.compute(reader.model, tokenizer=reader.tokenizer, batch_size=500, **given)
    assert alone.count > len(ROWS) > together.count == 1
    full, half = (
        qa.compute(model_folder, dtype=dtype, device="cpu", return_predictions=True, **given)["predictions"]
        for dtype in (None, "bfloat16")
    )
    for one, other in zip(full, half, strict=True):
        assert one["null_odds"] != other["null_odds"]
        assert one["null_odds"] == pytest.approx(other["null_odds"], abs=1.0)


# ------------------------------------------------------------------------------------------------ data


def as_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in as_squad(ROWS)), "utf-8")
    return path


def as_hub_folder(folder: Path) -> str:
    """Write a data set as the Hub has them: two configurations, two splits."""
    folder.mkdir()
    lines = {"de/dev.jsonl": [ROWS[3]], "all/train.jsonl": ROWS[:2], "all/dev.jsonl": ROWS}
    for name, rows in lines.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in as_squad(rows)), "utf-8")
    (folder / "README.md").write_text(
        "---\nconfigs:\n"
        "- {config_name: de, data_files: [{split: validation, path: de/dev.jsonl}]}\n"
        "- {config_name: all, data_files: [{split: train, path: all/train.jsonl}, "
        "{split: validation, path: all/dev.jsonl}]}\n---\n"
    )
    return str(folder)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda folder: {"data": as_dataset()}, id="data set"),
        pytest.param(lambda folder: {"data": str(as_squad_file(folder / "dev.json"))}, id="SQuAD file"),
        pytest.param(lambda folder: {"data": as_lines(folder / "dev.jsonl")}, id="JSON Lines"),
        pytest.param(
            lambda folder: {"data": as_hub_folder(folder / "hub"), "subset": "all", "split": "validation"},
            id="subset and split",
        ),
        pytest.param(lambda folder: {"data": as_hub_folder(folder / "hub"), "subset": "all"}, id="subset"),
        pytest.param(
            lambda folder: {
                "data": as_dataset().rename_columns(
                    {"id": "key", "question": "frage", "context": "text", "answers": "gold"}
                ),
                "question_column": "frage",
                "context_column": "text",
                "id_column": "key",
                "label_column": "gold",
            },
            id="other columns",
        ),
        pytest.param(
            lambda folder: {"data": datasets.Dataset.from_list([{**row, "id": n} for n, row in enumerate(ROWS)])},
            id="numbers as ids, lists as answers",
        ),
    ],
)
def test_data_of_every_kind(given: Any, qa: Any, reader: Any, expected: Any, load: Load, tmp_path: Path) -> None:
    metric = load("m2qa_squad_v2")
    result = qa.compute(reader.model, tokenizer=reader.tokenizer, metric=metric, **given(tmp_path))
    assert {name: result[name] for name in FIGURES} == figures(expected)
    assert result["total"] == len(ROWS)


def test_no_answer_is_an_answer_where_the_data_has_such_questions(qa: Any, reader: Any, load: Load) -> None:
    given = {"tokenizer": reader.tokenizer, "metric": load("m2qa_squad_v2"), "return_predictions": True}
    with_such = qa.compute(reader.model, as_dataset(), **given)
    assert "" in answers(with_such)
    assert with_such["best_f1"] is not None
    without = qa.compute(reader.model, as_dataset([row for row in ROWS if row["answers"]]), **given)
    assert "" not in answers(without)
    assert without["best_f1"] is None
    for asked, number in ((True, 1), (False, 0)):
        result = qa.compute(reader.model, as_dataset(), squad_v2_format=asked, **given)
        assert answers(result).count("") == number


# --------------------------------------------------------------------------------------------- metrics


@pytest.mark.parametrize("combine", [list, tuple, evaluate.combine], ids=["list", "tuple", "evaluate.combine"])
def test_three_metrics_cost_one_pass(combine: Any, qa: Any, reader: Any, load: Load, expected: Any) -> None:
    metrics = {name: load(name) for name in ("m2qa_squad_v2", "sas_metric", "ava_metric")}
    given = {"tokenizer": reader.tokenizer, "data": as_dataset(), "return_predictions": True}
    with Calls(reader.model) as one:
        qa.compute(reader.model, metric=metrics["m2qa_squad_v2"], **given)
    with Calls(reader.model) as three:
        result = qa.compute(reader.model, metric=combine([*metrics.values()]), **given)
    assert three.count == one.count > 0
    assert {name: result[name] for name in FIGURES} == figures(expected)
    predictions = [{"id": row["id"], "prediction_text": row["answer"]} for row in result["predictions"]]
    sas = metrics["sas_metric"].compute(predictions=predictions, references=as_squad(ROWS))
    assert result["sas"] == pytest.approx(sas["sas"])
    ava = metrics["ava_metric"].compute(predictions=predictions, references=as_squad(ROWS), questions=QUESTIONS)
    assert result["ava_score"] == pytest.approx(ava["ava_score"])
    for name in metrics:  # keys that all three have
        assert result[f"{name}_total"] == len(ROWS)
    assert "total" not in result


def test_ava_gets_the_questions_and_no_other_metric(
    qa: Any, reader: Any, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = [load(name) for name in ("ava_metric", "m2qa_squad_v2", "sas_metric")]
    given = []
    for metric in metrics:
        compute = metric.compute
        monkeypatch.setattr(
            metric, "compute", lambda compute=compute, **inputs: given.append(inputs) or compute(**inputs)
        )
    qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=metrics)
    assert [row.get("questions") for row in given] == [QUESTIONS, None, None]


def test_the_first_of_several_answers_is_scored(qa: Any, reader: Any, load: Load, expected: Any) -> None:
    qa.PIPELINE_KWARGS["n_best"] = 3
    result = qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=load("m2qa_squad_v2"),
                        return_predictions=True)  # fmt: skip
    assert result["f1"] == pytest.approx(expected["f1"])
    assert max(len(row["n_best"]) for row in result["predictions"]) == 3
    several = qa.compute(
        lambda question, context, **_: [[{"answer": "Warsaw"}, {"answer": "Paris"}]] * len(question),
        as_dataset(ROWS[:1]),
        metric=load("m2qa_squad_v2"),
    )
    assert several["exact"] == 100.0


def test_keywords_belong_to_one_evaluator(qa: Any, reader: Any) -> None:
    other, classifier = evaluate.evaluator("question-answering"), evaluate.evaluator("text-classification")
    before = dict(classifier.METRIC_KWARGS), dict(classifier.PIPELINE_KWARGS)
    qa.METRIC_KWARGS["language"] = "zh"
    qa.PIPELINE_KWARGS["max_answer_len"] = 1
    for untouched in (other, type(qa), evaluate.evaluator("question-answering")):
        assert not untouched.METRIC_KWARGS
        assert not untouched.PIPELINE_KWARGS
    for untouched in (classifier, evaluate.evaluator("text-classification")):
        assert before == (untouched.METRIC_KWARGS, untouched.PIPELINE_KWARGS)
    metric = evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"))
    given = {"model_or_pipeline": reader.model, "tokenizer": reader.tokenizer, "data": as_dataset(), "metric": metric}
    chinese = qa.compute(**given)
    assert metric.signature()["language"] == "zh"
    with pytest.raises(InputError, match="language"):
        other.compute(**given)
    other.METRIC_KWARGS["language"] = "de"
    assert other.compute(**given)["f1"] != chinese["f1"]
    assert metric.signature()["language"] == "de"


def test_every_metric_gets_the_keywords_it_knows(qa: Any, reader: Any, load: Load) -> None:
    metrics = [load("m2qa_squad_v2"), load("ava_metric")]
    qa.METRIC_KWARGS.update(no_answer_threshold=-1.0, threshold=0.9)
    result = qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=metrics)
    assert result["NoAns_f1"] == 100.0  # everything is above -1
    assert metrics[1].signature()["threshold"] == 0.9


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"langauge": "de"}, "METRIC_KWARGS: no metric knows 'langauge' .*m2qa_squad_v2: language"),
        ({"language": "xx"}, "xx"),
        ({"no_answer_threshold": "high"}, "no_answer_threshold"),
    ],
)
def test_wrong_keywords_are_found_before_the_model_runs(
    keywords: Any, message: str, qa: Any, reader: Any, load: Load
) -> None:
    qa.METRIC_KWARGS.update(keywords)
    with Calls(reader.model) as calls, pytest.raises(InputError, match=message):
        qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=load("m2qa_squad_v2"))
    assert calls.count == 0


def test_wrong_options_of_the_pipeline_are_found_before_the_model_runs(qa: Any, reader: Any, load: Load) -> None:
    qa.PIPELINE_KWARGS["max_answer_length"] = 3
    with (
        Calls(reader.model) as calls,
        pytest.raises(InputError, match="The pipeline knows top_k"),
    ):
        qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=load("m2qa_squad_v2"))
    assert calls.count == 0


@pytest.mark.parametrize("kind", [Squad, SquadV2])
@pytest.mark.parametrize("squad_v2_format", [None, True, False])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:2]], ids=["with unanswerable", "answerable"])
def test_metrics_of_evaluate(kind: Any, squad_v2_format: Any, rows: Any, qa: Any, reader: Any) -> None:
    metric = kind()
    given = {"tokenizer": reader.tokenizer, "squad_v2_format": squad_v2_format, "return_predictions": True}
    if kind is Squad and rows is ROWS:
        with pytest.warns(UserWarning, match="'squad' scores as wrong"):
            result = qa.compute(reader.model, as_dataset(rows), metric=metric, **given)
    else:
        result = qa.compute(reader.model, as_dataset(rows), metric=metric, **given)
    right = [said in (row["answers"] or [""]) for said, row in zip(answers(result), rows, strict=True)]
    assert result["exact"] == 100.0 * np.mean(right)
    assert result["total"] == len(rows)


def test_metrics_of_evaluate_beside_ours(qa: Any, reader: Any, load: Load, expected: Any) -> None:
    metrics = [load("m2qa_squad_v2"), SquadV2()]
    result = qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=metrics)
    assert result["f1"] == pytest.approx(expected["f1"])
    assert result["squad_v2_total"] == result["m2qa_squad_v2_total"] == len(ROWS)


def test_a_function_without_probabilities_and_squad_v2(qa: Any) -> None:
    """What was decided is the probability, where the metric demands one."""
    qa.METRIC_KWARGS["no_answer_threshold"] = 0.5
    said = ["", "wrong", "", *["wrong"] * (len(ROWS) - 3)]
    result = qa.compute(lambda question, context: [{"answer": text} for text in said], as_dataset(), metric=SquadV2())
    assert result["exact"] == 100.0 / len(ROWS)


# ---------------------------------------------------------------------------------------------- output


def test_predictions_and_times(qa: Any, reader: Any, readings: Any, load: Load, tmp_path: Path) -> None:
    given = {"tokenizer": reader.tokenizer, "metric": load("m2qa_squad_v2"), "output_dir": tmp_path / "out"}
    result = qa.compute(reader.model, as_dataset(), return_predictions=True, **given)
    assert [row["id"] for row in result["predictions"]] == [row["id"] for row in ROWS]
    assert answers(result) == [reading.answers[0].text for reading in readings]
    assert read_json(tmp_path / "out" / "predictions.json") == {
        row["id"]: row["answer"] for row in result["predictions"]
    }
    assert list(read_json(tmp_path / "out" / "nbest_predictions.json")) == [row["id"] for row in ROWS]
    assert set(TIMES) <= set(result)
    assert result["samples_per_second"] == pytest.approx(len(ROWS) / result["total_time_in_seconds"])
    assert result["latency_in_seconds"] == pytest.approx(result["total_time_in_seconds"] / len(ROWS))
    assert "predictions" not in qa.compute(reader.model, as_dataset(), **given)


def test_predictions_are_kept_when_a_metric_fails(qa: Any, reader: Any, tmp_path: Path) -> None:
    class Broken(SquadV2):
        def _compute(self, predictions: Any, references: Any) -> Any:
            raise RuntimeError("no figures")

    with pytest.raises(RuntimeError, match="no figures"):
        qa.compute(reader.model, as_dataset(), tokenizer=reader.tokenizer, metric=Broken(), output_dir=tmp_path)
    assert len(read_json(tmp_path / "predictions.json")) == len(ROWS)


def test_progress(qa: Any, reader: Any, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    given = {"tokenizer": reader.tokenizer, "metric": load("m2qa_squad_v2")}
    for stream, shown, wanted in ((Terminal(), True, True), (Terminal(), False, False), (io.StringIO(), True, False)):
        monkeypatch.setattr("sys.stderr", stream)
        qa.compute(reader.model, as_dataset(), progress_bar=shown, **given)
        assert ("answering" in stream.getvalue()) == wanted
        assert (f"{len(ROWS)}/{len(ROWS)}" in stream.getvalue()) == wanted


# ------------------------------------------------------------------------------------------- bad input


def changed(column: str, value: Any) -> Any:
    return as_dataset([*ROWS[:1], {**ROWS[1], column: value}])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda: changed("context", None), r"row 1 \(id 'en-2'\), context: expected a text; got None"),
        (lambda: changed("context", "  "), r"row 1 \(id 'en-2'\), context: expected a text"),
        (lambda: changed("question", ""), r"row 1 \(id 'en-2'\), question: expected a text"),
        (lambda: changed("id", "en-1"), "1 ids occur more than once"),
        (lambda: as_dataset().remove_columns("context"), r"no column 'context' \(context_column\)"),
        (lambda: as_dataset().remove_columns("question"), r"no column 'question' \(question_column\)"),
        (lambda: as_dataset().remove_columns("answers"), "no column 'answers'"),
        (lambda: as_dataset().remove_columns("id"), r"no column 'id' \(id_column\)"),
        (lambda: as_dataset().select([]), "there are no rows"),
        (lambda: None, "'data' must be a Dataset"),
        (lambda: ROWS, "'data' must be a Dataset"),
        (lambda: datasets.DatasetDict(train=as_dataset()), "data has the splits train"),
        (lambda: "missing.json", "There is no file missing.json"),
    ],
)
def test_bad_data(data: Any, message: str, qa: Any, reader: Any, load: Load) -> None:
    with pytest.raises(InputError, match=message):
        qa.compute(reader.model, data(), tokenizer=reader.tokenizer, metric=load("m2qa_squad_v2"))


class NotANumber(transformers.BertForQuestionAnswering):
    def forward(self, *args: Any, **options: Any) -> Any:
        output = super().forward(*args, **options)
        output.start_logits[:] = torch.nan
        return output


NotANumber.__name__ = "BertForQuestionAnswering"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            lambda reader: {
                "model_or_pipeline": transformers.BertForSequenceClassification(make_config()),
                "tokenizer": reader.tokenizer,
            },
            "BertForSequenceClassification, which has no question-answering head",
            id="no head",
        ),
        pytest.param(lambda reader: {"model_or_pipeline": reader.model}, "A model needs its tokenizer", id="alone"),
        pytest.param(
            lambda reader: {"model_or_pipeline": reader.model, "tokenizer": slow_tokenizer()},
            "does not say where in the text its tokens are",
            id="slow tokenizer",
        ),
        pytest.param(
            lambda reader: {"model_or_pipeline": NotANumber(make_config()), "tokenizer": reader.tokenizer},
            "id 'en-1': the model gave logits that are no numbers",
            id="NaN",
        ),
        pytest.param(lambda reader: {"model_or_pipeline": 3}, "'model_or_pipeline' must be a model", id="a number"),
        pytest.param(lambda reader: {"model_or_pipeline": "/no/such/folder"}, "/no/such/folder", id="no folder"),
        pytest.param(
            lambda reader: {"model_or_pipeline": reader.model, "tokenizer": reader.tokenizer, "dtype": "bfloat16"},
            "'dtype' is for models that are loaded by name",
            id="dtype",
        ),
        pytest.param(
            lambda reader: {
                "model_or_pipeline": transformers.pipeline(
                    "text-classification",
                    model=transformers.BertForSequenceClassification(make_config()),
                    tokenizer=reader.tokenizer,
                    device=-1,
                )
            },
            "The pipeline is for 'text-classification'; expected one for 'question-answering'",
            id="another task",
        ),
        pytest.param(
            lambda reader: {"model_or_pipeline": lambda question, context: [{"answer": ""}]},
            "one dict per question, 8 in all; got 1 answers",
            id="one answer",
        ),
        pytest.param(
            lambda reader: {"model_or_pipeline": lambda question, context: "Warsaw"},
            "one dict per question, 8 in all; got 'Warsaw'",
            id="a string",
        ),
        pytest.param(
            lambda reader: {"model_or_pipeline": lambda question, context: ["Warsaw"] * 8},
            "id 'en-1': expected a dict with the string 'answer'; got 'Warsaw'",
            id="strings",
        ),
        pytest.param(
            lambda reader: {"model_or_pipeline": reader.model, "tokenizer": reader.tokenizer, "metric": []},
            "'metric' must be a metric or a list of at least one",
            id="no metric",
        ),
    ],
)
def test_bad_models_and_metrics(arguments: Any, message: str, qa: Any, reader: Any, load: Load) -> None:
    with pytest.raises(InputError, match=message):
        qa.compute(**{"data": as_dataset(), "metric": load("m2qa_squad_v2"), **arguments(reader)})


def slow_tokenizer() -> Any:
    class Slow(transformers.PreTrainedTokenizer):
        @property
        def vocab_size(self) -> int:
            return 2

        def get_vocab(self) -> dict[str, int]:
            return {"[UNK]": 0, "a": 1}

    return Slow()


@pytest.mark.parametrize(
    ("row", "check"),
    [
        pytest.param({"context": "W"}, lambda answer, context: answer in ("W", ""), id="one character"),
        pytest.param(
            {"context": CONTEXTS["en"] + (" " + "x" * 150) * 1325},
            lambda answer, context: answer in context and len(context) > 200_000,
            id="200,000 characters",
        ),
        pytest.param(
            {"question": "Where was she born? " * 100},
            lambda answer, context: answer in context,
            id="question longer than the model reads",
        ),
        pytest.param({"context": "\u200b\u200d"}, lambda answer, context: answer in ("", context), id="no token"),
    ],
)
def test_odd_rows_have_an_answer(row: Any, check: Any, qa: Any, reader: Any, load: Load) -> None:
    rows = [{**ROWS[0], **row}, ROWS[2]]
    result = qa.compute(reader.model, as_dataset(rows), tokenizer=reader.tokenizer, metric=load("m2qa_squad_v2"),
                        return_predictions=True)  # fmt: skip
    [first, _] = result["predictions"]
    assert check(first["answer"], rows[0]["context"])
    assert 0.0 <= first["no_answer_probability"] <= 1.0
    assert result["total"] == 2


def test_it_is_the_stock_evaluators_child(qa: Any) -> None:
    assert isinstance(qa, QuestionAnsweringEvaluator)
    assert isinstance(qa, evaluate.QuestionAnsweringEvaluator)
    assert qa.task == "question-answering"
