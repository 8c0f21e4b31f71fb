"""Docstring examples run, and every public function says what it takes, gives and raises."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import qa_scoring
from tests.test_architecture import modules

LIBRARY = [name for name in modules() if not name.startswith("qa_scoring.cli")]


@pytest.mark.parametrize("name", ["qa_scoring", *LIBRARY])
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_the_metric_documents_an_example_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import evaluate

    module = importlib.import_module("m2qa_squad_v2.m2qa_squad_v2")
    monkeypatch.chdir(Path(qa_scoring.metric_path("m2qa_squad_v2")).parent)
    example = doctest.DocTestParser().get_doctest(module._KWARGS_DESCRIPTION, {"evaluate": evaluate}, "metric", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(example)
    assert runner.tries == 3
    assert runner.failures == 0


def public_functions(module: ModuleType) -> list[object]:
    return [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


@pytest.mark.parametrize("name", LIBRARY)
def test_docstrings_name_every_argument(name: str) -> None:
    module = importlib.import_module(name)
    for function in public_functions(module):
        text = inspect.getdoc(function) or ""
        assert text, f"{name}.{function.__name__} has no docstring"
        parameters = list(inspect.signature(function).parameters)
        if "tokenizers" in name or name.endswith("normalize"):
            continue  # factories and steps: one line says it all
        for parameter in parameters:
            assert f"{parameter}:" in text, f"{name}.{function.__name__}: {parameter} is not documented"


def test_documented_defaults_are_those_of_the_signature() -> None:
    module = importlib.import_module("m2qa_squad_v2.m2qa_squad_v2")
    parameters = inspect.signature(module.M2QAMetric._compute).parameters
    core = inspect.signature(qa_scoring.score_multilingual_squad).parameters
    for name, parameter in parameters.items():
        if name not in ("self", "predictions", "references"):
            assert parameter.default == core[name].default, name
            assert f"    {name} (" in module._KWARGS_DESCRIPTION, name
    for name in ("n_resamples", "seed", "no_answer_threshold"):
        line = next(line for line in module._KWARGS_DESCRIPTION.splitlines() if line.startswith(f"    {name} ("))
        assert f"Default {parameters[name].default}." in line
