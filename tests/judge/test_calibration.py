"""Calibration: temperature against scipy on the loss itself, threshold by brute force, and what is stored where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import accuracy_score, f1_score, log_loss

from qa_scoring.ava import AGGREGATES, score_ava
from qa_scoring.errors import InputError
from qa_scoring.judge.linear import LinearWeights, read_linear, save_linear
from qa_scoring.judge.stored import store_decision
from qa_scoring.judged.calibration import calibrate_judge
from qa_scoring.judged.scorers import ModelOptions, score_answers
from qa_scoring.judged.systems import evaluate_systems
from qa_scoring.judgements import JudgedAnswer
from qa_scoring.statistics.calibration import expected_calibration_error, reliability_bins
from tests.judge.test_linear import made

WEIGHTS = LinearWeights(weights=(3.0, 4.0, -1.0, 0.5), intercept=-2.0, platt_a=-2.0, platt_b=0.25)


@pytest.fixture(scope="module")
def answers() -> list[JudgedAnswer]:
    """Answers of three systems, with one reference or two, and some that are empty."""
    triples, labels = made(240)
    answers = []
    for row, ((question, reference, text), correct) in enumerate(zip(triples, labels, strict=True)):
        references = (reference, "walt disney") if row % 3 else (reference,)
        empty = row % 40 == 0
        answers.append(JudgedAnswer(question, references, " " if empty else text, correct and not empty, f"s{row % 3}"))
    return answers


def saved(folder: Path, **change: Any) -> Path:
    save_linear(LinearWeights(**{**vars(WEIGHTS), **change}), folder)
    return folder


def least_loss(answers: list[JudgedAnswer], folder: Path, aggregate: str) -> float:
    """Fit the temperature with scipy, on probabilities that the judge itself gives at every temperature."""
    rows = [row for row, one in enumerate(answers) if one.answer.strip()]
    labels = [answers[row].correct for row in rows]

    def loss(temperature: float) -> float:
        saved(folder, temperature=temperature)
        found = score_answers(answers, str(folder), options=ModelOptions(aggregate=aggregate))
        return float(log_loss(labels, found.scores[rows]))

    return float(minimize_scalar(loss, bounds=(0.3, 10), method="bounded", options={"xatol": 1e-6}).x)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("before", [1.0, 2.5])
def test_the_temperature_has_the_least_loss(
    aggregate: str, before: float, answers: list[JudgedAnswer], tmp_path: Path
) -> None:
    folder = saved(tmp_path / "judge", temperature=before)
    options = ModelOptions(aggregate=aggregate)
    found = calibrate_judge(folder, answers, rule="f1", options=options)
    assert found.after.temperature == pytest.approx(least_loss(answers, tmp_path / "other", aggregate), rel=1e-3)
    assert (found.before.temperature, found.total, found.read) == (before, 240, 234)
    assert not found.at_bound
    rows = [row for row, one in enumerate(answers) if one.answer.strip()]
    labels = np.array([answers[row].correct for row in rows])
    scores = score_answers(answers, str(folder), options=options).scores[rows]
    assert found.after.log_loss == pytest.approx(log_loss(labels, scores))
    assert found.after.log_loss < found.before.log_loss
    bins = reliability_bins(labels, scores)
    assert [part.total for part in found.after.reliability] == [part.total for part in bins]
    assert found.after.expected_calibration_error == pytest.approx(expected_calibration_error(bins))


@pytest.mark.parametrize("rule", ["rmse", "f1", "accuracy"])
def test_no_threshold_does_better_by_the_rule(rule: str, answers: list[JudgedAnswer], tmp_path: Path) -> None:
    folder = saved(tmp_path / "judge")
    found = calibrate_judge(folder, answers, rule=rule)
    scores = score_answers(answers, str(folder)).scores
    labels = np.array([one.correct for one in answers])

    def value(threshold: float) -> float:
        judged = scores >= threshold
        if rule == "f1":
            return float(f1_score(labels, judged))
        if rule == "accuracy":
            return float(accuracy_score(labels, judged))
        return -evaluate_systems(answers, str(folder), threshold=threshold).overall.comparisons["accuracy"].rmse

    reached = -found.after.rule_value if rule == "rmse" else found.after.rule_value
    assert value(found.after.threshold) == pytest.approx(reached)
    levels = scores if rule != "rmse" else np.quantile(scores, np.linspace(0, 1, 40))
    assert reached == pytest.approx(max(map(value, [*levels, found.after.threshold])))
    assert found.before.threshold == 0.5


def test_what_is_stored_is_what_the_metric_uses(answers: list[JudgedAnswer], tmp_path: Path) -> None:
    folder = saved(tmp_path / "judge")
    content = (folder / "judge.json").read_text()
    copy = calibrate_judge(str(folder), answers, out=tmp_path / "made" / "copy")
    assert copy.folder == str(tmp_path / "made" / "copy")
    assert (folder / "judge.json").read_text() == content
    found = calibrate_judge(folder, answers)
    assert (found.after, found.rule, found.folder) == (copy.after, "rmse", str(folder))
    for place in (folder, tmp_path / "made" / "copy"):
        assert [path.name for path in place.iterdir()] == ["judge.json"]
        weights = read_linear(place / "judge.json")
        assert (weights.threshold, weights.temperature) == (found.after.threshold, found.after.temperature)
        assert weights.weights == WEIGHTS.weights
        scored = score_ava(["paris"], [["paris"]], questions=["where"], model=str(place))
        assert f"threshold:{found.after.threshold}" in str(scored.signature)
        assert f"temperature:{found.after.temperature}" in str(scored.signature)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["copy"]
    again = calibrate_judge(folder, answers)
    assert again.after.temperature == pytest.approx(found.after.temperature, rel=1e-6)
    assert again.before.rule_value == pytest.approx(again.after.rule_value)


@pytest.mark.parametrize("encoders", ["own", "shared"])
def test_a_network_keeps_them_in_its_configuration(encoders: str, bert_base: Path, tmp_path: Path) -> None:
    from tests.judge.test_network_judge import build
    from tests.judge.test_network_judge import saved as saved_network

    folder = tmp_path / "judge"
    saved_network(build(bert_base, "A1 (r,q∘t) (t,q∘r)", encoders, logit_temperature=2.0), bert_base, folder)
    triples, labels = made(60)
    answers = [JudgedAnswer(q, (r,), t, label, f"s{label}") for (q, r, t), label in zip(triples, labels, strict=True)]
    before = score_answers(answers, str(folder)).scores
    found = calibrate_judge(folder, answers, rule="accuracy", options=ModelOptions(device="cpu"))
    after = score_answers(answers, str(folder))
    logits = np.log(before / (1 - before)) * 2.0
    np.testing.assert_allclose(after.scores, 1 / (1 + np.exp(-logits / found.after.temperature)), atol=1e-6)
    assert (after.threshold, after.signature["temperature"]) == (found.after.threshold, found.after.temperature)
    config = json.loads((folder / "config.json").read_text())
    assert (config["model_type"], config["logit_temperature"]) == ("ava-judge", found.after.temperature)


def test_a_matching_judge_keeps_them_beside_its_weights(tmp_path: Path) -> None:
    import torch
    from safetensors import safe_open

    from qa_scoring.judge.matching_judge import HEAD, write_head

    facts = {"name": "tiny", "max_length": 32, "base_sha256": "0", "threshold": 0.5, "temperature": 1.0}
    weight = torch.arange(6.0).reshape(2, 3)
    (tmp_path / "judge").mkdir()
    write_head(tmp_path / "judge" / HEAD, {"hidden.weight": weight}, facts)
    assert store_decision(tmp_path / "judge", 0.25, 1.5) == tmp_path / "judge"
    with safe_open(tmp_path / "judge" / HEAD, framework="pt") as file:
        assert file.metadata() == {
            **{name: str(value) for name, value in facts.items()},
            "threshold": "0.25",
            "temperature": "1.5",
            "format": "pt",
        }
        assert torch.equal(file.get_tensor("hidden.weight"), weight)
    assert [path.name for path in (tmp_path / "judge").iterdir()] == [HEAD]


def test_a_judge_that_is_always_right_has_no_best_temperature(tmp_path: Path) -> None:
    answers = [
        JudgedAnswer("who", ("walt disney",), text, text != "paris", system)
        for text in ("walt disney", "paris", "so walt disney")
        for system in ("a", "b")
    ]
    found = calibrate_judge(saved(tmp_path), answers, rule="accuracy")
    assert found.at_bound
    assert found.after.temperature == pytest.approx(0.05)
    assert found.after.rule_value == 1.0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"system": ""}, {}, "Answer 0 has no system; give every row of the file the key 'system'"),
        ({"system": "a"}, {}, "The rule 'rmse' needs answers of two systems or more; got 1. Take 'f1' or 'accuracy'"),
        ({"correct": True}, {"rule": "f1"}, "A temperature needs rows of both classes; all 234 labels are 1"),
        ({"correct": None}, {"rule": "f1"}, "Answer 0 has no verdict of people"),
        ({"question": ""}, {"rule": "f1"}, "a blank question, which this judge reads"),
        ({"answer": ""}, {"rule": "f1"}, "The judge reads none of the answers: all are empty"),
        ({}, {"rule": "auroc"}, "'rule' must be 'rmse' or 'f1' or 'accuracy'; got 'auroc'"),
        ({}, {"bins": 0}, "'bins' must be an integer of at least 1"),
        ({}, {"out": "."}, "is there already; name a folder that is not"),
    ],
)
def test_what_cannot_be_calibrated(
    change: dict[str, Any], options: dict[str, Any], message: str, answers: list[JudgedAnswer], tmp_path: Path
) -> None:
    folder = saved(tmp_path / "judge")
    content = (folder / "judge.json").read_bytes()
    with pytest.raises(InputError, match=message):
        calibrate_judge(folder, [one._replace(**change) for one in answers], **options)
    assert [path.read_bytes() for path in folder.iterdir()] == [content]


@pytest.mark.parametrize("name", ["embedded", "someone/judge", "/nowhere/at/all"])
def test_only_folders_are_changed(name: str, answers: list[JudgedAnswer]) -> None:
    with pytest.raises(InputError, match=f"expected the local folder of a judge; got '{name}'"):
        calibrate_judge(name, answers)


def test_a_folder_without_a_judge(answers: list[JudgedAnswer], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        calibrate_judge(tmp_path, answers)
    with pytest.raises(InputError, match=r"holds no judge; expected judge_head\.safetensors, judge\.json or config"):
        store_decision(tmp_path, 0.5, 1.0)
    folder = saved(tmp_path / "judge")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written to"):
        store_decision(folder, 0.5, 1.0, out=tmp_path / "file" / "copy")
