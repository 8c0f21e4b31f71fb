"""The metric through ``evaluate.load``: every way to pass rows gives the figures of the function."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import qa_scoring
from tests.conftest import REPOSITORY

PREDICTIONS = [
    {"id": "a", "prediction_text": "im Rathaus von Köln", "no_answer_probability": 0.1},
    {"id": "b", "prediction_text": "", "no_answer_probability": 0.9},
    {"id": "c", "prediction_text": "1902", "no_answer_probability": 0.4},
    {"id": "d", "prediction_text": "Hansen", "no_answer_probability": 0.4},
]
REFERENCES = [
    {"id": "a", "answers": {"text": ["Rathaus von Köln", "im Rathaus"], "answer_start": [3, 0]}},
    {"id": "b", "answers": {"text": [], "answer_start": []}},
    {"id": "c", "answers": {"text": ["1902"], "answer_start": [0]}},
    {"id": "d", "answers": {"text": [], "answer_start": []}},
]
KEYS = [
    "exact", "f1", "total", "HasAns_exact", "HasAns_f1", "HasAns_total", "NoAns_exact", "NoAns_f1", "NoAns_total",
    "best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh",
]  # fmt: skip
EXPECTED = qa_scoring.score_multilingual_squad(PREDICTIONS, REFERENCES, language="de").result


def plain(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key in keys} for row in rows]


def test_the_figures_by_hand() -> None:
    f1 = 100 * (6 / 7 + 1 + 1 + 0) / 4
    assert list(EXPECTED) == KEYS
    assert pytest.approx(f1) == EXPECTED["f1"]
    assert (EXPECTED["exact"], EXPECTED["HasAns_exact"], EXPECTED["NoAns_exact"]) == (50.0, 50.0, 50.0)
    # above 0.1 nothing is answered: a, b and d count as they should, c is lost; above 0.4 d is answered
    assert (EXPECTED["best_exact"], EXPECTED["best_exact_thresh"]) == (75.0, 0.4)


FORMS: dict[str, tuple[Any, Any]] = {
    "SQuAD v2 records": (PREDICTIONS, REFERENCES),
    "in another order": (PREDICTIONS, REFERENCES[::-1]),
    "official list of answers": (
        PREDICTIONS,
        [{"id": row["id"], "answers": [{"text": text} for text in row["answers"]["text"]]} for row in REFERENCES],
    ),
    "answers as a list of strings": (
        PREDICTIONS,
        [{"id": row["id"], "answers": row["answers"]["text"]} for row in REFERENCES],
    ),
    "without answer_start": (
        PREDICTIONS,
        [{"id": row["id"], "answers": {"text": row["answers"]["text"]}} for row in REFERENCES],
    ),
    "whole SQuAD file": (
        PREDICTIONS,
        {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": REFERENCES}]}]},
    ),
    "references by id": (PREDICTIONS, {row["id"]: row["answers"]["text"] for row in REFERENCES}),
    "answers by position": (PREDICTIONS, [row["answers"] for row in REFERENCES]),
    "lists by position": (PREDICTIONS, [row["answers"]["text"] for row in REFERENCES]),
    "data sets": (datasets.Dataset.from_list(PREDICTIONS), datasets.Dataset.from_list(REFERENCES)),
    "tuples": (tuple(PREDICTIONS), tuple({**row, "answers": tuple(row["answers"]["text"])} for row in REFERENCES)),
}
WITHOUT_VALUES: dict[str, tuple[Any, Any]] = {
    "SQuAD v1 records": (plain(PREDICTIONS, "id", "prediction_text"), REFERENCES),
    "strings": ([row["prediction_text"] for row in PREDICTIONS], [row["answers"]["text"] for row in REFERENCES]),
    "mappings by id": (
        {row["id"]: row["prediction_text"] for row in PREDICTIONS[::-1]},
        {row["id"]: row["answers"] for row in REFERENCES},
    ),
    "values that are all None": ([{**row, "no_answer_probability": None} for row in PREDICTIONS], REFERENCES),
}


@pytest.fixture(scope="module")
def metric(load_metric: Callable[..., Any]) -> Any:
    return load_metric("de")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_figures(form: str, metric: Any) -> None:
    predictions, references = FORMS[form]
    assert metric.compute(predictions=predictions, references=references) == pytest.approx(EXPECTED)


@pytest.mark.parametrize("form", WITHOUT_VALUES)
def test_forms_without_no_answer_values_have_no_best_threshold(form: str, metric: Any) -> None:
    predictions, references = WITHOUT_VALUES[form]
    result = metric.compute(predictions=predictions, references=references)
    assert list(result) == KEYS
    for key in KEYS:
        assert result[key] == (None if key.startswith("best_") else pytest.approx(EXPECTED[key]))


@pytest.mark.parametrize("keep_in_memory", [False, True])
@pytest.mark.parametrize("form", {**FORMS, **WITHOUT_VALUES})
def test_added_rows_give_the_same_figures(form: str, keep_in_memory: bool, load_metric: Callable[..., Any]) -> None:
    predictions, references = {**FORMS, **WITHOUT_VALUES}[form]
    metric = load_metric("de", keep_in_memory=keep_in_memory)
    metric.add_batch(predictions=predictions, references=references)
    assert len(metric) == 4
    direct = load_metric("de").compute(predictions=predictions, references=references)
    assert metric.compute() == direct
    assert len(metric) == 0


def test_add_row_by_row_and_compute_with_more(metric: Any) -> None:
    for prediction, reference in zip(PREDICTIONS[:2], REFERENCES[:2], strict=True):
        metric.add(prediction=prediction, reference=reference)
    result = metric.compute(predictions=PREDICTIONS[2:], references=REFERENCES[2:])
    assert result == EXPECTED
    with pytest.raises(ValueError, match="'predictions' is missing"):
        metric.compute()


def test_batches_may_hold_different_ids_on_the_two_sides(metric: Any) -> None:
    metric.add_batch(predictions=PREDICTIONS[:2], references=REFERENCES[2:])
    metric.add_batch(predictions=PREDICTIONS[2:], references=REFERENCES[:2])
    assert metric.compute() == pytest.approx(EXPECTED)


DISTRIBUTED = """
import json, sys
import evaluate, qa_scoring
rank, rows = int(sys.argv[1]), json.load(open(sys.argv[2]))
metric = evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"), "de", num_process=2, process_id=rank,
                       experiment_id="distributed-test", cache_dir=sys.argv[3])
metric.add_batch(predictions=rows["predictions"][rank::2], references=rows["references"][rank::2])
print(json.dumps(metric.compute()))
"""


def test_two_processes(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps({"predictions": PREDICTIONS, "references": REFERENCES}))
    command = [sys.executable, "-c", DISTRIBUTED]
    runs = [
        subprocess.Popen([*command, str(rank), str(rows), str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert json.loads(outputs[0]) == pytest.approx(EXPECTED)
    assert json.loads(outputs[1]) is None


def test_loads_from_a_checkout_and_as_in_m2qas_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert evaluate.load("./m2qa_squad_v2").compute(predictions=["x"], references=["x"], language="tr")["f1"] == 100.0
    from m2qa_squad_v2.m2qa_squad_v2 import M2QAMetric

    result = M2QAMetric().compute(predictions=PREDICTIONS, references=REFERENCES, language="german")
    assert result == EXPECTED


def test_language_of_the_call_goes_before_the_configuration(load_metric: Callable[..., Any]) -> None:
    metric = load_metric("zh-Hant")
    metric.compute(predictions=["北京"], references=["北京"])
    assert metric.signature()["language"] == "zh"
    metric.compute(predictions=["北京"], references=["北京"], language="ja")
    assert metric.signature()["language"] == "ja"


def test_combine_and_save(metric: Any, load_metric: Callable[..., Any], tmp_path: Path) -> None:
    combined = evaluate.combine({"first": metric, "second": load_metric("de")}, force_prefix=True)
    result = combined.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert result == {f"{name}_{key}": value for name in ("first", "second") for key, value in EXPECTED.items()}
    saved = evaluate.save(tmp_path / "result.json", **EXPECTED)
    assert json.loads(Path(saved or tmp_path / "result.json").read_text())["f1"] == EXPECTED["f1"]


def test_results_are_plain_numbers(metric: Any) -> None:
    result = metric.compute(
        predictions=PREDICTIONS, references=REFERENCES, confidence_level=0.9, groups=[1, 1, 2, 2], details=True
    )
    assert json.loads(json.dumps(result)) == result
    assert [type(result[key]) for key in KEYS] == [int if key.endswith("total") else float for key in KEYS]


# -------------------------------------------------------------- thresholds, groups, intervals, details


@pytest.mark.parametrize(
    ("threshold", "exact"),
    [
        (-8.0, 50.0),  # all four say nothing: right for b and d
        (-7.5, 50.0),  # not above: a is answered, wrongly
        (-0.5, 50.0),  # only b says nothing: b and c right, a and d wrong
        (-0.6, 50.0),  # c and d say nothing too: b and d right
        (3.25, 50.0),  # nobody says nothing by the threshold; b's answer is empty anyway
    ],
)
def test_threshold_is_strict_and_takes_any_score(threshold: float, exact: float, metric: Any) -> None:
    values = (-7.5, 3.25, -0.5, -0.5)
    logits = [{**row, "no_answer_probability": value} for row, value in zip(PREDICTIONS, values, strict=True)]
    result = metric.compute(predictions=logits, references=REFERENCES, no_answer_threshold=threshold)
    silent = [value > threshold for value in values]
    right = [
        (quiet and not row["answers"]["text"]) or (not quiet and row["id"] in "bc")
        for quiet, row in zip(silent, REFERENCES, strict=True)
    ]
    assert result["exact"] == exact == 25.0 * sum(right)
    assert result["NoAns_exact"] == 50.0 * (right[1] + right[3])
    assert result["best_exact_thresh"] == -0.5


def test_no_answer_values_keep_double_precision(metric: Any) -> None:
    close = [
        {**row, "no_answer_probability": value}
        for row, value in zip(PREDICTIONS, (0.5, 0.5 + 1e-12, 0.1, 0.1), strict=True)
    ]
    result = metric.compute(predictions=close, references=REFERENCES, no_answer_threshold=0.5 + 1e-13, details=True)
    assert [row["no_answer"] for row in result["details"]] == [0.5, 0.5 + 1e-12, 0.1, 0.1]


def test_groups_are_the_figures_of_their_rows(metric: Any) -> None:
    groups = [("de", "news"), ("de", "news"), ("de", "books"), ("de", "books")]
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, groups=groups, confidence_level=0.95)
    assert list(result["groups"]) == ["de × news", "de × books"]
    for label, rows in (("de × news", slice(0, 2)), ("de × books", slice(2, 4))):
        alone = metric.compute(predictions=PREDICTIONS[rows], references=REFERENCES[rows], confidence_level=0.95)
        assert result["groups"][label] == alone


def test_intervals_are_scipys_percentile_bootstrap(metric: Any) -> None:
    generator = np.random.default_rng(3)
    predictions = [f"{'x ' * generator.integers(1, 5)}y" for _ in range(60)]
    references = ["x y" if row % 3 else [] for row in range(60)]
    result = metric.compute(
        predictions=predictions, references=references, confidence_level=0.9, n_resamples=500, seed=11, details=True
    )
    f1 = np.array([row["f1"] for row in result["details"]])
    peer = scipy.stats.bootstrap(
        (f1,), np.mean, confidence_level=0.9, n_resamples=500, method="percentile", rng=np.random.default_rng(11)
    ).confidence_interval
    assert result["confidence_intervals"]["f1"] == pytest.approx([100 * peer.low, 100 * peer.high], abs=1e-10)
    has_answer = np.array([row["has_answer"] for row in result["details"]])

    def mean_of_answerable(rows: Any) -> float:
        return float(f1[rows][has_answer[rows]].mean())

    peer = scipy.stats.bootstrap(
        (np.arange(60),), mean_of_answerable, confidence_level=0.9, n_resamples=500, method="percentile",
        vectorized=False, rng=np.random.default_rng(11),
    ).confidence_interval  # fmt: skip
    assert result["confidence_intervals"]["HasAns_f1"] == pytest.approx([100 * peer.low, 100 * peer.high], abs=1e-10)
    again = metric.compute(
        predictions=predictions, references=references, confidence_level=0.9, n_resamples=500, seed=11
    )
    assert again["confidence_intervals"] == result["confidence_intervals"]


def test_intervals_with_one_unanswerable_question_and_with_one_row(metric: Any) -> None:
    references = [*["b"] * 19, []]
    result = metric.compute(predictions=["b"] * 20, references=references, confidence_level=0.95)
    assert result["confidence_intervals"]["NoAns_exact"] == [0.0, 0.0]
    assert result["confidence_intervals"]["HasAns_exact"] == [100.0, 100.0]
    result = metric.compute(predictions=["b"], references=["b"], confidence_level=0.95)
    assert result["confidence_intervals"]["exact"] == [100.0, 100.0]
    assert result["confidence_intervals"]["NoAns_exact"] is None


def test_details_say_what_became_of_the_strings(metric: Any) -> None:
    details = metric.compute(predictions=PREDICTIONS, references=REFERENCES, details=True)["details"]
    assert details[0] == {
        "id": "a",
        "exact": 0.0,
        "f1": pytest.approx(6 / 7),
        "has_answer": True,
        "answered": True,
        "best_reference": 0,
        "no_answer": 0.1,
        "sweep_position": 0,
        "prediction": "im Rathaus von Köln",
        "references": ["Rathaus von Köln", "im Rathaus"],
        "normalized_prediction": "im rathaus von köln",
        "prediction_tokens": ["im", "rathaus", "von", "köln"],
        "normalized_reference": "rathaus von köln",
        "reference_tokens": ["rathaus", "von", "köln"],
    }
    assert (details[1]["best_reference"], details[1]["reference_tokens"]) == (None, None)


def test_best_reference_is_the_first_of_the_best(metric: Any) -> None:
    result = metric.compute(predictions=["b c"], references=[["x", "b", "c", "b"]], details=True)
    assert result["details"][0]["best_reference"] == 1


# ------------------------------------------------------------------------------------- signature


def test_signature_names_everything_that_changes_a_figure(metric: Any) -> None:
    def signature(**options: Any) -> str:
        metric.compute(predictions=PREDICTIONS, references=REFERENCES, **options)
        return str(metric.signature())

    base = signature()
    assert base == (
        f"metric:m2qa_squad_v2|version:{qa_scoring.__version__}|scheme:default|language:de|normalization:squad|"
        "tokenizer:nltk-rule-3.8.1|references:0-2|no_answer_threshold:1.0"
    )
    changes: list[dict[str, Any]] = [
        {"language": "zh"}, {"tokenizer": "char"}, {"normalization": "unicode"}, {"scheme": "squad"},
        {"scheme": "m2qa"},
        {"no_answer_threshold": 0.5}, {"missing": "score_zero"}, {"confidence_level": 0.95},
        {"confidence_level": 0.95, "seed": 1}, {"confidence_level": 0.95, "n_resamples": 10},
        {"use_word_tokenizer": False}, {"language": ["de", "de", "tr", "zh"]}, {"tokenizer": str.split},
    ]  # fmt: skip
    signatures = [base, *(signature(**change) for change in changes)]
    assert len(set(signatures)) == len(signatures)
    assert signature() == base
    assert "jieba-0.42.1+dict." in signatures[1]


def test_signature_is_a_mapping_that_compares(metric: Any) -> None:
    metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    first = metric.signature()
    metric.compute(predictions=PREDICTIONS[:1], references=REFERENCES[:1])
    assert dict(first) != dict(metric.signature())
    assert first["references"] == "0-2"
    assert metric.signature()["references"] == "2-2"


# ------------------------------------------------------------------------------------- properties

WORDS = st.lists(st.sampled_from(["the", "a", "Köln", "köln,", "1902", "x", "«x»", "  "]), max_size=5).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(WORDS, st.lists(WORDS.filter(str.strip), max_size=3)), min_size=1, max_size=6))
def test_properties_of_the_scores(rows: list[tuple[str, list[str]]]) -> None:
    predictions, references = [row[0] for row in rows], [row[1] for row in rows]
    scored = qa_scoring.score_multilingual_squad(predictions, references, language="de")
    exact, f1 = scored.rows.scores["exact"], scored.rows.scores["f1"]
    assert ((exact == 0) | (exact == 1)).all()
    assert ((f1 >= exact) & (f1 <= 1)).all()
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    shuffled = qa_scoring.score_multilingual_squad(
        [predictions[row] for row in order], [references[row] for row in order], language="de"
    )
    assert shuffled.rows.scores["f1"].tolist() == f1[order].tolist()
    # one more reference never lowers a score, unless it makes references that are all articles count as blank
    more = qa_scoring.score_multilingual_squad(
        predictions, [[*answers, "zzz"] if answers else [] for answers in references], language="de"
    )
    with_words = np.array(
        [any(set(answer.lower().split()) - {"the", "a"} for answer in answers) for answers in references]
    )
    assert (more.rows.scores["f1"] >= f1)[with_words].all()
