"""The evaluator's bootstrap: rows are drawn again, as scipy draws them; models and metrics are not asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.hf.conftest import ROWS, as_dataset
from tests.hf.stock import SquadV2

Load = Callable[[str], Any]
LEVEL, RESAMPLES, SEED = 0.9, 500, 7
BOOTSTRAP = {"strategy": "bootstrap", "confidence_level": LEVEL, "n_resamples": RESAMPLES, "random_state": SEED}
RANDOM = np.random.default_rng(3)
MANY = [{**ROWS[row], "id": f"r{number}"} for number, row in enumerate(RANDOM.integers(0, len(ROWS), 40).tolist())]
ONE_UNANSWERABLE = [{**ROWS[0], "id": str(number)} for number in range(19)] + [ROWS[2]]


class Guesser:
    """Answers with the right answer, a part of the context, or nothing, and is more or less sure."""

    def __init__(self, rows: list[dict[str, Any]], seed: int = 5) -> None:
        generator = np.random.default_rng(seed)
        self.calls = 0
        self.answers = []
        for row in rows:
            texts = [*row["answers"], row["context"][:12], row["context"][:30], ""]
            probability = round(float(generator.random()), 1)  # with ties
            self.answers.append({"answer": str(generator.choice(texts)), "no_answer_probability": probability})

    def __call__(self, *, question: list[str], context: list[str]) -> list[dict[str, Any]]:
        self.calls += 1
        return self.answers


def drawn_rows(count: int) -> NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))


def scipy_interval(values: Any) -> Any:
    return stats.bootstrap(
        (values,), np.mean, method="percentile", confidence_level=LEVEL, n_resamples=RESAMPLES, rng=SEED
    )


def run(qa: Any, metric: Any, rows: list[dict[str, Any]] = MANY, **options: Any) -> dict[str, Any]:
    return qa.compute(Guesser(rows), as_dataset(rows), metric=metric, squad_v2_format=True, **{**BOOTSTRAP, **options})


def naive_best(scores: list[float], has_answer: list[bool], answered: list[bool], values: list[float]) -> Any:
    """Find the best threshold as the official SQuAD 2.0 script does."""
    current = best = sum(1 for has in has_answer if not has)
    threshold = 0.0
    for row in sorted(range(len(values)), key=lambda row: values[row]):
        difference = scores[row] if has_answer[row] else (-1 if answered[row] else 0)
        current += difference
        if current > best:
            best, threshold = current, values[row]
    return 100.0 * best / len(values), threshold


@pytest.mark.parametrize("threshold", [1.0, 0.45])
def test_intervals_are_scipys(qa: Any, load: Load, threshold: float) -> None:
    qa.METRIC_KWARGS["no_answer_threshold"] = threshold
    metric = load("m2qa_squad_v2")
    result = run(qa, metric)
    rows = metric.scored().rows
    for name in ("exact", "f1"):
        silent = rows.no_answer > threshold
        values = np.where(silent, ~rows.has_answer, rows.scores[name])
        expected = scipy_interval(values)
        assert result[name]["score"] == pytest.approx(100 * values.mean())
        assert result[name]["confidence_interval"] == pytest.approx(100 * np.array(expected.confidence_interval))
        assert result[name]["standard_error"] == pytest.approx(100 * expected.standard_error)
        for prefix, members in (("HasAns_", rows.has_answer), ("NoAns_", ~rows.has_answer)):
            # a resample may miss the subset
            means = [100 * values[draw][members[draw]].mean() for draw in drawn_rows(len(MANY)) if members[draw].any()]
            bounds = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            assert result[prefix + name]["confidence_interval"] == pytest.approx(bounds)


@pytest.mark.parametrize("name", ["exact", "f1"])
def test_best_figures_are_those_of_the_drawn_rows(qa: Any, load: Load, name: str) -> None:
    metric = load("m2qa_squad_v2")
    result = run(qa, metric)
    rows = metric.scored().rows
    columns = [values.tolist() for values in (rows.scores[name], rows.has_answer, rows.answered, rows.no_answer)]
    # rows that are drawn twice stand beside each other, in the order of the data
    found = [
        naive_best(*([column[row] for row in sorted(draw)] for column in columns)) for draw in drawn_rows(len(MANY))
    ]
    for key, values in ((f"best_{name}", [b for b, _ in found]), (f"best_{name}_thresh", [t for _, t in found])):
        bounds = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        assert result[key]["confidence_interval"] == pytest.approx(bounds), key
        assert result[key]["standard_error"] == pytest.approx(np.std(values, ddof=1)), key


def test_our_own_intervals_are_the_same(qa: Any, load: Load) -> None:
    result = run(qa, load("m2qa_squad_v2"))
    qa.METRIC_KWARGS.update(confidence_level=LEVEL, n_resamples=RESAMPLES, seed=SEED)
    own = run(qa, load("m2qa_squad_v2"), strategy="simple")["confidence_intervals"]
    assert set(own) > {"exact", "HasAns_f1", "NoAns_f1"}
    for name, interval in own.items():
        assert result[name]["confidence_interval"] == pytest.approx(interval)


def test_neither_model_nor_metric_runs_again(qa: Any, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    metric, scored = load("m2qa_squad_v2"), []
    compute = metric._compute

    def counted(predictions: Any, references: Any, language: Any = None) -> Any:
        scored.append(language)
        return compute(predictions, references, language=language)

    monkeypatch.setattr(metric, "_compute", counted)
    qa.METRIC_KWARGS["language"] = "zh"
    guesser = Guesser(MANY)
    qa.compute(guesser, as_dataset(MANY), metric=metric, squad_v2_format=True, **BOOTSTRAP)
    assert guesser.calls == 1
    assert scored == ["zh"]


def test_the_arguments_of_the_metric_hold_in_every_resample(qa: Any, load: Load) -> None:
    metric = load("m2qa_squad_v2")
    plain = run(qa, metric)
    qa.METRIC_KWARGS["language"] = "zh"
    chinese = run(qa, metric)
    assert chinese["f1"]["score"] != plain["f1"]["score"]
    expected = 100 * np.array(scipy_interval(metric.scored().rows.scores["f1"]).confidence_interval)
    assert chinese["f1"]["confidence_interval"] == pytest.approx(expected)


def test_one_unanswerable_question_of_twenty(qa: Any, load: Load) -> None:
    result = run(qa, load("m2qa_squad_v2"), ONE_UNANSWERABLE)
    assert result["NoAns_total"]["score"] == 1
    score = result["NoAns_f1"]["score"]
    assert result["NoAns_f1"]["confidence_interval"] == (score, score)  # where it is drawn at all
    low, high = result["f1"]["confidence_interval"]
    assert 0 <= low <= result["f1"]["score"] <= high <= 100


def test_figures_without_resamples_have_no_interval(qa: Any, load: Load) -> None:
    answerable = [row for row in MANY if row["answers"]]
    result = run(qa, load("m2qa_squad_v2"), answerable)
    for name in ("total", "NoAns_f1"):
        assert result[name]["confidence_interval"] is None
        assert result[name]["standard_error"] is None
    assert result["NoAns_f1"]["score"] is None
    alone = run(qa, load("m2qa_squad_v2"), MANY[:1])
    assert alone["f1"]["standard_error"] == 0.0


def test_the_seed_decides(qa: Any, load: Load) -> None:
    metric = load("m2qa_squad_v2")

    def figures(seed: int | None) -> Any:
        return run(qa, metric, random_state=seed)["f1"]

    assert figures(1) == figures(1) != figures(2)
    assert figures(None) == figures(42)


def test_metrics_of_evaluate_score_the_drawn_rows(qa: Any, load: Load) -> None:
    """Each resample of theirs is computed, a row that is drawn twice under two ids."""
    ours = run(qa, load("m2qa_squad_v2"), n_resamples=60)
    theirs = run(qa, SquadV2(), n_resamples=60)
    assert theirs["exact"] == {**ours["exact"], **{name: pytest.approx(value) for name, value in ours["exact"].items()}}
    assert theirs["total"]["confidence_interval"] == (40.0, 40.0)


def test_metrics_together(qa: Any, load: Load) -> None:
    metrics = [load(name) for name in ("m2qa_squad_v2", "sas_metric")]
    both = run(qa, metrics)
    assert both["f1"] == run(qa, metrics[0])["f1"]
    expected = scipy_interval(metrics[1].scored().rows.scores["sas"])
    assert both["sas"]["confidence_interval"] == pytest.approx(tuple(expected.confidence_interval))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "jackknife"}, "'strategy' must be 'simple' or 'bootstrap'; got 'jackknife'"),
        ({"confidence_level": 95}, "'confidence_level'"),
        ({"n_resamples": 0}, "'n_resamples'"),
        ({"random_state": -1}, "'seed'"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str, qa: Any, load: Load) -> None:
    with pytest.raises(ValueError, match=message):
        run(qa, load("m2qa_squad_v2"), **options)
