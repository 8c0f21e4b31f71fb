"""Whether probabilities mean what they say: temperature scaling, reliability bins, expected calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.statistics.columns import (
    BoolArray,
    FloatArray,
    label_column,
    number_column,
    probability_column,
    require_both_classes,
)

DEFAULT_BINS = 15
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.05, 20.0


class TemperatureFit(NamedTuple):
    """A temperature and what it gains.

    Args:
        temperature: What logits are divided by; above 1 the probabilities were too sure, below 1 too timid.
        log_loss_before: Mean negative log-likelihood at temperature 1, in nats.
        log_loss: The same at this temperature.
        at_bound: Whether the best temperature lies outside the range searched, as on rows that are all on the right
            side of 0.5; more rows are needed then.
    """

    temperature: float
    log_loss_before: float
    log_loss: float
    at_bound: bool


class ReliabilityBin(NamedTuple):
    """The rows whose probability is above ``low`` and at most ``high``; the first bin takes 0 as well.

    Args:
        low: Lower edge.
        high: Upper edge.
        total: Number of rows.
        mean_probability: None in an empty bin.
        share_correct: Share of rows labelled 1; None in an empty bin.
    """

    low: float
    high: float
    total: int
    mean_probability: float | None
    share_correct: float | None


def fit_temperature(labels: ArrayLike, logits: ArrayLike) -> TemperatureFit:
    """Return the temperature that minimises the log loss of ``sigmoid(logit / temperature)``.

    The loss is convex in one over the temperature, so its slope has one root.

    Args:
        labels: Shape (n,): 1 for correct, else 0; both must occur.
        logits: Shape (n,): log-odds of correct.

    Returns:
        The temperature, between 0.05 and 20; 1 where all logits are 0.

    Raises:
        InputError: The lengths differ, there are no rows, a label is neither 0 nor 1, all labels are equal, or a logit
            is not finite.

    Example:
        >>> fit = fit_temperature([1, 1, 1, 0], [2.0, 2.0, 2.0, 2.0])
        >>> round(fit.temperature, 3), bool(fit.log_loss < fit.log_loss_before)  # sigmoid(2 / 1.82) = 0.75
        (1.82, True)

    Source:
        Guo et al. 2017, On Calibration of Modern Neural Networks, section 4.2 (temperature scaling), with one logit.
    """
    correct = label_column("labels", labels)
    column = number_column("logits", logits, like=("labels", len(correct)))
    require_both_classes(correct, "A temperature")
    margins = np.where(correct, column, -column)  # positive: on the right side
    least, most = 1.0 / HIGHEST_TEMPERATURE, 1.0 / LOWEST_TEMPERATURE
    inverse, at_bound = 1.0, False
    if column.any():
        from scipy.optimize import brentq

        if _slope(least, margins) >= 0.0:
            inverse, at_bound = least, True
        elif _slope(most, margins) <= 0.0:
            inverse, at_bound = most, True
        else:
            inverse = float(brentq(_slope, least, most, args=(margins,), xtol=1e-12))
    return TemperatureFit(1.0 / inverse, _log_loss(margins), _log_loss(margins * inverse), at_bound)


def scaled_probabilities(logits: ArrayLike, temperature: float) -> FloatArray:
    """Return ``sigmoid(logit / temperature)``.

    Args:
        logits: Shape (n,).
        temperature: Above 0.

    Returns:
        Shape (n,), in [0, 1].

    Raises:
        InputError: A logit is not finite, or the temperature is not a number above 0.

    Example:
        >>> scaled_probabilities([0.0], 2.0).tolist()
        [0.5]
    """
    from scipy.special import expit

    if not 0.0 < temperature < np.inf:
        raise parameter_error("temperature", "a number above 0", temperature)
    probabilities: FloatArray = expit(number_column("logits", logits) / temperature)
    return probabilities


def reliability_bins(labels: ArrayLike, probabilities: ArrayLike, bins: int = DEFAULT_BINS) -> list[ReliabilityBin]:
    """Return, for bins of equal width over [0, 1], how sure the rows are and how many are correct.

    Args:
        labels: Shape (n,), n of at least 1: 1 for correct, else 0.
        probabilities: Shape (n,), in [0, 1], of correct.
        bins: Number of bins, at least 1.

    Returns:
        One per bin, empty ones too, from low to high.

    Raises:
        InputError: The lengths differ, there are no rows, a label is neither 0 nor 1, a probability is outside 0–1, or
            the number of bins is not an integer of at least 1.

    Example:
        >>> for members in reliability_bins([1, 0, 1], [0.2, 0.4, 0.5], bins=2): print(*members)
        0.0 0.5 3 0.3666666666666667 0.6666666666666666
        0.5 1.0 0 None None

    Source:
        Guo et al. 2017, On Calibration of Modern Neural Networks, section 2 (reliability diagrams).
    """
    correct = label_column("labels", labels)
    column = probability_column("probabilities", probabilities, like=("labels", len(correct)))
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise parameter_error("bins", "an integer of at least 1", bins)
    edges = np.linspace(0.0, 1.0, int(bins) + 1)
    members = np.searchsorted(edges[1:-1], column, side="left")
    counts = np.bincount(members, minlength=bins)
    means = _means(members, column, counts)
    shares = _means(members, correct, counts)
    return [
        ReliabilityBin(float(low), float(high), int(count), mean, share)
        for low, high, count, mean, share in zip(edges[:-1], edges[1:], counts, means, shares, strict=True)
    ]


def expected_calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the mean gap, over rows, between a bin's mean probability and its share correct.

    Args:
        bins: Of ``reliability_bins``, with at least one row.

    Returns:
        In [0, 1]; 0 is perfectly calibrated. It is that of the probability of "correct", not of the likelier class.

    Raises:
        InputError: The bins hold no row.

    Example:
        >>> expected_calibration_error(reliability_bins([1, 0], [0.75, 0.25]))
        0.25

    Source:
        Guo et al. 2017, On Calibration of Modern Neural Networks, section 2, equation 3.
    """
    total = sum(members.total for members in bins)
    if not total:
        raise InputError("There are no rows in the bins; give what reliability_bins returns.")
    gaps = (
        members.total * abs(members.mean_probability - members.share_correct)
        for members in bins
        if members.mean_probability is not None and members.share_correct is not None
    )
    return float(sum(gaps) / total)


def _slope(inverse: float, margins: FloatArray) -> float:
    """Return the derivative of the log loss by one over the temperature."""
    from scipy.special import expit

    return float(np.mean(-margins * expit(-margins * inverse)))


def _log_loss(margins: FloatArray) -> float:
    return float(np.mean(np.logaddexp(0.0, -margins)))


def _means(members: np.ndarray, values: FloatArray | BoolArray, counts: np.ndarray) -> list[float | None]:
    sums = np.bincount(members, weights=values, minlength=len(counts))
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]
