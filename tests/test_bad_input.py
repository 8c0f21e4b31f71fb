"""Bad input: every line of the table gets one clear error, through the function and through ``evaluate.load``.

Each case says what the message must hold: the row and id, what was expected, what came, what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qa_scoring import InputError, MissingPackageError, score_multilingual_squad


def predictions(**changes: Any) -> list[dict[str, Any]]:
    rows = [{"id": f"q{row}", "prediction_text": "word"} for row in range(3)]
    return [{**row, **changes} if number == 2 else row for number, row in enumerate(rows)]


def references(**changes: Any) -> list[dict[str, Any]]:
    rows = [{"id": f"q{row}", "answers": {"text": ["word"], "answer_start": [0]}} for row in range(3)]
    return [{**row, **changes} if number == 2 else row for number, row in enumerate(rows)]


def with_values(*values: object) -> list[dict[str, Any]]:
    rows = [{**row, "no_answer_probability": value} for row, value in zip(predictions(), values, strict=True)]
    return [{key: value for key, value in row.items() if value is not ...} for row in rows]


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "missing id": (
        {"predictions": predictions()[:2], "references": references()},
        r"1 ids of the references have no prediction \('q2'\).*missing='score_zero'",
    ),
    "six missing ids, five named": (
        {"predictions": {"q0": "a"}, "references": {f"q{row}": "a" for row in range(7)}},
        r"6 ids of the references have no prediction \('q1', 'q2', 'q3', 'q4', 'q5', …\)",
    ),
    "extra id": (
        {"predictions": predictions(), "references": references()[:2]},
        r"1 ids of the predictions have no reference \('q2'\)",
    ),
    "renamed id": (
        {"predictions": predictions(id="x"), "references": references()},
        r"no prediction \('q2'\); 1 ids of the predictions have no reference \('x'\)",
    ),
    "id on some rows only": (
        {"predictions": predictions(id=None), "references": references()},
        r"predictions\[2\] has no 'id', but other rows have one",
    ),
    "id of a wrong type": (
        {"predictions": predictions(id=1.5), "references": references()},
        r"predictions\[2\]: the id must be a string or an integer; got 1.5 \(float\)",
    ),
    "duplicated id in predictions": (
        {"predictions": predictions(id="q1"), "references": references()},
        r"1 ids occur more than once in predictions \('q1'\).*by position, leave the ids out",
    ),
    "duplicated id in references": (
        {"predictions": predictions(), "references": references(id="q1")},
        r"1 ids occur more than once in references \('q1'\)",
    ),
    "mismatched lengths": (
        {"predictions": ["a", "b"], "references": ["a"]},
        r"There are 2 predictions and 1 references\..*matched by position",
    ),
    "mapping against rows without ids": (
        {"predictions": {"q0": "a"}, "references": ["a"]},
        r"The predictions are a mapping by id, but the references have no ids",
    ),
    "None prediction in a record": (
        {"predictions": predictions(prediction_text=None), "references": references()},
        r"predictions\[2\] \(id 'q2'\): the prediction must be one string.*got None \(NoneType\)",
    ),
    "None prediction in a list": (
        {"predictions": ["a", None], "references": ["a", "b"]},
        r"predictions\[1\]: expected a string or a record.*got None \(NoneType\)",
    ),
    "int prediction": (
        {"predictions": predictions(prediction_text=1976), "references": references()},
        r"predictions\[2\] \(id 'q2'\): the prediction must be one string.*got 1976 \(int\)",
    ),
    "list prediction": (
        {"predictions": predictions(prediction_text=["a", "b"]), "references": references()},
        r"predictions\[2\] \(id 'q2'\): .*got \['a', 'b'\] \(list\)",
    ),
    "list prediction among strings": (
        {"predictions": ["a", ["b"]], "references": ["a", "b"]},
        r"predictions\[1\]: expected a string or a record.*got \['b'\] \(list\)",
    ),
    "records and strings mixed": (
        {"predictions": ["a", {"prediction_text": "b"}], "references": ["a", "b"]},
        r"predictions\[1\]: the rows must all have one form",
    ),
    "half a surrogate pair in a prediction": (
        {"predictions": predictions(prediction_text="\ud83d x"), "references": references()},
        r"predictions\[2\] \(id 'q2'\): the text is not valid Unicode \(half a surrogate pair\): '\\ud83d x'",
    ),
    "half a surrogate pair in a reference": (
        {"predictions": predictions(), "references": references(answers=["a", "\ude00"])},
        r"references\[2\] \(id 'q2'\): the text is not valid Unicode",
    ),
    "prediction under another key": (
        {"predictions": [{"id": "q0", "answer": "a"}], "references": references()[:1]},
        r"predictions\[0\] \(id 'q0'\) has no 'prediction_text'; its keys are \['id', 'answer'\]",
    ),
    "one record in place of a list": (
        {"predictions": predictions()[0], "references": references()[:1]},
        r"predictions is one record; pass a list of records",
    ),
    "one string in place of a list": (
        {"predictions": "Paris", "references": ["Paris"]},
        r"'predictions' must be a list with one item per example.*got 'Paris'",
    ),
    "None answers": (
        {"predictions": predictions(), "references": references(answers=None)},
        r"references\[2\] \(id 'q2'\): the references must be a list of strings; got None",
    ),
    "None reference text": (
        {"predictions": predictions(), "references": references(answers={"text": [None]})},
        r"references\[2\] \(id 'q2'\), answer 0: every reference must be a string; got None",
    ),
    "int reference": (
        {"predictions": predictions(), "references": references(answers={"text": ["a", 1976]})},
        r"references\[2\] \(id 'q2'\), answer 1: every reference must be a string; got 1976 \(int\)",
    ),
    "string where a list of answers belongs": (
        {"predictions": predictions(), "references": references(answers={"text": "Paris"})},
        r"references\[2\] \(id 'q2'\): the references must be a list of strings; got 'Paris'",
    ),
    "official list with a broken item": (
        {"predictions": predictions(), "references": references(answers=[{"text": "a"}, {"answer": "b"}])},
        r"references\[2\] \(id 'q2'\): every answer of the list must be a record with 'text'; got {'answer': 'b'}",
    ),
    "answers without text": (
        {"predictions": predictions(), "references": references(answers={"answer_start": [0]})},
        r"references\[2\] \(id 'q2'\): 'answers' must have the key 'text'",
    ),
    "nested references": (
        {"predictions": ["a"], "references": [[["a"]]]},
        r"references\[0\], answer 0: every reference must be a string; got \['a'\] \(list\)",
    ),
    "int in place of references": (
        {"predictions": ["a", "b"], "references": ["a", 5]},
        r"references\[1\]: expected a string, a list of strings.*got 5 \(int\)",
    ),
    "no references at all": (
        {"predictions": ["a"], "references": None},
        r"'references' is missing: pass one reference per example",
    ),
    "no predictions at all": (
        {"predictions": None, "references": ["a"]},
        r"'predictions' is missing: pass one prediction per example",
    ),
    "references without answers": (
        {"predictions": predictions(), "references": [{"id": f"q{row}"} for row in range(3)]},
        r"references\[0\] \(id 'q0'\) has no 'answers'; its keys are \['id'\]",
    ),
    "references that are all blank": (
        {"predictions": predictions(), "references": references(answers={"text": ["", " \t"]})},
        r"references\[2\] \(id 'q2'\): every reference is blank.*For an unanswerable question give no reference: \[\]",
    ),
    "blank plain reference": (
        {"predictions": ["a", ""], "references": ["a", ""]},
        r"references\[1\]: every reference is blank",
    ),
    "broken SQuAD nesting": (
        {"predictions": ["a"], "references": {"data": [{"paragraphs": [{"context": ""}]}]}},
        r"not SQuAD's nesting.*KeyError: 'qas'",
    ),
    "zero examples": (
        {"predictions": [], "references": []},
        r"nothing to score: predictions and references are both empty",
    ),
    "NaN no-answer value": (
        {"predictions": with_values(0.1, 0.2, float("nan")), "references": references()},
        r"predictions\[2\] \(id 'q2'\): the no-answer value must be a finite number; got nan",
    ),
    "infinite no-answer value": (
        {"predictions": with_values(0.1, float("inf"), 0.2), "references": references()},
        r"predictions\[1\] \(id 'q1'\): the no-answer value must be a finite number; got inf",
    ),
    "no-answer values on some rows": (
        {"predictions": with_values(0.1, ..., 0.2), "references": references()},
        r"1 of 3 predictions have no 'no_answer_probability', the first is predictions\[1\] \(id 'q1'\)",
    ),
    "no-answer value as text": (
        {"predictions": with_values(0.1, "0.2", 0.3), "references": references()},
        r"predictions\[1\] \(id 'q1'\): the no-answer value must be a number; got '0.2' \(str\)",
    ),
    "no-answer value as bool": (
        {"predictions": with_values(0.1, 0.2, True), "references": references()},
        r"predictions\[2\] \(id 'q2'\): the no-answer value must be a number; got True \(bool\)",
    ),
    "no language": (
        {"predictions": ["a"], "references": ["a"], "language": None},
        r"language is missing.*language='de'.*evaluate.load\(path, 'de'\).*tokenizer='whitespace'",
    ),
    "unknown language": (
        {"predictions": ["a"], "references": ["a"], "language": "klingon"},
        r"Unknown language 'klingon'. Known codes: af ar .* zh\..*tokenizer='whitespace'",
    ),
    "unknown language of one row": (
        {"predictions": ["a", "b"], "references": ["a", "b"], "language": ["de", "xx"]},
        r"Unknown language 'xx'",
    ),
    "language per row, one short": (
        {"predictions": ["a", "b"], "references": ["a", "b"], "language": ["de"]},
        r"There are 1 languages and 2 references",
    ),
    "language of a wrong type": (
        {"predictions": ["a"], "references": ["a"], "language": 5},
        r"'language' must be a code or name such as 'de'.*got 5",
    ),
    "unknown tokenizer": (
        {"predictions": ["a"], "references": ["a"], "tokenizer": "spacy"},
        r"Unknown tokenizer 'spacy'. Choose one of: whitespace, char.*or pass a function",
    ),
    "tokenizer of a wrong type": (
        {"predictions": ["a"], "references": ["a"], "tokenizer": 5},
        r"'tokenizer' must be a tokenizer's name or a function",
    ),
    "tokenizer that returns no list": (
        {"predictions": ["b c"], "references": ["b"], "tokenizer": lambda text: text},
        r"test_bad_input.*must return a list of strings; for 'b c' it returned 'b c'",
    ),
    "tokenizer against use_word_tokenizer": (
        {"predictions": ["a"], "references": ["a"], "tokenizer": "char", "use_word_tokenizer": False},
        r"use_word_tokenizer=False splits at white space; leave out 'tokenizer'",
    ),
    "unknown normalization": (
        {"predictions": ["a"], "references": ["a"], "normalization": "nfkc"},
        r"'normalization' must be 'squad' or 'unicode'; got 'nfkc'",
    ),
    "unknown scheme": (
        {"predictions": ["a"], "references": ["a"], "scheme": "squad2"},
        r"'scheme' must be None or one of 'squad', 'm2qa', 'mlqa', 'cmrc', 'korquad', 'jaquad'; got 'squad2'",
    ),
    "scheme and tokenizer": (
        {"predictions": ["a"], "references": ["a"], "scheme": "squad", "tokenizer": "char"},
        r"scheme='squad' reproduces a published script and fixes normalisation and tokenizer",
    ),
    "scheme without unanswerable questions": (
        {"predictions": ["a", ""], "references": ["a", []], "scheme": "korquad"},
        r"references\[1\] \(id '1'\) has no answer.*scheme='korquad' has no unanswerable questions",
    ),
    "NaN threshold": (
        {"predictions": ["a"], "references": ["a"], "no_answer_threshold": float("nan")},
        r"'no_answer_threshold' must be a number; got nan",
    ),
    "groups, one short": (
        {"predictions": ["a", "b"], "references": ["a", "b"], "groups": ["x"]},
        r"There are 1 group labels and 2 references",
    ),
    "None group": (
        {"predictions": ["a"], "references": ["a"], "groups": [None]},
        r"groups\[0\]: the label must be a string, a number or a tuple",
    ),
    "confidence level in percent": (
        {"predictions": ["a"], "references": ["a"], "confidence_level": 95},
        r"'confidence_level' must be None or a number between 0 and 1, such as 0.95; got 95",
    ),
    "no resamples": (
        {"predictions": ["a"], "references": ["a"], "n_resamples": 0},
        r"'n_resamples' must be an integer of at least 1; got 0",
    ),
    "negative seed": (
        {"predictions": ["a"], "references": ["a"], "seed": -1},
        r"'seed' must be an integer of at least 0",
    ),
    "details of a wrong type": (
        {"predictions": ["a"], "references": ["a"], "details": "yes"},
        r"'details' must be True",
    ),
    "unknown way with missing ids": (
        {"predictions": ["a"], "references": ["a"], "missing": "skip"},
        r"'missing' must be 'error' or 'score_zero'; got 'skip'",
    ),
}


def options(case: str) -> dict[str, Any]:
    chosen = CASES[case][0]
    return chosen if {"scheme", "language"} & chosen.keys() else {"language": "en", **chosen}


@pytest.mark.parametrize("case", CASES)
def test_function_says_what_is_wrong(case: str) -> None:
    with pytest.raises(InputError, match=CASES[case][1]) as raised:
        score_multilingual_squad(**options(case))
    assert isinstance(raised.value, ValueError)
    assert "\n" not in str(raised.value)


@pytest.fixture(scope="module")
def metric(load_metric: Callable[..., Any]) -> Any:
    return load_metric()


@pytest.mark.parametrize("case", CASES)
def test_metric_says_the_same(case: str, metric: Any) -> None:
    with pytest.raises(ValueError, match=CASES[case][1]):
        metric.compute(**options(case))


BATCH_CASES = [case for case in CASES if set(CASES[case][0]) == {"predictions", "references"} and "id" not in case]


@pytest.mark.parametrize("case", [case for case in BATCH_CASES if "NaN" in case or "None" in case or "int" in case])
def test_add_batch_validates_every_row_before_arrow_sees_it(case: str, load_metric: Callable[..., Any]) -> None:
    metric = load_metric()
    with pytest.raises(ValueError, match=CASES[case][1]):
        metric.add_batch(**CASES[case][0])
    assert len(metric) == 0


def test_batch_of_unequal_numbers(load_metric: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="This batch has 2 predictions and 1 references"):
        load_metric().add_batch(predictions=["a", "b"], references=["a"])


@pytest.mark.parametrize("call", ["compute", "add", "add_batch"])
def test_unknown_keyword(call: str, metric: Any) -> None:
    with pytest.raises(ValueError, match="Unknown argument 'lang'"):
        getattr(metric, call)(lang="de")


def test_wrong_option_does_not_lose_what_was_added(load_metric: Callable[..., Any]) -> None:
    metric = load_metric()
    metric.add_batch(predictions=["a", "b"], references=["a", "c"])
    for wrong in ({"language": "xx"}, {"langage": "en"}, {"language": "en", "no_answer_threshold": float("nan")},
                  {"language": "en", "confidence_level": 95}, {"language": "en", "groups": ["x"]},
                  {"language": ["en"]}, {"language": "en", "missing": "skip"},
                  {"language": "en", "predictions": ["d"]}):  # fmt: skip
        with pytest.raises(ValueError):
            metric.compute(**wrong)
    assert len(metric) == 2
    assert metric.compute(language="en")["exact"] == 50.0


def test_no_signature_before_the_first_computation(load_metric: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match="There is no signature yet: call compute first"):
        load_metric().signature()


def test_missing_score_zero_is_the_explicit_way_on() -> None:
    predictions = [
        {"id": "extra", "prediction_text": "x", "no_answer_probability": 0.0},
        {"id": "right", "prediction_text": "a", "no_answer_probability": 0.2},
    ]
    references = {"right": ["a"], "unanswered": ["b"], "unanswerable": []}
    scored = score_multilingual_squad(predictions, references, language="en", missing="score_zero", details=True)
    assert scored.result["exact"] == pytest.approx(100 / 3)
    assert scored.result["NoAns_exact"] == 0.0  # saying nothing by accident is not right
    assert scored.result["best_exact"] == pytest.approx(100 / 3)
    assert [row["prediction"] for row in scored.result["details"]] == ["a", None, None]
    assert [row["no_answer"] for row in scored.result["details"]] == [0.2, None, None]
    assert scored.signature["missing"] == "score_zero"


def test_missing_package_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from qa_scoring.text.tokenizers import load_tokenizer

    monkeypatch.setitem(__import__("sys").modules, "pythainlp.tokenize", None)
    load_tokenizer.cache_clear()
    try:
        with pytest.raises(MissingPackageError, match=r'pip install "qa-scoring\[th\]"'):
            score_multilingual_squad(["a"], ["a"], language="th")
    finally:
        load_tokenizer.cache_clear()


DEGENERATE = {
    "one example": (["b"], ["b"], 100.0, 100.0),
    "empty prediction": ([""], ["b"], 0.0, 0.0),
    "empty prediction, no reference": ([""], [[]], 100.0, 100.0),
    "some prediction, no reference": (["a b"], [[]], 0.0, 0.0),
    "article-only prediction, no reference": (["the"], [[]], 100.0, 100.0),
    "punctuation-only prediction, no reference": (["?!"], [[]], 100.0, 100.0),
    "article-only reference": (["a"], ["the"], 100.0, 100.0),
    "punctuation-only reference": (["x"], ["?!"], 0.0, 0.0),
    "blank reference beside another": (["x"], [["", "x"]], 100.0, 100.0),
    "10,000 characters": (["word " * 2000], ["word " * 2000 + "end"], 0.0, 100 * 4000 / 4001),
    "control characters": (["\x00x\x1f"], ["x"], 0.0, 0.0),
    "emoji": (["👩‍👩‍👧 x"], ["x"], 0.0, 100 * 2 / 3),
}


@pytest.mark.parametrize(("prediction", "reference", "exact", "f1"), DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_inputs_have_defined_answers(prediction: Any, reference: Any, exact: float, f1: float) -> None:
    for given in ({"scheme": "squad"}, {"language": "en"}, {"scheme": "m2qa", "language": "english"}):
        result = score_multilingual_squad(prediction, reference, **given).result
        assert (result["exact"], pytest.approx(result["f1"])) == (exact, f1)


def test_numpy_values_are_numbers_and_strings_too() -> None:
    predictions = [
        {"id": np.int64(row), "prediction_text": np.str_("a"), "no_answer_probability": np.float32(0.5)}
        for row in range(2)
    ]
    references = [{"id": row, "answers": {"text": np.array(["a"])}} for row in range(2)]
    result = score_multilingual_squad(predictions, references, language="en").result
    assert result["best_exact"] == 100.0
    assert {type(value) for value in result.values()} == {float, int, type(None)}
