"""RMSE, standard deviation of absolute errors and Kendall's tau-b of estimated against true figures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring import InputError
from qa_scoring.statistics.systems import SystemsComparison, compare_systems


def test_by_hand() -> None:
    comparison = compare_systems([0.5, 0.7, 0.6, 0.9], [0.4, 0.7, 0.9, 0.8])
    assert comparison.rmse == pytest.approx((0.11 / 4) ** 0.5)
    assert comparison.absolute_error_std == pytest.approx((0.11 / 4 - 0.125**2) ** 0.5)
    assert comparison.kendall_tau == pytest.approx((4 - 2) / 6)  # (0.7, 0.6) and (0.6, 0.9) are the other way round
    # exact p: of the 24 orders of four, those with two discordant pairs or fewer, or four or more
    orders = [sum(a > b for a, b in itertools.combinations(order, 2)) for order in itertools.permutations(range(4))]
    assert comparison.p_value == pytest.approx(sum(count <= 2 or count >= 4 for count in orders) / 24)
    assert all(type(value) in (float, int) for value in vars(comparison).values())


@pytest.mark.parametrize(("estimated", "true"), [([0.5], [0.7]), ([0.5, 0.5], [0.4, 0.6]), ([0.4, 0.6], [0.5, 0.5])])
def test_what_cannot_be_ranked_has_no_tau(estimated: list[float], true: list[float]) -> None:
    comparison = compare_systems(estimated, true)
    assert comparison.kendall_tau is None
    assert comparison.p_value is None
    assert comparison.rmse >= comparison.absolute_error_std


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=12, unique=True))
def test_equal_and_reversed_rankings(figures: list[int]) -> None:
    values = np.array(figures) / 1000
    equal = compare_systems(values, values)
    assert equal == SystemsComparison(0.0, 0.0, pytest.approx(1.0), equal.p_value, len(values))
    assert compare_systems(1.0 - values, values).kendall_tau == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("estimated", "true", "message"),
    [
        ([], [], "one per system, with at least one"),
        ([0.5], [0.5, 0.6], "There are 1 estimated and 2 true; give one of each per row."),
        ([0.5, float("nan")], [0.5, 0.6], r"'estimated\[1\]' must be a finite number; got nan."),
        ([0.5, 0.6], [0.5, None], r"'true\[1\]' must be a finite number; got nan."),
    ],
)
def test_bad_input_is_refused(estimated: list[float], true: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_systems(estimated, true)
