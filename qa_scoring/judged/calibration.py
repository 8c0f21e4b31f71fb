"""Calibration of a judge on judged answers: first the temperature, then the threshold, stored with the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qa_scoring.ava import score_ava
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.judge.loading import EMBEDDED_NAME
from qa_scoring.judge.stored import store_decision
from qa_scoring.judged.evaluation import rows_by, verdicts_of
from qa_scoring.judged.scorers import Answers, ModelOptions
from qa_scoring.statistics.calibration import (
    DEFAULT_BINS,
    HIGHEST_TEMPERATURE,
    LOWEST_TEMPERATURE,
    ReliabilityBin,
    expected_calibration_error,
    fit_temperature,
    reliability_bins,
    scaled_probabilities,
)
from qa_scoring.statistics.columns import BoolArray, FloatArray
from qa_scoring.statistics.thresholds import RULES as POINT_WISE_RULES
from qa_scoring.statistics.thresholds import best_threshold, rmse_threshold

RULES = ("rmse", *POINT_WISE_RULES)
_MOST_SURE = 36.7  # the largest logit whose sigmoid is not 1.0 in float64
_GRID = 200  # temperatures looked at before the best one is refined


@dataclass(frozen=True)
class CalibrationState:
    """A judge with one temperature and threshold, on the answers it was calibrated on.

    Args:
        temperature: What its logits are divided by.
        threshold: An answer with at least this probability is correct.
        log_loss: Mean negative log-likelihood of people's verdicts, in nats.
        expected_calibration_error: In [0, 1].
        reliability: The bins it is computed from.
        rule_value: What the rule looks at, at this threshold: RMSE, F1 or accuracy.
    """

    temperature: float
    threshold: float
    log_loss: float
    expected_calibration_error: float
    reliability: list[ReliabilityBin]
    rule_value: float


@dataclass(frozen=True)
class Calibration:
    """What ``calibrate_judge`` did.

    Args:
        folder: Holds the judge with the new temperature and threshold.
        rule: How the threshold was chosen.
        total: Number of answers.
        read: Number of those that the judge reads: not empty, with references. Temperature, log loss and reliability
            are of these.
        at_bound: Whether the best temperature lies outside the range searched; more answers are needed then.
        before: The judge as it was.
        after: The judge as it is stored.
    """

    folder: str
    rule: str
    total: int
    read: int
    at_bound: bool
    before: CalibrationState
    after: CalibrationState


def calibrate_judge(
    folder: str | Path,
    answers: Answers,
    *,
    rule: str = "rmse",
    out: str | Path | None = None,
    bins: int = DEFAULT_BINS,
    options: ModelOptions | None = None,
) -> Calibration:
    """Fit a judge's temperature and threshold to people's verdicts, and store both with it.

    The temperature minimises the log loss of the answer's probability, which for a judge of one reference is the mean
    (or maximum) over the references; the threshold is then chosen on the new probabilities.

    Args:
        folder: Holds a judge of any kind. It is changed, unless ``out`` is given.
        answers: n answers with a verdict each, correct and incorrect ones; other ones than the judge is measured on.
        rule: ``"rmse"``, the least error of the systems' estimated accuracies (the paper), which needs answers of two
            systems or more; ``"f1"`` or ``"accuracy"``, the highest over all answers.
        out: Where a copy with the new values goes, which must not be there yet; None changes ``folder``.
        bins: Reliability bins, at least 1.
        options: How models run; ``aggregate`` is part of what is calibrated.

    Returns:
        Temperature, threshold and calibration error before and after.

    Raises:
        InputError: The judge is not in a local folder, the answers lack verdicts, one of the two verdicts, or what the
            rule needs, or the judge cannot be read or written.

    Source:
        Guo et al. 2017, On Calibration of Modern Neural Networks, section 4.2 (temperature); Vu & Moschitti 2021, AVA,
        system-wise evaluation (threshold).
    """
    options = options or ModelOptions()
    place = _check(folder, answers, rule, out)
    labels = verdicts_of(answers)
    scored = score_ava(
        [answer.answer for answer in answers],
        [list(answer.references) for answer in answers],
        questions=[answer.question for answer in answers],
        model=str(place),
        **options.of_judges(),
    )
    stored = float(scored.signature["temperature"] or 1.0)
    probabilities = _Probabilities(scored.rows.extra["reference_scores"], options.aggregate, stored)
    if not probabilities.rows:
        raise InputError("The judge reads none of the answers: all are empty, or have no references.")
    read = labels[probabilities.rows]
    temperature, at_bound = probabilities.fit(read)

    def state(temperature: float, threshold: float | None) -> CalibrationState:
        found = probabilities.at(temperature)
        every = scored.rows.scores["ava_score"].copy()  # which answers that are not read keep
        every[probabilities.rows] = found
        if threshold is None:
            threshold = _choose(rule, labels, every, answers)
        reliability = reliability_bins(read, found, bins)
        return CalibrationState(
            temperature,
            threshold,
            _log_loss(read, found),
            expected_calibration_error(reliability),
            reliability,
            _rule_value(rule, labels, every >= threshold, answers),
        )

    before = state(stored, scored.result["threshold"])
    after = state(temperature, None)
    written = store_decision(place, after.threshold, temperature, out=None if out is None else Path(out))
    return Calibration(str(written), rule, len(answers), len(read), at_bound, before, after)


class _Probabilities:
    """The probabilities of answers at any temperature, from those of one.

    Args:
        by_reference: Per answer the probabilities by each reference; none where the judge does not read it.
        aggregate: What is taken of them.
        temperature: The one they were made with.
    """

    def __init__(self, by_reference: Sequence[Sequence[float]], aggregate: str, temperature: float) -> None:
        self.rows = [row for row, several in enumerate(by_reference) if several]
        counts = [len(by_reference[row]) for row in self.rows]
        flat = np.array([score for row in self.rows for score in by_reference[row]], dtype=np.float64)
        with np.errstate(divide="ignore"):
            logits = np.clip(np.log(flat) - np.log1p(-flat), -_MOST_SURE, _MOST_SURE)
        self._logits: FloatArray = logits * temperature
        self._starts = np.cumsum([0, *counts[:-1]])
        self._counts = np.array(counts)
        self._aggregate = aggregate

    def at(self, temperature: float) -> FloatArray:
        """Return one probability per answer that is read."""
        found = scaled_probabilities(self._logits, temperature)
        if self._aggregate == "max":
            return np.asarray(np.maximum.reduceat(found, self._starts))
        return np.asarray(np.clip(np.add.reduceat(found, self._starts) / self._counts, 0.0, 1.0))

    def fit(self, labels: BoolArray) -> tuple[float, bool]:
        """Return the temperature of the least log loss, and whether it lies at the end of the range."""
        one_logit = self._aggregate == "max" or bool((self._counts == 1).all())
        best = fit_temperature(labels, np.maximum.reduceat(self._logits, self._starts))  # refuses one class
        if one_logit:
            return best.temperature, best.at_bound
        from scipy.optimize import minimize_scalar

        def loss(log_temperature: float) -> float:
            return _log_loss(labels, self.at(float(np.exp(log_temperature))))

        # a mean of sigmoids has no convex loss: the best of a grid, then its surroundings
        grid = np.linspace(np.log(LOWEST_TEMPERATURE), np.log(HIGHEST_TEMPERATURE), _GRID)
        place = int(np.argmin([loss(value) for value in grid]))
        if place in (0, _GRID - 1):
            return float(np.exp(grid[place])), True
        found = minimize_scalar(loss, bounds=(grid[place - 1], grid[place + 1]), method="bounded")
        return float(np.exp(found.x)), False


def _check(folder: str | Path, answers: Answers, rule: str, out: str | Path | None) -> Path:
    if rule not in RULES:
        raise parameter_error("rule", " or ".join(map(repr, RULES)), rule)
    place = Path(folder)
    if str(folder) == EMBEDDED_NAME or not place.is_dir():
        raise InputError(
            f"Calibration changes a judge's files: expected the local folder of a judge; got {str(folder)!r}. Download "
            f"or copy the judge, and pass its folder."
        )
    if out is not None and Path(out).exists():
        raise InputError(f"{out} is there already; name a folder that is not.")
    if rule == "rmse":
        systems = rows_by(answers, "system")
        if len(systems) < 2:
            raise InputError(
                f"The rule 'rmse' needs answers of two systems or more; got {len(systems)}. Take 'f1' or 'accuracy'."
            )
    return place


def _choose(rule: str, labels: BoolArray, probabilities: FloatArray, answers: Answers) -> float:
    if rule == "rmse":
        return rmse_threshold(labels, probabilities, [answer.system for answer in answers]).threshold
    return best_threshold(labels, probabilities, rule).threshold


def _rule_value(rule: str, labels: BoolArray, judged: BoolArray, answers: Answers) -> float:
    if rule == "accuracy":
        return float((labels == judged).mean())
    if rule == "f1":
        return float(2.0 * (labels & judged).sum() / (labels.sum() + judged.sum()))
    errors = [judged[rows].mean() - labels[rows].mean() for rows in rows_by(answers, "system").values()]
    return float(np.sqrt(np.mean(np.square(errors))))


def _log_loss(labels: BoolArray, probabilities: FloatArray) -> float:
    least = np.finfo(np.float64).tiny
    right = np.where(labels, probabilities, 1.0 - probabilities)
    return float(-np.log(np.maximum(right, least)).mean())
