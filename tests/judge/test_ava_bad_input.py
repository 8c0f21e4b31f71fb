"""Bad input of ``ava_metric``: one clear error per case, through the function and through ``evaluate.load``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_scoring import InputError
from qa_scoring.ava import score_ava
from qa_scoring.judge.loading import load_judge
from qa_scoring.judge.matching_judge import HEAD
from tests.judge.conftest import save_matching_judge
from tests.judge.doors import DOORS, Row, load_metric, score

ROWS: dict[str, Any] = {
    "predictions": ["walt disney", "paris", ""],
    "references": [["walt"], ["paris", "rome"], []],
    "questions": ["who made it", "which city is it", "what"],
}
RECORDS = [{"id": f"q{row}", "answers": texts} for row, texts in enumerate(ROWS["references"])]
SURROGATE = "\ud83d what"

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "no questions": (
        {"questions": None},
        r"references\[0\] \(id '0'\) has no question, which this judge reads\. Pass questions=\[\.\.\.\], one per "
        r"reference, or give every reference record the key 'question' \(command line: --question COLUMN\)\.",
    ),
    "no question in one record": (
        {"questions": None, "references": [{**RECORDS[0], "question": "who"}, *RECORDS[1:]]},
        r"references\[1\] \(id 'q1'\) has no question, which this judge reads",
    ),
    "a question that is None in a record": (
        {"questions": None, "references": [{**row, "question": None} for row in RECORDS]},
        r"references\[0\] \(id 'q0'\) has no question",
    ),
    "a blank question": (
        {"questions": ["who", " \t", "what"]},
        r"references\[1\] \(id '1'\) has a blank question, which this judge reads\. Pass questions=\[",
    ),
    "a blank question in a record": (
        {"questions": None, "references": [{**row, "question": ""} for row in RECORDS]},
        r"references\[0\] \(id 'q0'\) has a blank question",
    ),
    "one question too few": (
        {"questions": ["who", "what"]},
        r"There are 2 questions and 3 references; give one per reference\.",
    ),
    "one string in place of questions": (
        {"questions": "who"},
        r"'questions' must be a list with one item per example, or a mapping by id; got 'who'",
    ),
    "a number in place of questions": ({"questions": 5}, r"'questions' must be a list with one item per example"),
    "a question that is a number": (
        {"questions": ["who", 1976, "what"]},
        r"questions\[1\] \(id '1'\): the question must be a string; got 1976 \(int\)\.",
    ),
    "a question that is None": (
        {"questions": ["who", None, "what"]},
        r"questions\[1\] \(id '1'\): the question must be a string; got None \(NoneType\)\.",
    ),
    "a question that is a number in a record": (
        {"questions": None, "references": [{**row, "question": 7} for row in RECORDS]},
        r"references\[0\] \(id 'q0'\): the question must be a string; got 7 \(int\)\.",
    ),
    "ids without a question": (
        {"references": RECORDS, "questions": {"q0": "who", "other": "what"}},
        r"2 ids of the references have no question \('q1', 'q2'\)\.",
    ),
    "questions by id, references without ids": (
        {"questions": {"q0": "who", "q1": "which", "q2": "what"}},
        r"3 ids of the references have no question \('0', '1', '2'\)\.",
    ),
    "a question by an id that is no id": (
        {"references": RECORDS, "questions": {1.5: "who"}},
        r"questions\[0\]: the id must be a string or an integer; got 1\.5 \(float\)",
    ),
    "half a surrogate pair in a question": (
        {"questions": ["who", SURROGATE, "what"]},
        r"questions\[1\] \(id '1'\): the text is not valid Unicode \(half a surrogate pair\): '\\ud83d what'\.",
    ),
    "half a surrogate pair in a record's question": (
        {"questions": None, "references": [{**row, "question": SURROGATE} for row in RECORDS]},
        r"references\[0\] \(id 'q0'\): the text is not valid Unicode",
    ),
    "half a surrogate pair in an answer": (
        {"predictions": ["walt", "\udc00", ""]},
        r"predictions\[1\]: the text is not valid Unicode",
    ),
    "a label above 1": (
        {"human_labels": [0, 2, None]},
        r"human_labels\[1\] \(id '1'\): expected 1 or True \(correct\), 0 or False \(incorrect\) or None; got 2\.",
    ),
    "a label between 0 and 1": ({"human_labels": [0.5, 1, None]}, r"human_labels\[0\] \(id '0'\): .*; got 0\.5\."),
    "a label that is NaN": ({"human_labels": [1, 0, float("nan")]}, r"human_labels\[2\] \(id '2'\): .*; got nan\."),
    "a label in words": ({"human_labels": ["yes", None, 1]}, r"human_labels\[0\] \(id '0'\): .*; got 'yes'\."),
    "a label that is a list": ({"human_labels": [[1], None, 1]}, r"human_labels\[0\] \(id '0'\): .*; got \[1\]\."),
    "one label too few": (
        {"human_labels": [True, False]},
        r"There are 2 human labels and 3 references; give one per reference, None where there is no verdict\.",
    ),
    "a single label": (
        {"human_labels": [None, True, None]},
        r"human_labels has 1 verdicts; an interval needs at least 2\. Label more rows, or leave the argument out\.",
    ),
    "no label at all": ({"human_labels": [None] * 3}, r"human_labels has 0 verdicts; an interval needs at least 2"),
    "labels as text": (
        {"human_labels": "110"},
        r"'human_labels' must be a list with one verdict or None per reference",
    ),
    "labels by id": ({"human_labels": {0: 1, 1: 0, 2: 1}}, r"'human_labels' must be a list with one verdict or None"),
    "one label": ({"human_labels": True}, r"'human_labels' must be a list with one verdict or None .*; got True"),
    "a threshold above 1": ({"threshold": 1.01}, r"'threshold' must be None or a number from 0 to 1; got 1\.01\."),
    "a threshold below 0": ({"threshold": -0.1}, r"'threshold' must be None or a number from 0 to 1; got -0\.1\."),
    "a threshold in percent": ({"threshold": 50}, r"'threshold' must be None or a number from 0 to 1; got 50\."),
    "a threshold that is NaN": ({"threshold": float("nan")}, r"'threshold' must be None or a number .*; got nan\."),
    "a threshold that is a bool": ({"threshold": True}, r"'threshold' must be None or a number .*; got True\."),
    "a threshold as text": ({"threshold": "0.5"}, r"'threshold' must be None or a number from 0 to 1; got '0\.5'\."),
    "an unknown aggregate": ({"aggregate": "median"}, r"'aggregate' must be 'mean' or 'max'; got 'median'\."),
    "an aggregate that is no name": ({"aggregate": ["max"]}, r"'aggregate' must be 'mean' or 'max'; got \['max'\]\."),
    "a folder that is not there": (
        {"model": "/no/such/judge"},
        r"There is no folder /no/such/judge; pass a Hub id, or the folder of a model\.",
    ),
    "a Hub id without a hub": (
        {"model": "org/judge"},
        r"The model 'org/judge' cannot be loaded: .*Without a hub, fetch .* and pass model='/path/to/the/folder'\.",
    ),
    "a Hub id without a hub, kept scores": (
        {"model": "org/judge", "cache_dir": "cache"},
        r"The model 'org/judge' cannot be loaded: ",
    ),
    "a revision of a Hub id without a hub": (
        {"model": "org/judge", "revision": "v1"},
        r"The model 'org/judge' at revision 'v1' cannot be loaded: ",
    ),
    "a model that is no name": (
        {"model": 5},
        r"'model' must be 'embedded', a Hub id or a local folder; got 5\.",
    ),
    "a revision of a folder": (
        {"revision": "main"},
        r".* is a folder, which has no 'revision'; models on the Hub have\.",
    ),
    "a revision of the embedded judge": (
        {"model": "embedded", "revision": "main"},
        r"The embedded judge ships with this package; it has no 'revision'; models on the Hub have\.",
    ),
    "a revision that is no name": (
        {"model": "org/judge", "revision": 1},
        r"'revision' must be None, or a branch, tag or commit; got 1\.",
    ),
    "an unknown device": (
        {"device": "abacus"},
        r"'device' must be None or one of 'cuda', 'mps', 'cpu'; got 'abacus'\.",
    ),
    "an unknown dtype": ({"dtype": "int8"}, r"'dtype' must be None or one of .*'bfloat16'.*; got 'int8'\."),
    "a length too short": ({"max_length": 7}, r"'max_length' must be None or an integer of at least 8; got 7\."),
    "a length that is a bool": ({"max_length": True}, r"'max_length' must be None or an integer .*; got True\."),
    "a batch of nothing": ({"batch_size": 0}, r"'batch_size' must be None or an integer of at least 1; got 0\."),
    "a batch that is no integer": ({"batch_size": 1.5}, r"'batch_size' must be None or an integer .*; got 1\.5\."),
    "a cache folder that is none": ({"cache_dir": 5}, r"'cache_dir' must be None or a folder; got 5\."),
    "details that are no bool": ({"details": "yes"}, r"'details' must be True or False; got 'yes'\."),
    "confidence in percent": ({"confidence_level": 95}, r"'confidence_level' must be None or a number between 0 and 1"),
    "no resamples": ({"n_resamples": 0}, r"'n_resamples' must be an integer of at least 1; got 0\."),
    "an unknown missing": ({"missing": "skip"}, r"'missing' must be 'error' or 'score_zero'; got 'skip'\."),
    "too few groups": ({"groups": ["a"]}, r"There are 1 group labels and 3 references"),
    "nothing to score": (
        {"predictions": [], "references": [], "questions": []},
        r"There is nothing to score: predictions and references are both empty\.",
    ),
    "references that are all blank": (
        {"references": [["walt"], ["paris"], [" "]]},
        r"references\[2\]: every reference is blank",
    ),
    "an answer that is no string": (
        {"predictions": ["walt", None, ""]},
        r"predictions\[1\]: expected a string or a record.*got None",
    ),
    "one prediction too few": ({"predictions": ["walt"]}, r"There are 1 predictions and 3 references"),
}


def by_function(**arguments: Any) -> Any:
    return score_ava(**arguments)


def by_metric(**arguments: Any) -> Any:
    return load_metric().compute(**arguments)


COMPUTE = pytest.mark.parametrize("compute", [by_function, by_metric])


def refused(compute: Callable[..., Any], message: str, **arguments: Any) -> None:
    with pytest.raises(InputError, match=message) as caught:
        compute(**arguments)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 800


@COMPUTE
@pytest.mark.parametrize(("changes", "message"), CASES.values(), ids=CASES)
def test_one_clear_error(
    changes: dict[str, Any], message: str, compute: Callable[..., Any], linear_judge: Path, tmp_path: Path
) -> None:
    if changes.get("cache_dir") == "cache":
        changes = changes | {"cache_dir": tmp_path / "cache"}
    refused(compute, message, **{**ROWS, "model": str(linear_judge), **changes})


def test_bad_rows_are_named_before_a_judge_is_loaded() -> None:
    for changes, message in (
        ({"human_labels": [1]}, "There are 1 human labels"),
        ({"questions": ["who"]}, "There are 1 questions"),
        ({"threshold": 2}, "'threshold' must be"),
    ):
        with pytest.raises(InputError, match=message):
            score_ava(**{**ROWS, **changes}, model="/no/such/folder")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, "'threshold' must be None or a number from 0 to 1; got 1.5"),
        ({"aggregate": "median"}, "'aggregate' must be 'mean' or 'max'; got 'median'"),
        ({"model": "/no/such/judge"}, "There is no folder /no/such/judge"),
        ({"human_labels": [0, 3]}, r"human_labels\[1\] \(id 'b'\): expected 1 or True"),
        ({"device": "abacus"}, "'device' must be None or one of"),
    ],
    ids=str,
)
def test_every_door_refuses(
    door: str, options: dict[str, Any], message: str, linear_judge: Path, tmp_path: Path
) -> None:
    rows = [Row("a", "who", "walt", ["walt"]), Row("b", "who", "walt", ["disney"])]
    with pytest.raises(InputError) as caught:
        score(door, rows, tmp_path, **{"model": str(linear_judge), **options})
    assert re.search(message, " ".join(str(caught.value).split()))  # the command line breaks lines


def test_a_distributed_run_refuses_before_it_gathers_rows(linear_judge: Path, tmp_path: Path) -> None:
    metric = load_metric(
        str(linear_judge), num_process=2, process_id=1, experiment_id="refused", cache_dir=str(tmp_path)
    )
    with pytest.raises(InputError, match="'threshold' must be"):
        metric.compute(**ROWS, threshold=2)
    with pytest.raises(InputError, match="'aggregate' must be"):
        metric.compute(**ROWS, aggregate="sum")


@COMPUTE
def test_unknown_arguments(compute: Callable[..., Any], linear_judge: Path) -> None:
    if compute is by_metric:
        refused(compute, r"Unknown argument 'question' \(known: .*questions, model", **ROWS, question=["who"])
        with pytest.raises(InputError, match=r"Unknown argument 'query' \(add takes"):
            load_metric().add(prediction="a", reference="b", query="c")


# ------------------------------------------------------------------------------ folders that are no judge


@COMPUTE
def test_an_embedded_judge_that_is_not_there(
    compute: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qa_scoring.judge.loading.EMBEDDED", tmp_path / "embedded")
    for cache_dir in (None, tmp_path):
        refused(compute, "judge_head.safetensors is not a head .*: No such file", **ROWS, cache_dir=cache_dir)


@COMPUTE
def test_an_empty_folder(compute: Callable[..., Any], tmp_path: Path) -> None:
    message = rf"The folder {tmp_path} holds no judge; expected judge_head\.safetensors, judge\.json, or config\.json"
    refused(compute, message, **ROWS, model=str(tmp_path))


@COMPUTE
def test_a_similarity_model(compute: Callable[..., Any], tmp_path: Path) -> None:
    from tests.similarity.conftest import save_cross_encoder

    folder = save_cross_encoder(tmp_path)
    message = rf"{folder} is no judge: its config\.json has model_type 'bert'; expected .* `qa-scoring judge train`"
    refused(compute, message, **ROWS, model=str(folder))


@COMPUTE
def test_a_similarity_model_trained_here(compute: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "head.safetensors").write_bytes(b"of the similarity model")
    refused(compute, rf"The folder {tmp_path} holds no judge; expected", **ROWS, model=str(tmp_path))


@COMPUTE
@pytest.mark.parametrize("content", ["[]", "{}", '{"schema": "other"}', "{"])
def test_a_broken_linear_judge(content: str, compute: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "judge.json").write_text(content)
    refused(compute, r"judge\.json", **ROWS, model=str(tmp_path))


def broken_bytes(folder: Path) -> None:
    (folder / HEAD).write_bytes(b"\x80\x04pickle")


def cut(folder: Path) -> None:
    (folder / HEAD).write_bytes((folder / HEAD).read_bytes()[:-100])


def another_model(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"weight": torch.zeros(2)}, folder / HEAD)


def without_facts(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    metadata = {"base_sha256": _base_sha256(folder)}
    save_file(load_file(folder / HEAD), folder / HEAD, metadata=metadata)


def _base_sha256(folder: Path) -> str:
    from safetensors import safe_open

    with safe_open(folder / HEAD, framework="pt") as file:
        return str(file.metadata()["base_sha256"])


@COMPUTE
@pytest.mark.parametrize("change", [broken_bytes, cut, another_model, without_facts])
def test_a_broken_head(change: Callable[[Path], None], compute: Callable[..., Any], matching_judge: Path) -> None:
    change(matching_judge)
    message = (
        "expected .*, the weights of sentence-transformers/all-MiniLM-L6-v2"  # a head that names no base
        if change is another_model
        else rf"{matching_judge / HEAD} is not a head that 'qa-scoring judge train' made: "
    )
    refused(compute, message, **ROWS, model=str(matching_judge))


@COMPUTE
@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"threshold": 1.5}, "is not a head .*: threshold 1.5, temperature"),
        ({"threshold": "nan"}, "is not a head .*: threshold nan, temperature"),
        ({"temperature": 0}, "is not a head .*temperature 0.0"),
        ({"temperature": "warm"}, "is not a head .*: could not convert string to float"),
        ({"max_length": 65}, "'max_length' must be at most 64, the positions of .*; got 65"),
        (
            {"base_sha256": "0" * 64},
            "has SHA-256 .*; expected 0{64}, the weights of the base that the model was trained on",
        ),
    ],
    ids=str,
)
def test_a_head_that_says_what_cannot_be(
    facts: dict[str, Any], message: str, compute: Callable[..., Any], matching_judge: Path, bert_base: Path
) -> None:
    save_matching_judge(matching_judge, bert_base, **facts)
    refused(compute, message, **ROWS, model=str(matching_judge))


@COMPUTE
def test_a_length_that_the_base_has_no_positions_for(compute: Callable[..., Any], matching_judge: Path) -> None:
    message = r"'max_length' must be at most 64, the positions of .*; got 65"
    refused(compute, message, **ROWS, model=str(matching_judge), max_length=65)


@COMPUTE
def test_a_head_for_another_number_of_features(
    compute: Callable[..., Any], matching_judge: Path, bert_base: Path
) -> None:
    from qa_scoring.encoders.base_model import weights_digest
    from qa_scoring.judge.matching import MatchingHead
    from qa_scoring.judge.matching_judge import write_head

    facts = {
        "name": "x",
        "max_length": 32,
        "base_sha256": weights_digest(bert_base),
        "threshold": 0.5,
        "temperature": 1,
    }
    write_head(matching_judge / HEAD, MatchingHead(7, hidden=2).state_dict(), facts)
    refused(compute, r"is for 7 features of an answer; .* gives \d+", **ROWS, model=str(matching_judge))


@COMPUTE
def test_weights_that_are_no_numbers(compute: Callable[..., Any], matching_judge: Path) -> None:
    from safetensors.torch import load_file

    from qa_scoring.judge.matching_judge import _read_head, write_head

    tensors = load_file(matching_judge / HEAD)
    tensors["linear.weight"].fill_(float("nan"))
    write_head(matching_judge / HEAD, tensors, _read_head(matching_judge)[0])
    refused(compute, "The model gave a score that is not a number", **ROWS, model=str(matching_judge))


def test_a_judge_that_changes_while_it_is_read(matching_judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qa_scoring.judge import loading
    from qa_scoring.judge.matching_judge import change_head

    read = loading._read

    def read_and_change(settings: Any) -> Any:
        judge = read(settings)
        change_head(matching_judge, {"threshold": 0.9})
        return judge

    monkeypatch.setattr(loading, "_read", read_and_change)
    with pytest.raises(InputError, match=rf"The files of {matching_judge} changed while they were read"):
        load_judge(str(matching_judge))


def test_extreme_logits_are_probabilities(
    matching_judge: Path, bert_base: Path, recwarn: pytest.WarningsRecorder
) -> None:
    save_matching_judge(matching_judge, bert_base, temperature=1e-6)
    scored = score_ava(**ROWS, model=str(matching_judge))
    assert set(scored.rows.scores["ava_score"].tolist()) <= {0.0, 1.0}
    assert not [warning for warning in recwarn if warning.category is RuntimeWarning]


def test_a_folder_that_moved_is_the_same_judge(matching_judge: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(matching_judge, tmp_path / "moved"))
    first, second = (score_ava(**ROWS, model=str(folder)) for folder in (matching_judge, moved))
    assert first.result == second.result
    assert np.array_equal(first.rows.scores["ava_score"], second.rows.scores["ava_score"])
