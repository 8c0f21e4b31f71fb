"""What is changed in transformers and evaluate: all of it, only it, and back again."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import datasets
import evaluate
import pytest
import transformers
from transformers import pipelines

import qa_scoring
from qa_scoring import compat
from qa_scoring.hf.enabling import disable, enable
from qa_scoring.hf.evaluator import QuestionAnsweringEvaluator
from qa_scoring.hf.pipeline import QuestionAnsweringPipeline
from tests.hf.conftest import make_config, make_tokenizer

HAS_OWN_TASK = hasattr(pipelines, "QuestionAnsweringPipeline")  # transformers below 5.3


def state() -> dict[str, Any]:
    """Return a copy of all that is changed."""
    base: Any = importlib.import_module("evaluate.evaluator.base")
    return {
        "removed": dict(getattr(pipelines, "REMOVED_TASKS", {})),
        "tasks": {name: dict(task) for name, task in pipelines.PIPELINE_REGISTRY.supported_tasks.items()},
        "aliases": dict(pipelines.PIPELINE_REGISTRY.task_aliases),
        "evaluators": {
            name: dict(task)
            for name, task in importlib.import_module("evaluate.evaluator").SUPPORTED_EVALUATOR_TASKS.items()
        },
        "evaluate has transformers itself": base.transformers is transformers,
        "names": {name for name in vars(transformers) if "TFPreTrainedModel" in name},
        "pipeline": set(vars(QuestionAnsweringPipeline)),
    }


@pytest.fixture
def off() -> Iterator[dict[str, Any]]:
    """Turn the task off, return the state, and turn it on again."""
    disable()
    yield state()
    enable()


def test_off_means_as_the_libraries_are(off: dict[str, Any]) -> None:
    assert off["evaluate has transformers itself"]
    assert off["evaluators"]["question-answering"]["implementation"].__module__.startswith("evaluate.")
    assert ("question-answering" in off["tasks"]) == HAS_OWN_TASK
    assert ("question-answering" in off["removed"]) != HAS_OWN_TASK


def test_on_twice_off_and_on_again(off: dict[str, Any]) -> None:
    enable()
    on = state()
    enable()
    assert state() == on
    disable()
    assert state() == off
    disable()
    assert state() == off
    enable()
    assert state() == on


def test_only_this_task_changes(off: dict[str, Any]) -> None:
    enable()
    on = state()
    implementation = on["evaluators"]["question-answering"].pop("implementation")
    assert implementation is QuestionAnsweringEvaluator
    off["evaluators"]["question-answering"].pop("implementation")
    assert on["evaluators"] == off["evaluators"]  # the default metric too
    task, before = on["tasks"].pop("question-answering"), off["tasks"].pop("question-answering", None)
    assert (task == before) if HAS_OWN_TASK else (task["impl"] is QuestionAnsweringPipeline)
    off["removed"].pop("question-answering", None)
    for name in ("tasks", "aliases", "removed", "names", "pipeline"):
        assert on[name] == off[name]


def test_what_was_made_before_stays_when_it_is_off() -> None:
    qa = evaluate.evaluator("question-answering")
    disable()
    try:
        assert isinstance(qa, QuestionAnsweringEvaluator)
        if not HAS_OWN_TASK:
            with pytest.raises(KeyError, match="question-answering"):
                evaluate.evaluator("question-answering")
            with pytest.raises(KeyError):
                transformers.pipeline("question-answering")
    finally:
        enable()


def test_the_name_in_evaluate_stands_for_transformers() -> None:
    base: Any = importlib.import_module("evaluate.evaluator.base")
    assert base.transformers.PreTrainedModel is transformers.PreTrainedModel
    assert not isinstance(object(), base.transformers.TFPreTrainedModel)
    with pytest.raises(AttributeError):
        _ = base.transformers.no_such_name


@pytest.mark.parametrize("name", ["m2qa_squad_v2", "sas_metric", "ava_metric"])
def test_loading_a_metric_is_enough(name: str, off: dict[str, Any]) -> None:
    evaluate.load(qa_scoring.metric_path(name))
    assert isinstance(evaluate.evaluator("question-answering"), QuestionAnsweringEvaluator)


CHECK = """
import importlib, transformers, evaluate
from transformers import pipelines
base = importlib.import_module("evaluate.evaluator.base")
tasks = importlib.import_module("evaluate.evaluator").SUPPORTED_EVALUATOR_TASKS
def state():
    return (
        dict(getattr(pipelines, "REMOVED_TASKS", {})), dict(pipelines.PIPELINE_REGISTRY.supported_tasks),
        dict(tasks), base.transformers, hasattr(transformers, "TFPreTrainedModel"),
    )
before = state()
import qa_scoring, qa_scoring.cli, qa_scoring.compat, qa_scoring.hf.enabling
import qa_scoring.hf.evaluator, qa_scoring.hf.pipeline, qa_scoring.extractive.loading
assert state() == before
evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"))
assert state() != before
qa_scoring.hf.enabling.disable()
assert state() == before
"""


def test_importing_changes_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------------------- other tasks


class Accuracy(evaluate.Metric):
    def _info(self) -> Any:
        columns = {name: datasets.Value("int32") for name in ("predictions", "references")}
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=datasets.Features(columns)
        )

    def _compute(self, predictions: Any, references: Any) -> dict[str, float]:
        pairs = list(zip(predictions, references, strict=True))
        return {"accuracy": sum(a == b for a, b in pairs) / len(pairs)}


@pytest.fixture(scope="module")
def classifier() -> Any:
    import torch

    torch.manual_seed(0)
    return transformers.BertForSequenceClassification(make_config(initializer_range=0.5)).eval()


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda model, tokenizer: model, id="model"),
        pytest.param(
            lambda model, tokenizer: transformers.pipeline(
                "text-classification", model=model, tokenizer=tokenizer, device=-1
            ),
            id="pipeline",
        ),
    ],
)
def test_evaluators_of_other_tasks_work(classifier: Any, made: Callable[[Any, Any], Any]) -> None:
    tokenizer = make_tokenizer()
    texts = ["Marie Curie was born in Warsaw", "She won two Nobel Prizes", "the physics of the Sorbonne"]
    pipe = transformers.pipeline("text-classification", model=classifier, tokenizer=tokenizer, device=-1)
    labels = [int(found["label"][-1]) for found in pipe(texts)]
    labels[0] = 1 - labels[0]
    evaluator = evaluate.evaluator("text-classification")
    assert type(evaluator).__module__.startswith("evaluate.")
    result = evaluator.compute(
        model_or_pipeline=made(classifier, tokenizer),
        tokenizer=tokenizer,
        data=datasets.Dataset.from_dict({"text": texts, "label": labels}),
        metric=Accuracy(),
        label_mapping={"LABEL_0": 0, "LABEL_1": 1},
    )
    assert result["accuracy"] == pytest.approx(2 / 3)


def test_compat_says_what_it_changes() -> None:
    for words in ("transformers 5.3", "registry", "evaluator", "TFPreTrainedModel", "disable_question_answering"):
        assert words in (compat.__doc__ or "")
