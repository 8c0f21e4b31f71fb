"""The linear judge: its figures, scikit-learn's own probabilities, and a file of plain numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import LinearSVC

from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.errors import InputError
from qa_scoring.judge.inputs import Triple
from qa_scoring.judge.linear import LinearWeights, features, fit_linear, load_linear_judge, save_linear
from tests.judge.conftest import WORDS

WEIGHTS = LinearWeights(weights=(1.0, 2.0, -1.0, 0.5), intercept=-1.0, platt_a=-2.0, platt_b=0.25)


def made(count: int) -> tuple[list[Triple], list[bool]]:
    """Triples of random words; a correct answer shares most of them with its reference, most of the time."""
    rng = np.random.default_rng(5)
    triples, labels = [], []
    for _ in range(count):
        question, reference, other = (list(rng.choice(WORDS, size)) for size in (6, 3, 4))
        correct = bool(rng.random() < 0.5)
        answer = [*other, *reference] if correct == (rng.random() < 0.85) else [*other, *question[:2]]
        triples.append(Triple(*(" ".join(words) for words in (question, reference, answer))))
        labels.append(correct)
    return triples, labels


@pytest.mark.parametrize(
    ("question", "reference", "answer", "short", "expected"),
    [
        ("Who found it?", "Marie Curie", "MARIE CURIE did", None, [1, 4 / 5, 0, 0]),
        ("Who found it?", "Curie, of Paris", "Marie Curie", "Curie", [1, 2 / 5, 0, 0]),
        ("Who?", "Marie Curie", "Curie, Marie", None, [0, 1, 0, 0]),  # not one after the other
        ("Who?", "rat", "pirate", None, [0, 0, 0, 0]),  # words, not letters
        ("the the the", "the", "the", None, [1, 1, 1, 1]),  # different words
        ("Who?", "１０６６", "In 1066.", None, [1, 2 / 3, 0, 0]),
        ("", "", "", None, [0, 0, 0, 0]),
        ("Who?", "...", "Curie", None, [0, 0, 0, 0]),
    ],
)
def test_the_four_figures(question: str, reference: str, answer: str, short: str | None, expected: list[float]) -> None:
    found = features([Triple(question, reference, answer)], [short])
    assert found.tolist() == [pytest.approx(expected)]


def test_probabilities_are_those_of_scikit_learn(tmp_path: Path) -> None:
    triples, labels = made(300)
    table = features(triples)
    weights = [1.0 if row % 3 else 2.0 for row in range(300)]
    save_linear(fit_linear(table, labels, weights, seed=3), tmp_path)
    judge = load_linear_judge(str(tmp_path))
    items = [(question, answer, reference) for question, reference, answer in triples]
    found = score_distinct(judge, items)
    theirs = CalibratedClassifierCV(LinearSVC(random_state=3), method="sigmoid", ensemble=False, cv=5)
    theirs.fit(table, np.array(labels, dtype=int), sample_weight=np.array(weights))
    np.testing.assert_allclose(found.scores, theirs.predict_proba(table)[:, 1], atol=1e-12)
    assert ((found.scores >= judge.threshold) == labels).mean() > 0.8
    assert not found.truncated.any()
    assert (judge.reads_questions, judge.reads_all_references, judge.threshold) == (True, False, 0.5)


def test_a_temperature_divides_the_logit(tmp_path: Path) -> None:
    def logit(temperature: float) -> float:
        save_linear(LinearWeights(**{**vars(WEIGHTS), "temperature": temperature}), tmp_path)
        judge = load_linear_judge(str(tmp_path))
        assert judge.facts["temperature"] == temperature
        probability = score_distinct(judge, [("who is it", "the king", "the king")]).scores[0]
        return float(np.log(probability / (1 - probability)))

    assert logit(2.0) == pytest.approx(logit(1.0) / 2)


def test_candidates_are_ranked(tmp_path: Path) -> None:
    save_linear(WEIGHTS, tmp_path)
    ranked = load_linear_judge(str(tmp_path)).rerank(
        "who was it?", "walt disney", ["paris", " ", "walt disney", "walt"]
    )
    assert [place for place, _ in ranked] == [2, 3, 0, 1]
    assert ranked[-1][1] == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1, 2, 3]}, "weights: expected a list of 4 numbers"),
        ({"weights": [1, 2, 3, "4"]}, "weights: expected a list of 4 numbers"),
        ({"intercept": None}, "intercept: expected a number; got None"),
        ({"platt_a": float("nan")}, "platt_a: expected a number; got nan"),
        ({"platt_b": True}, "platt_b: expected a number; got True"),
        ({"threshold": 1.5}, "threshold: expected a number from 0 to 1; got 1.5"),
        ({"temperature": 0}, "temperature: expected a number above 0; got 0"),
        ({"schema": "other"}, "schema: expected 'qa-scoring/linear-judge'; got 'other'"),
        ({"version": 2}, "version: expected 1; got 2"),
        ({"features": ["a"]}, "features: expected "),
        ({"pickle": "x"}, "unknown key 'pickle'; the keys are schema, version"),
        ({"weights": ...}, "the key 'weights' is lacking"),
        ({"schema": ...}, "the key 'schema' is lacking; this is no file of a linear judge"),
    ],
)
def test_broken_files_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = save_linear(WEIGHTS, tmp_path)
    table = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps({name: value for name, value in table.items() if value is not ...}))
    with pytest.raises(InputError, match=message):
        load_linear_judge(str(tmp_path))


def test_what_is_no_linear_judge(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"judge\.json cannot be read: No such file"):
        load_linear_judge(str(tmp_path))
    (tmp_path / "judge.json").write_text("[1]")
    with pytest.raises(InputError, match="expected an object with the keys of a linear judge; got list"):
        load_linear_judge(str(tmp_path))
    (tmp_path / "judge.json").write_bytes(b"\x80\x04pickle")
    with pytest.raises(InputError, match="is not valid JSON"):
        load_linear_judge(str(tmp_path))
    with pytest.raises(InputError, match="Expected two examples or more of both labels; got 3 correct ones of 3"):
        fit_linear(np.ones((3, 4)), [True] * 3, [1.0] * 3)


def test_scoring_needs_no_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    save_linear(WEIGHTS, tmp_path)
    assert 0 < score_distinct(load_linear_judge(str(tmp_path)), [("who", "walt", "walt")]).scores[0] < 1
    with pytest.raises(ImportError, match=r'pip install "qa-scoring\[ava\]"'):
        fit_linear(np.ones((3, 4)), [True, False, True], [1.0] * 3)
