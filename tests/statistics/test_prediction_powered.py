"""Prediction-powered means: ppi-python's figures, the textbook's formula for a fixed weight, and honest coverage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_scoring import InputError
from qa_scoring.statistics.columns import FloatArray
from qa_scoring.statistics.prediction_powered import TARGETS, PredictionPoweredMean, prediction_powered_mean


def sample(labelled: int, unlabelled: int, spread: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    numbers = np.arange(labelled + unlabelled)
    labels = ((numbers * numbers * 7 + 3 * numbers) % 97 < 75).astype(np.float64)
    noise = (numbers * numbers * 13 + 5 * numbers) % 89 / 89
    predictions = np.round((1 - spread) * (0.15 + 0.7 * labels) + spread * noise, 3)
    return labels[:labelled], predictions[:labelled], predictions[labelled:]


# ppi_mean_pointestimate, ppi_mean_ci (lam=None for tuned, else 1) and classical_mean_ci, alpha=0.05, of ppi-python
# 0.2.3 on the samples above. The papers' intervals are not cut to 0-1.
PPI_PYTHON = [
    ((40, 400, 0.3), True, (0.753675000, 0.674524760, 0.832825240), (0.586626334, 0.863373666)),
    ((40, 400, 0.3), False, (0.753675000, 0.674524760, 0.832825240), (0.586626334, 0.863373666)),
    ((119, 2266, 0.5), True, (0.758731092, 0.702092097, 0.815370088), (0.679168157, 0.833436885)),
    ((119, 2266, 0.5), False, (0.758731092, 0.702092097, 0.815370088), (0.679168157, 0.833436885)),
    ((30, 60, 1.0), True, (0.766666667, 0.615317809, 0.918015524), (0.615317809, 0.918015524)),
    ((30, 60, 1.0), False, (0.797583333, 0.582927132, 1.012239535), (0.615317809, 0.918015524)),
    ((200, 100, 0.6), True, (0.750570992, 0.694412872, 0.806729113), (0.695394050, 0.814605950)),
    ((200, 100, 0.6), False, (0.743390000, 0.678950568, 0.807829432), (0.695394050, 0.814605950)),
]


@pytest.mark.parametrize(("size", "tuned", "powered", "classical"), PPI_PYTHON)
def test_the_population_mean_is_that_of_ppi_python(
    size: tuple[int, int, float], tuned: bool, powered: tuple[float, ...], classical: tuple[float, float]
) -> None:
    mean = prediction_powered_mean(*sample(*size), tuned=tuned, target="population")
    assert (mean.estimate, mean.low, mean.high) == pytest.approx(np.clip(powered, 0.0, 1.0), abs=1e-8)
    assert mean.labels_only[1:] == pytest.approx(classical, abs=1e-8)
    assert mean.labels_only.estimate == pytest.approx(sample(*size)[0].mean())
    assert (mean.labelled, mean.unlabelled) == size[:2]
    assert all(type(value) is float for value in (*mean.labels_only, mean.estimate, mean.low, mean.high, mean.weight))


def test_ppi_python_agrees_where_it_is_installed() -> None:
    ppi = pytest.importorskip("ppi_py", reason="needs ppi-python; its figures are tested above without it")
    generator = np.random.default_rng(6)
    labels = (generator.random(500) < 0.7).astype(np.float64)
    predictions = np.clip(generator.normal(0.3 + 0.4 * labels, 0.3), 0.0, 1.0)
    columns = labels[:80], predictions[:80], predictions[80:]
    for tuned in (True, False):
        mean = prediction_powered_mean(*columns, 0.9, tuned=tuned, target="population")
        low, high = ppi.ppi_mean_ci(*columns, alpha=0.1, lam=None if tuned else 1)
        assert (mean.low, mean.high) == pytest.approx((float(low[0]), float(high[0])))


def difference_estimator(columns: tuple[FloatArray, FloatArray, FloatArray], weight: float) -> tuple[float, ...]:
    """Return the textbook's estimate and 95 % interval for a weight fixed beforehand."""
    labels, labelled, unlabelled = columns
    n, m = len(labels), len(unlabelled)
    every = np.concatenate([labelled, unlabelled])
    adjusted = weight * (n + m) / m
    estimate = adjusted * every.mean() + np.mean(labels - adjusted * labelled)
    error = np.sqrt((1 - n / (n + m)) * np.var(labels - adjusted * labelled, ddof=1) / n)
    margin = scipy.stats.t.ppf(0.975, n - 1) * error
    return estimate, estimate - margin, estimate + margin


@pytest.mark.parametrize("size", [(40, 400, 0.3), (119, 2266, 0.5), (200, 100, 0.6)])
def test_the_mean_of_these_rows_with_a_fixed_weight_is_the_textbooks(size: tuple[int, int, float]) -> None:
    columns = sample(*size)
    mean = prediction_powered_mean(*columns, tuned=False)
    assert mean.weight == 1.0
    assert (mean.estimate, mean.low, mean.high) == pytest.approx(difference_estimator(columns, 1.0))
    assert mean.labels_only == pytest.approx(difference_estimator(columns, 0.0))


def test_leaving_out_one_label_after_the_other_is_what_the_interval_rests_on() -> None:
    labels, labelled, unlabelled = sample(200, 100, 0.6)
    every = np.concatenate([labelled, unlabelled])
    mean = prediction_powered_mean(labels, labelled, unlabelled)

    def estimate_of(kept: FloatArray) -> float:
        covariance = np.mean((labels[kept] - labels[kept].mean()) * (labelled[kept] - labelled[kept].mean()))
        slope = np.clip(covariance / every.var(ddof=1), 0.0, 3.0)  # the weight times N / m
        return float(labels[kept].mean() + slope * (every.mean() - labelled[kept].mean()))

    estimates = np.array([estimate_of(np.delete(np.arange(200), row)) for row in range(200)])
    error = np.sqrt((1 - 200 / 300) * 199 * estimates.var())
    assert mean.estimate == pytest.approx(estimate_of(np.arange(200)))
    assert (mean.high - mean.low) / 2 == pytest.approx(scipy.stats.t.ppf(0.975, 199) * error)


def simulated(seed: int, rows: int, kind: str) -> tuple[FloatArray, FloatArray]:
    """Return labels and a judge's predictions of about 92 % accuracy."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(rows) < 0.775).astype(np.float64)
    if kind == "verdicts":
        return labels, np.where(generator.random(rows) < 0.08, 1.0 - labels, labels)
    logits = 2.8 * generator.normal(np.where(labels == 1.0, 1.4, -1.4), 1.0) + 1.2
    return labels, 1.0 / (1.0 + np.exp(-logits))


def covered(draws: list[PredictionPoweredMean], truth: float) -> float:
    return float(np.mean([mean.low <= truth <= mean.high for mean in draws]))


@pytest.mark.parametrize("kind", ["probabilities", "verdicts"])
def test_95_percent_intervals_cover_the_accuracy_of_these_rows(kind: str) -> None:
    labels, predictions = simulated(1, 2385, kind)
    assert 0.91 < np.mean((predictions >= 0.5) == labels) < 0.95
    generator = np.random.default_rng(2)
    draws = []
    for _ in range(2000):
        order = generator.permutation(len(labels))
        chosen, others = order[:119], order[119:]
        draws.append(prediction_powered_mean(labels[chosen], predictions[chosen], predictions[others]))
    assert 0.94 <= covered(draws, labels.mean()) <= 0.965
    assert np.mean([mean.estimate for mean in draws]) == pytest.approx(labels.mean(), abs=0.003)
    widths = np.array([mean.high - mean.low for mean in draws])
    alone = np.array([mean.labels_only.high - mean.labels_only.low for mean in draws])
    assert np.mean(widths) < 0.66 * np.mean(alone)
    assert np.mean(widths < alone) > 0.97


def test_with_many_labels_the_population_interval_is_too_wide_for_these_rows() -> None:
    labels, predictions = simulated(3, 600, "probabilities")
    generator = np.random.default_rng(4)
    draws: dict[str, list[PredictionPoweredMean]] = {target: [] for target in TARGETS}
    for _ in range(1000):
        order = generator.permutation(600)
        columns = labels[order[:300]], predictions[order[:300]], predictions[order[300:]]
        for target, means in draws.items():
            means.append(prediction_powered_mean(*columns, target=target))
    assert 0.935 <= covered(draws["rows"], labels.mean()) <= 0.965
    assert covered(draws["population"], labels.mean()) > 0.99


@settings(deadline=None)
@given(
    labels=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 10)), min_size=2, max_size=15),
    unlabelled=st.lists(st.integers(0, 10), max_size=15),
    tuned=st.booleans(),
    target=st.sampled_from(TARGETS),
)
def test_every_interval_is_possible_and_holds_its_estimate(
    labels: list[tuple[int, int]], unlabelled: list[int], tuned: bool, target: str
) -> None:
    people, judged = np.array(labels, dtype=np.float64).T
    mean = prediction_powered_mean(people, judged / 10, np.array(unlabelled) / 10, tuned=tuned, target=target)
    assert 0.0 <= mean.low <= mean.estimate <= mean.high <= 1.0
    assert 0.0 <= mean.weight <= 1.0
    assert mean.labels_only.low <= mean.labels_only.estimate <= mean.labels_only.high
    if target == "rows":
        total = len(people) + len(unlabelled)
        assert mean.low >= people.sum() / total - 1e-12
        assert mean.high <= (people.sum() + len(unlabelled)) / total + 1e-12
    opposite = prediction_powered_mean(
        1.0 - people, 1.0 - judged / 10, 1.0 - np.array(unlabelled) / 10, tuned=tuned, target=target
    )
    assert (opposite.estimate, opposite.low, opposite.high) == pytest.approx(
        (1.0 - mean.estimate, 1.0 - mean.high, 1.0 - mean.low), abs=1e-9
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_that_are_all_equal_do_not_give_an_interval_without_width(target: str, label: float) -> None:
    labels, predictions = np.full(20, label), np.linspace(0.5, 1.0, 20)
    mean = prediction_powered_mean(labels, predictions, np.linspace(0.0, 1.0, 180), target=target)
    exact = scipy.stats.binomtest(int(labels.sum()), 20).proportion_ci(0.95, method="exact")
    assert (mean.weight, mean.estimate) == (0.0, label)
    most = (labels.sum() / 200, (labels.sum() + 180) / 200) if target == "rows" else (0.0, 1.0)
    assert (mean.low, mean.high) == pytest.approx(np.clip((exact.low, exact.high), *most))
    assert (mean.low, mean.high) == mean.labels_only[1:]
    assert mean.high - mean.low > 0.1


def test_without_unlabelled_rows_the_labels_say_it_all() -> None:
    rows = prediction_powered_mean([1, 0, 1, 1], [0.9, 0.2, 0.7, 0.8], [])
    assert (rows.estimate, rows.low, rows.high, rows.weight) == (0.75, 0.75, 0.75, 0.0)
    population = prediction_powered_mean([1, 0, 1, 1], [0.9, 0.2, 0.7, 0.8], [], target="population")
    assert (population.estimate, population.low, population.high) == population.labels_only
    assert population.low < 0.75 < population.high


def test_predictions_that_say_nothing_are_left_aside() -> None:
    mean = prediction_powered_mean([1, 0, 1, 1], [0.5] * 4, [0.5] * 30)
    assert mean.weight == 0.0
    assert (mean.estimate, mean.low, mean.high) == mean.labels_only


@pytest.mark.parametrize(
    ("labels", "labelled", "unlabelled", "options", "message"),
    [
        ([1], [0.5], [0.5], {}, "needs at least 2 labels, of rows drawn at random; got 1. Label more rows"),
        ([], [], [0.5], {}, "needs at least 2 labels, of rows drawn at random; got 0. Label more rows"),
        (["yes", "no"], [0.5, 0.5], [0.5], {}, "'labels' must be a column of 0 and 1; got"),
        ([1, 0], [0.5], [0.5], {}, "There are 2 labels and 1 predictions_labelled"),
        ([1, 0.5], [0.5, 0.5], [0.5], {}, r"'labels\[1\]' must be 0 or 1; got 0.5."),
        ([1, 0], [0.5, 1.5], [0.5], {}, r"'predictions_labelled\[1\]' must be between 0 and 1; got 1.5."),
        ([1, 0], [0.5, 0.5], [float("nan")], {}, r"'predictions_unlabelled\[0\]' must be a finite number; got nan."),
        ([1, 0], [0.5, 0.5], [-0.5], {}, r"'predictions_unlabelled\[0\]' must be between 0 and 1; got -0.5."),
        ([1, 0], [0.5, 0.5], [0.5], {"confidence_level": 95}, "'confidence_level' must be a number between 0 and 1"),
        ([1, 0], [0.5, 0.5], [0.5], {"confidence_level": None}, "'confidence_level' must be a number between 0 and 1"),
        ([1, 0], [0.5, 0.5], [0.5], {"target": "file"}, "one of 'rows' or 'population'; got 'file'"),
    ],
)
def test_bad_input_is_refused(
    labels: list[float], labelled: list[float], unlabelled: list[float], options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        prediction_powered_mean(labels, labelled, unlabelled, **options)  # type: ignore[arg-type]
