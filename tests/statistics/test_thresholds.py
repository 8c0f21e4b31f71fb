"""Thresholds are the best of all there are, by trying every one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_scoring import InputError
from qa_scoring.statistics.classification import classification_figures
from qa_scoring.statistics.columns import FloatArray
from qa_scoring.statistics.thresholds import RULES, Threshold, best_threshold, rmse_threshold

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 20).map(lambda number: number / 20), st.sampled_from("abc")),
    min_size=1,
    max_size=25,
)
EVERY = np.concatenate([np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, 21) + 1e-9])


def rmse_at(threshold: float, labels: FloatArray, probabilities: FloatArray, systems: list[str]) -> float:
    errors = []
    for system in set(systems):
        members = np.array([name == system for name in systems])
        errors.append(np.mean(probabilities[members] >= threshold) - np.mean(labels[members]))
    return float(np.sqrt(np.mean(np.square(errors))))


@settings(deadline=None)
@pytest.mark.parametrize("rule", RULES)
@given(rows=ROWS.filter(lambda rows: len({row[0] for row in rows}) == 2))
def test_no_threshold_is_better(rule: str, rows: list[tuple[int, float, str]]) -> None:
    labels, probabilities = np.array([row[:2] for row in rows]).T
    best = best_threshold(labels, probabilities, rule)
    assert 0.0 <= best.threshold <= 1.0

    def reached(threshold: float) -> float:
        value: float = getattr(classification_figures(labels, probabilities, threshold), rule)
        return value

    assert reached(best.threshold) == pytest.approx(best.value)
    assert best.value >= max(reached(threshold) for threshold in EVERY if threshold <= 1.0) - 1e-12


@settings(deadline=None)
@given(rows=ROWS)
def test_no_threshold_has_a_smaller_rmse(rows: list[tuple[int, float, str]]) -> None:
    labels, probabilities = np.array([row[:2] for row in rows]).T
    systems = [row[2] for row in rows]
    best = rmse_threshold(labels, probabilities, systems)
    assert 0.0 <= best.threshold <= 1.0
    assert rmse_at(best.threshold, labels, probabilities, systems) == pytest.approx(best.value, abs=1e-9)
    others = [rmse_at(threshold, labels, probabilities, systems) for threshold in EVERY if threshold <= 1.0]
    assert best.value <= min(others) + 1e-9


def test_systems_weigh_alike() -> None:
    labels = [1, 1, 0, 0, 0, 0, 0, 0]
    probabilities = [0.9, 0.4, 0.8, 0.6, 0.6, 0.2, 0.2, 0.2]
    # of 0.2 < t <= 0.4, 0.4 < t <= 0.6, 0.6 < t <= 0.8, 0.8 < t <= 0.9: (0, 1/2), (1/2, 1/2), (1/2, 1/6), (1/2, 0)
    assert rmse_threshold(labels, probabilities, [*"aa", *"bbbbbb"]) == Threshold(
        pytest.approx(0.3), pytest.approx(0.5 / 2**0.5)
    )


def test_of_equally_good_ranges_the_widest_then_the_lowest() -> None:
    # accuracy 3/4 for 0.1 < t <= 0.2, 0.3 < t <= 0.7
    assert best_threshold([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.7], "accuracy") == Threshold(pytest.approx(0.5), 0.75)
    assert best_threshold([0, 1, 0, 1], [0.0, 0.25, 0.5, 0.75], "accuracy") == Threshold(0.125, 0.75)


def test_a_probability_equal_to_the_threshold_is_correct() -> None:
    low, high = 0.5, float(np.nextafter(0.5, 1.0))
    assert best_threshold([0, 1], [low, high], "accuracy") == Threshold(high, 1.0)


@pytest.mark.parametrize(
    ("probabilities", "threshold"), [([0.2, 0.2], 0.6), ([1.0, 1.0], 0.5), ([0.0, 0.0], 0.5), ([0.5, 0.5], 0.25)]
)
def test_constant_probabilities(probabilities: list[float], threshold: float) -> None:
    assert best_threshold([0, 1], probabilities, "accuracy") == Threshold(pytest.approx(threshold), 0.5)


@pytest.mark.parametrize(("label", "threshold", "value"), [(1, 0.15, 0.0), (0, 0.8, 0.0)])
def test_rmse_does_without_a_second_class(label: int, threshold: float, value: float) -> None:
    assert rmse_threshold([label] * 2, [0.3, 0.6], ["a", "b"]) == Threshold(pytest.approx(threshold), value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: best_threshold([1, 1], [0.5, 0.1]), "A threshold needs rows of both classes; all 2 labels are 1."),
        (lambda: best_threshold([1, 0], [0.5, 0.1], "auroc"), "one of 'f1' or 'accuracy'; got 'auroc'"),
        (lambda: best_threshold([1, 0], [0.5, -0.1]), r"'probabilities\[1\]' must be between 0 and 1; got -0.1."),
        (lambda: best_threshold([1, 0], [0.5]), "There are 2 labels and 1 probabilities"),
        (lambda: best_threshold([], []), "at least one row"),
        (lambda: rmse_threshold([], [], []), "at least one row"),
        (lambda: rmse_threshold([1, 0], [0.5, 0.1], ["a"]), "There are 2 labels and 1 systems"),
        (lambda: rmse_threshold([1, 0], [0.5, np.nan], ["a", "a"]), r"'probabilities\[1\]' must be a finite number"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]
