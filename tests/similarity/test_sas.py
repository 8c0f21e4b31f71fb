"""``score_sas`` with a tiny cross-encoder: what reaches the model, and what is made of its scores.

The model's own scores come from ``load_scorer`` on single pairs (held against sentence-transformers elsewhere); every
figure of the result is put together again here, by loops.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_scoring import InputError, __version__
from qa_scoring.encoders import scorers
from qa_scoring.sas import score_sas
from qa_scoring.similarity import loading
from qa_scoring.statistics.bootstrap import bootstrap_means

LONG = "museum of art " * 100

PREDICTIONS = [
    {"id": "exact", "prediction_text": "Paris"},
    {"id": "several", "prediction_text": "New York City"},
    {"id": "empty right", "prediction_text": ""},
    {"id": "empty wrong", "prediction_text": " \t"},
    {"id": "answered wrong", "prediction_text": "London"},
    {"id": "blank beside", "prediction_text": "king"},
    {"id": "long", "prediction_text": LONG},
    {"id": "both blank", "prediction_text": ""},
]
REFERENCES = [
    {"id": "exact", "answers": {"text": ["Paris"]}},
    {"id": "several", "answers": {"text": ["York", "New York", "the city of New York"]}},
    {"id": "empty right", "answers": {"text": []}},
    {"id": "empty wrong", "answers": {"text": ["1976"]}},
    {"id": "answered wrong", "answers": {"text": []}},
    {"id": "blank beside", "answers": {"text": ["", "the king", " "]}},
    {"id": "long", "answers": {"text": ["museum", "art"]}},
    {"id": "both blank", "answers": {"text": ["", "queen"]}},
]
IDS = [row["id"] for row in REFERENCES]
GROUPS = ["a", "b", "a", "b", "a", "b", "a", "c"]


@pytest.fixture
def model(one_label: Path) -> dict[str, str]:
    return {"model": str(one_label), "device": "cpu"}


@pytest.fixture
def similarity(one_label: Path) -> Any:
    """The model's score of one pair; 1 for two blank texts, 0 for one."""
    scorer = loading.load_scorer("cross-encoder", str(one_label), device="cpu", batch_size=1)

    def similarity(first: str, second: str) -> float:
        if not first.strip() or not second.strip():
            return float(first.strip() == second.strip())
        return float(scorers.score_distinct(scorer, [(first, second)]).scores[0])

    return similarity


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[scorers.Pair]:
    """The pairs that reach the model."""
    from qa_scoring.similarity.cross_encoder import CrossEncoderScorer

    seen: list[scorers.Pair] = []
    score = CrossEncoderScorer.score
    monkeypatch.setattr(
        CrossEncoderScorer, "score", lambda self, asked, progress: seen.extend(asked) or score(self, asked, progress)
    )
    return seen


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-5)


EMPTY = {
    "both empty": ("", [], 1.0),
    "blank prediction, no reference": (" \n", [], 1.0),
    "empty prediction": ("", ["Paris"], 0.0),
    "blank prediction": ("\t", ["Paris", "Rome"], 0.0),
    "some prediction, no reference": ("Paris", [], 0.0),
    "empty prediction, a blank reference beside another": ("", [" ", "Paris"], 1.0),
}


@pytest.mark.parametrize(("prediction", "references", "expected"), EMPTY.values(), ids=EMPTY)
def test_empty_answers_never_reach_the_model(
    prediction: str, references: list[str], expected: float, model: Any, read: list[scorers.Pair]
) -> None:
    assert score_sas([prediction], [references], **model).result["sas"] == expected
    assert read == []


@pytest.mark.parametrize("aggregate", ["max", "mean"])
def test_every_figure_put_together_again(aggregate: str, model: Any, similarity: Any, read: list[scorers.Pair]) -> None:
    scored = score_sas(PREDICTIONS, REFERENCES, aggregate=aggregate, details=True, **model)
    by_row = [
        [similarity(prediction["prediction_text"], answer) for answer in reference["answers"]["text"] or [""]]
        for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True)
    ]
    expected = [(max if aggregate == "max" else statistics.fmean)(row) for row in by_row]
    has_answer = [bool(reference["answers"]["text"]) for reference in REFERENCES]
    result = scored.result
    assert scored.rows.scores["sas"].tolist() == near(expected)
    assert (result["sas"], result["total"]) == (near(statistics.fmean(expected)), 8)
    for prefix, wanted in (("HasAns_", True), ("NoAns_", False)):
        members = [score for score, has in zip(expected, has_answer, strict=True) if has is wanted]
        assert (result[f"{prefix}sas"], result[f"{prefix}total"]) == (near(statistics.fmean(members)), len(members))
    for detail, row, has in zip(result["details"], by_row, has_answer, strict=True):
        assert detail["reference_scores"] == near(row if has else [])
        assert detail["best_reference"] == (int(np.argmax(row)) if has else None)
    assert len(set(near_five(by_row[1]))) == 3, "the references of this test must score differently"
    assert [detail["id"] for detail in result["details"]] == IDS


def near_five(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def test_blank_references_beside_others_are_no_pairs(model: Any, similarity: Any, read: list[scorers.Pair]) -> None:
    scored = score_sas(["king"], [["", "the king", " "]], details=True, **model)
    assert read == [("king", "the king")]
    (detail,) = scored.result["details"]
    assert detail["reference_scores"] == near([0.0, similarity("king", "the king"), 0.0])
    assert detail["best_reference"] == 1


def test_repeated_pairs_reach_the_model_once(model: Any, read: list[scorers.Pair]) -> None:
    result = score_sas(["a", "a", "b"] * 50, [["x", "x", "y"]] * 150, **model).result
    assert sorted(read) == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert result["total"] == 150


def test_identical_strings_are_one_only_when_asked(model: Any, similarity: Any, read: list[scorers.Pair]) -> None:
    predictions, references = ["Paris", "Paris", "paris"], [["Paris"], ["Rome", "Paris"], ["Paris"]]
    plain = score_sas(predictions, references, **model)
    assert similarity("Paris", "Paris") < 0.999
    assert plain.rows.scores["sas"][0] == near(similarity("Paris", "Paris"))
    assert "exact_match_is_one" not in plain.signature
    read.clear()
    exact = score_sas(predictions, references, exact_match_is_one=True, **model)
    assert sorted(read) == [("Paris", "Rome"), ("paris", "Paris")]
    assert exact.rows.scores["sas"].tolist() == [1.0, 1.0, near(similarity("paris", "Paris"))]
    assert exact.signature["exact_match_is_one"] is True


def test_symmetric_is_the_mean_of_both_orders(model: Any, similarity: Any, read: list[scorers.Pair]) -> None:
    predictions, references = ["New York City", "York", "York"], [["York"], ["New York City"], ["York"]]
    scored = score_sas(predictions, references, symmetric=True, **model)
    assert len(read) == len(set(read)) == 3
    there, back = similarity("New York City", "York"), similarity("York", "New York City")
    assert abs(there - back) > 1e-4
    expected = [(there + back) / 2, (there + back) / 2, similarity("York", "York")]
    assert scored.rows.scores["sas"].tolist() == near(expected)
    assert scored.signature["symmetric"] is True


def test_truncated_answers_are_counted_and_named(model: Any) -> None:
    result = score_sas(PREDICTIONS, REFERENCES, details=True, **model).result
    assert (result["truncated"], result["truncated_ids"]) == (1, ["long"])
    assert [detail["id"] for detail in result["details"] if detail["truncated"]] == ["long"]
    short = score_sas(PREDICTIONS, REFERENCES, max_length=8, **model).result
    assert short["truncated_ids"] == ["several", "long"]
    assert score_sas(["Paris"], ["Rome"], **model).result["truncated_ids"] == []


def test_an_answer_of_ten_thousand_tokens_is_scored_and_named(model: Any) -> None:
    result = score_sas({"q": "king " * 10_000}, {"q": ["queen", "king " * 10_000]}, **model).result
    assert 0.0 < result["sas"] < 1.0
    assert result["truncated_ids"] == ["q"]


def test_groups_are_their_rows_alone(model: Any) -> None:
    result = score_sas(PREDICTIONS, REFERENCES, groups=GROUPS, confidence_level=0.9, n_resamples=50, **model).result
    assert list(result["groups"]) == ["a", "b", "c"]
    for label, figures in result["groups"].items():
        members = [row for row, other in enumerate(GROUPS) if other == label]
        alone = score_sas(
            [PREDICTIONS[row] for row in members],
            [REFERENCES[row] for row in members],
            confidence_level=0.9,
            n_resamples=50,
            **model,
        ).result
        for key in ("truncated", "truncated_ids"):
            alone.pop(key)
        assert json.loads(json.dumps(figures), parse_float=lambda text: round(float(text), 5)) == json.loads(
            json.dumps(alone), parse_float=lambda text: round(float(text), 5)
        )


def test_intervals_are_the_bootstrap_of_the_details(model: Any) -> None:
    result = score_sas(
        PREDICTIONS, REFERENCES, confidence_level=0.9, n_resamples=300, seed=7, details=True, **model
    ).result
    values = np.array([detail["sas"] for detail in result["details"]])
    has_answer = np.array([detail["has_answer"] for detail in result["details"]])
    columns = {
        "sas": values,
        "HasAns_sas": np.where(has_answer, values, np.nan),
        "NoAns_sas": np.where(has_answer, np.nan, values),
    }
    expected = bootstrap_means(columns, confidence_level=0.9, n_resamples=300, seed=7)
    assert result["confidence_intervals"] == {key: list(interval or ()) for key, interval in expected.items()}
    low, high = result["confidence_intervals"]["sas"]
    assert low < result["sas"] < high


def test_missing_predictions_score_zero_when_asked(model: Any, similarity: Any) -> None:
    predictions = {"right": "Paris", "extra": "x"}
    references = {"right": ["Paris"], "unanswered": ["b"], "unanswerable": [], "blank": [" ", "c"]}
    with pytest.raises(InputError, match=r"3 ids of the references have no prediction.*missing='score_zero'"):
        score_sas(predictions, references, **model)
    scored = score_sas(predictions, references, missing="score_zero", details=True, **model)
    assert scored.rows.scores["sas"].tolist() == near([similarity("Paris", "Paris"), 0.0, 0.0, 0.0])
    assert scored.result["NoAns_sas"] == 0.0  # saying nothing by accident is not right
    assert [row["prediction"] for row in scored.result["details"]] == ["Paris", None, None, None]
    assert [row["best_reference"] for row in scored.result["details"]] == [0, None, None, None]
    assert [row["reference_scores"] for row in scored.result["details"]][1:] == [[0.0], [], [0.0, 0.0]]
    assert scored.signature["missing"] == "score_zero"


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_are_matched_by_id_whatever_their_order(seed: int, model: Any) -> None:
    order = np.random.default_rng(seed).permutation(len(PREDICTIONS)).tolist()
    assert order != sorted(order)
    straight = score_sas(PREDICTIONS, REFERENCES, **model)
    shuffled = score_sas([PREDICTIONS[row] for row in order], REFERENCES, **model)
    assert shuffled.result == straight.result
    assert shuffled.rows.ids == IDS


KEYS = ["sas", "total", "HasAns_sas", "HasAns_total", "NoAns_sas", "NoAns_total", "truncated", "truncated_ids"]


@pytest.mark.parametrize("references", [["Paris"], [[]]])
def test_keys_are_always_there_and_values_plain(references: list[Any], model: Any) -> None:
    scored = score_sas(["Paris"], references, details=True, confidence_level=0.9, n_resamples=20, **model)
    assert list(scored.result) == [*KEYS[:6], "confidence_intervals", "truncated", "truncated_ids", "details"]
    prefix = "NoAns_" if references[0] else "HasAns_"
    assert (scored.result[f"{prefix}sas"], scored.result[f"{prefix}total"]) == (None, 0)
    assert scored.result["confidence_intervals"][f"{prefix}sas"] is None

    def check(value: Any) -> None:
        assert type(value) in (float, int, str, bool, list, dict, type(None)), type(value)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(item)

    check(scored.result)
    assert json.loads(json.dumps(scored.result)) == scored.result
    assert list(score_sas(["Paris"], references, **model).result) == KEYS


def test_signature_names_everything_that_changes_a_score(model: Any) -> None:
    import transformers

    signature = score_sas(PREDICTIONS, REFERENCES, **model).signature
    assert dict(signature) == {
        "metric": "sas_metric",
        "version": __version__,
        "scorer": "cross-encoder",
        "model": model["model"],
        "transformers": transformers.__version__,
        "dtype": "float32",
        "activation": "sigmoid",
        "max_length": 64,
        "aggregate": "max",
        "references": "0-3",
    }


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"aggregate": "mean"}, {"aggregate": "mean"}),
        ({"dtype": "bfloat16"}, {"dtype": "bfloat16"}),
        ({"max_length": 16}, {"max_length": 16}),
        ({"symmetric": True}, {"symmetric": True}),
        ({"exact_match_is_one": True}, {"exact_match_is_one": True}),
        ({"missing": "score_zero"}, {"missing": "score_zero"}),
        (
            {"confidence_level": 0.9, "n_resamples": 9, "seed": 5},
            {"confidence_level": 0.9, "n_resamples": 9, "seed": 5},
        ),
        ({"batch_size": 3}, {}),
        ({"details": True, "groups": GROUPS}, {}),
        ({"n_resamples": 9, "seed": 5}, {}),
    ],
    ids=str,
)
def test_signature_changes_with_what_changes_a_score(
    options: dict[str, Any], facts: dict[str, Any], model: Any
) -> None:
    plain = score_sas(PREDICTIONS, REFERENCES, **model).signature
    signature = score_sas(PREDICTIONS, REFERENCES, **model, **options).signature
    assert dict(signature) == {**plain, **facts}
    assert (signature == plain) is (not facts)


def test_activation_is_signed(identity_activation: Path) -> None:
    scored = score_sas(["a"], ["b"], model=str(identity_activation), activation="sigmoid")
    assert scored.signature["activation"] == "sigmoid"


def test_bi_encoder_by_folder(bi_encoder: Path) -> None:
    scored = score_sas(
        ["Paris", ""], [["Rome", "Paris"], []], scorer="bi-encoder", model=str(bi_encoder), language="de"
    )
    assert scored.rows.scores["sas"].tolist() == near([1.0, 1.0])
    assert scored.signature["scorer"] == "bi-encoder"


def test_progress_wraps_the_batches(model: Any) -> None:
    steps: list[Any] = []

    def progress(batches: Any) -> Any:
        for batch in batches:
            steps.append(batch)
            yield batch

    score_sas([f"{number}" for number in range(10)], ["x"] * 10, batch_size=4, progress=progress, **model)
    assert [len(step) for step in steps] == [4, 4, 2]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown aggregate": ({"aggregate": "median"}, "'aggregate' must be 'max' or 'mean'; got 'median'"),
    "symmetric that is no bool": ({"symmetric": "yes"}, "'symmetric' must be True or False; got 'yes'"),
    "exact match that is no bool": ({"exact_match_is_one": 1}, "'exact_match_is_one' must be True or False; got 1"),
    "details that are no bool": ({"details": None}, "'details' must be True or False; got None"),
    "confidence in percent": ({"confidence_level": 95}, "'confidence_level' must be"),
    "no resamples": ({"n_resamples": 0}, "'n_resamples' must be an integer of at least 1; got 0"),
    "negative seed": ({"seed": -1}, "'seed' must be an integer of at least 0"),
    "unknown missing": ({"missing": "skip"}, "'missing' must be 'error' or 'score_zero'; got 'skip'"),
    "too few groups": ({"groups": ["a"]}, "There are 1 group labels and 8 references"),
    "unknown language": ({"language": "xx"}, "xx"),
    "unknown scorer": ({"scorer": "bert"}, "'scorer' must be .* or 'bi-encoder' or 'bertscore'; got 'bert'"),
    "unknown activation": ({"activation": "tanh"}, "'activation' must be None, 'sigmoid' or 'identity'; got 'tanh'"),
    "batch size 0": ({"batch_size": 0}, "'batch_size' must be None or an integer of at least 1; got 0"),
    "model of a wrong type": ({"model": ["a"]}, "'model' must be a name, a Hub id or a local folder"),
    "embedded model and another language": (
        {"model": None, "language": "fr"},
        r"'embedded' reads en, not 'fr'.*gbert-large-sts.*multilingual.*any Hub id or folder",
    ),
    "bertscore without a model": (
        {"model": None, "scorer": "bertscore"},
        "Pass model='bertscore-vanilla' or model='bertscore-trained', a Hub id or a folder",
    ),
    "layer of a cross-encoder": ({"layer": 2}, "'layer' is for scorer='bertscore'; got scorer='cross-encoder'"),
    "layer that is no integer": ({"layer": "2", "scorer": "bertscore"}, "'layer' must be None or an integer"),
    "bi-encoder without a model": ({"model": None, "scorer": "bi-encoder"}, "Pass model='multilingual'"),
    "no predictions": ({"predictions": [], "references": []}, "There is nothing to score"),
    "a prediction that is no string": ({"predictions": [None] * 8, "references": ["a"] * 8}, r"predictions\[0\]"),
    "references that are all blank": ({"predictions": ["a"], "references": [" "]}, "every reference is blank"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD)
def test_bad_arguments(changes: dict[str, Any], message: str, model: Any, read: list[scorers.Pair]) -> None:
    arguments = {"predictions": PREDICTIONS, "references": REFERENCES} | model | changes
    with pytest.raises(InputError, match=message):
        score_sas(**arguments)
    assert read == []


def test_bad_rows_are_named_before_a_model_is_loaded() -> None:
    with pytest.raises(InputError, match="There are 2 predictions and 1 references"):
        score_sas(["a", "b"], ["a"], model="/no/such/folder")
