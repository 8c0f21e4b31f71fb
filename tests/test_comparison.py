"""Two systems compared: scipy's paired bootstrap and permutation test, McNemar's exact test, and a naive count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import qa_scoring
from qa_scoring import compare, score_ava, score_multilingual_squad, score_sas
from qa_scoring.cli import main
from qa_scoring.errors import InputError
from qa_scoring.records import read_predictions, with_no_answer_values
from qa_scoring.rows import Scored
from qa_scoring.statistics.paired import randomization_p_values
from tests.conftest import data_path, read_json

WORDS = ["red", "green", "blue", "tall", "small", "old"]
SEED = 42


def made(count: int, seed: int = 0) -> tuple[list[str], list[str], list[list[str]]]:
    """Return answers of A, of B, and references (some without an answer), of words drawn by chance."""
    generator = np.random.default_rng(seed)

    def text(least: int) -> str:
        return " ".join(generator.choice(WORDS, generator.integers(least, 4)))

    references = [[text(1)] if generator.random() < 0.8 else [] for _ in range(count)]
    a = [text(0) for _ in range(count)]
    b = [gold[0] if gold and generator.random() < 0.4 else text(0) for gold in references]
    return a, b, references


def scored(answers: list[str], references: list[list[str]], **options: Any) -> Scored:
    return score_multilingual_squad(answers, references, language="en", **options)


def mean_difference(x: Any, y: Any, axis: int) -> Any:
    return np.mean(y - x, axis=axis)


@pytest.mark.parametrize("count", [7, 300])
@pytest.mark.parametrize("score", ["exact", "f1"])
def test_figures_interval_and_counts_are_scipys_and_a_naive_count(count: int, score: str) -> None:
    a_texts, b_texts, references = made(count)
    a, b = scored(a_texts, references), scored(b_texts, references)
    comparison = compare(a, b)
    found, columns = comparison.result[score], [one.rows.scores[score] for one in (a, b)]
    assert (found["a"], found["b"]) == (a.result[score], b.result[score])
    assert found["difference"] == found["b"] - found["a"]
    interval = stats.bootstrap(
        columns,
        mean_difference,
        paired=True,
        n_resamples=2000,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    assert found["confidence_interval"] == pytest.approx([100 * interval.low, 100 * interval.high])
    test = stats.permutation_test(columns, mean_difference, permutation_type="samples", n_resamples=9999, rng=1)
    drawing = 0.0 if count == 7 else 4 * np.sqrt(0.25 / 2000)  # seven rows are counted out, by scipy too
    assert found["p_value"] == pytest.approx(test.pvalue, abs=drawing + 1e-12)
    pairs = list(zip(*(one.rows.scores["exact"].tolist() for one in (a, b)), strict=True))
    assert comparison.result["right"] == {
        "both": pairs.count((1, 1)), "only_a": pairs.count((1, 0)), "only_b": pairs.count((0, 1)),
        "neither": pairs.count((0, 0)),
    }  # fmt: skip
    of_a, of_b = (column.tolist() for column in columns)
    naive = sorted((i for i in range(count) if of_a[i] != of_b[i]), key=lambda i: (-abs(of_b[i] - of_a[i]), i))
    assert comparison.most_different(score) == naive
    assert comparison.most_different(score, 2) == naive[:2]
    assert found["differing"] == len(naive)


@pytest.mark.parametrize("prefix", ["HasAns_", "NoAns_"])
def test_a_subset_is_a_comparison_of_its_rows(prefix: str) -> None:
    a_texts, b_texts, references = made(200)
    whole = compare(scored(a_texts, references), scored(b_texts, references)).result
    rows = [row for row, gold in enumerate(references) if bool(gold) == (prefix == "HasAns_")]
    part = [[texts[row] for row in rows] for texts in (a_texts, b_texts, references)]
    alone = compare(*(scored(answers, part[2]) for answers in part[:2])).result  # type: ignore[arg-type]
    assert whole[f"{prefix}total"] == alone["total"] == len(rows)
    for score in ("exact", "f1"):
        of_whole, of_part = whole[prefix + score], alone[score]
        for key in ("a", "b", "difference"):
            assert of_whole[key] == pytest.approx(of_part[key])
        assert of_whole["differing"] == of_part["differing"]
        assert of_whole["p_value"] == pytest.approx(of_part["p_value"], abs=4 * np.sqrt(0.5 / 2000))


def test_two_systems_on_squad_2_dev() -> None:
    # The published figures of both (tests/test_golden.py), and McNemar's exact test of who is right.
    files = [
        data_path("squad", "predictions", name)
        for name in ("anuragsatish_bert.predictions.json", "danaliu67_albert-large.predictions.json")
    ]
    references = read_json(data_path("squad", "dev-v2.0.json"))
    bert, albert = (score_multilingual_squad(read_json(path), references, scheme="squad") for path in files)
    result = compare(bert, albert).result
    assert result["exact"]["difference"] == pytest.approx(81.42845110755496 - 47.28, abs=0.006)
    assert result["f1"]["difference"] == pytest.approx(84.86029930097264 - 52.99, abs=0.006)
    assert sum(result["right"].values()) == result["total"] == 11873
    gained, lost = result["right"]["only_b"], result["right"]["only_a"]
    assert result["exact"]["difference"] == pytest.approx(100 * (gained - lost) / 11873)
    assert stats.binomtest(gained, gained + lost).pvalue < result["exact"]["p_value"] == 1 / 2001


@pytest.mark.parametrize(("gains", "losses"), [(3, 0), (6, 2), (40, 22), (300, 240)])
def test_the_p_value_of_verdicts_is_mcnemars_exact_one(gains: int, losses: int) -> None:
    differences = np.array([1.0] * gains + [-1.0] * losses + [0.0] * 50)
    expected = stats.binomtest(gains, gains + losses).pvalue
    draws = 20_000
    found = randomization_p_values({"x": differences}, n_resamples=draws, seed=3)["x"]
    assert found is not None
    exact = 2 ** (gains + losses) <= draws
    assert found == pytest.approx(expected, abs=1e-12 if exact else 5 * np.sqrt(expected / draws))


def test_p_values_by_hand() -> None:
    nan = float("nan")
    columns = {
        "alike": np.array([0.0, 0.0, nan]),
        "ties of thirds": np.array([1 / 3, 1 / 3, -2 / 3]),  # sums to 0: every draw is as far
        "all one way": np.array([0.1, 0.2, nan]),
        "nothing": np.array([nan, nan, nan]),
    }
    found = randomization_p_values(columns, n_resamples=100, seed=0)
    assert found == {"alike": 1.0, "ties of thirds": 1.0, "all one way": 0.5, "nothing": None}
    many = randomization_p_values({"x": np.ones(40)}, n_resamples=99, seed=0)
    assert many == {"x": 0.01}  # only the one seen is that far, and it counts


answers = st.sampled_from(["", "red", "red green", "blue"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(answers, answers, answers), min_size=1, max_size=30), st.integers(0, 5))
def test_swapping_the_systems_turns_the_sign(rows: list[tuple[str, str, str]], seed: int) -> None:
    references = [[gold] if gold else [] for _, _, gold in rows]
    a, b = (scored([row[side] for row in rows], references) for side in (0, 1))
    one_way, other_way = (compare(*pair, n_resamples=200, seed=seed) for pair in ((a, b), (b, a)))
    for key in ("exact", "f1", "HasAns_f1", "NoAns_exact"):
        there, back = one_way.result[key], other_way.result[key]
        if there is None:
            assert back is None
            continue
        low, high = there["confidence_interval"]
        assert -100.0 <= low <= high <= 100.0
        assert back["difference"] == -there["difference"]
        assert back["confidence_interval"] == pytest.approx([-high, -low], abs=1e-9)
        assert back["p_value"] == there["p_value"]
        assert 0.0 < there["p_value"] <= 1.0
    assert one_way.most_different("f1") == other_way.most_different("f1")
    right, turned = one_way.result["right"], other_way.result["right"]
    assert (right["only_a"], right["only_b"]) == (turned["only_b"], turned["only_a"])
    assert sum(right.values()) == len(one_way) == len(rows)


def test_equal_answers_differ_nowhere_and_the_interval_is_paired() -> None:
    texts, _, references = made(100)
    result = compare(scored(texts, references), scored(texts, references)).result
    # each system alone has a wide interval; the difference of equal systems has none
    assert result["f1"] == {
        "a": result["f1"]["b"], "b": result["f1"]["a"], "difference": 0.0, "confidence_interval": [0.0, 0.0],
        "p_value": 1.0, "differing": 0,
    }  # fmt: skip
    assert result["signature_differences"] == []


def test_the_same_seed_gives_the_same_figures_and_another_one_others() -> None:
    a_texts, b_texts, references = made(100)
    a, b = scored(a_texts, references), scored(b_texts, references)
    first, again, other = (compare(a, b, seed=seed).result for seed in (1, 1, 2))
    assert first == again
    assert first["f1"]["confidence_interval"] != other["f1"]["confidence_interval"]
    json.dumps(first)  # plain Python values


def test_no_answer_thresholds_hold_as_in_the_figures_and_signatures_that_differ_are_named() -> None:
    references = {"1": ["Rome"], "2": []}
    values = {"1": 0.1, "2": 0.9}
    texts = {"1": "Rome", "2": "Oslo"}
    a = score_multilingual_squad(texts, references, language="en")
    b = score_multilingual_squad(
        with_no_answer_values(read_predictions(texts), values), references, language="en", no_answer_threshold=0.5
    )
    comparison = compare(a, b)
    assert (comparison.result["exact"]["a"], comparison.result["exact"]["b"]) == (50.0, 100.0)
    assert comparison.columns["exact_b"] == [1.0, 1.0]
    assert comparison.result["signature_differences"] == ["no_answer_threshold"]


@pytest.mark.parametrize(
    ("score", "names", "has_verdict"),
    [(score_sas, ("sas",), False), (score_ava, ("ava_accuracy", "ava_score"), True)],
)
def test_the_metrics_of_meaning_are_compared_from_0_to_1(score: Any, names: tuple[str, ...], has_verdict: bool) -> None:
    references = [
        {"id": "1", "question": "Which city?", "answers": ["Rome"]},
        {"id": "2", "question": "How many miles?", "answers": ["six miles"]},
    ]
    a = score(["Oslo", "6 miles"], references)
    b = score(["the city of Rome", "6 miles"], references)
    comparison = compare(a, b)
    assert comparison.scores == names
    for name in names:
        found = comparison.result[name]
        assert 0.0 <= found["a"] < found["b"] <= 1.0
        assert (found["a"], found["b"]) == (a.result[name], b.result[name])
        assert comparison.most_different(name) == [0]
    assert comparison.result["right"] == ({"both": 1, "only_a": 0, "only_b": 1, "neither": 0} if has_verdict else None)
    assert comparison.result["NoAns_total"] == 0
    assert comparison.result[f"NoAns_{names[0]}"] is None


def test_what_cannot_be_compared_is_refused() -> None:
    a = scored(["x"], [["x"]])
    with pytest.raises(InputError, match=r"Row 0: A was scored on references \['x'\] .* B on references \['y'\]"):
        compare(a, scored(["x"], [["y"]]))
    with pytest.raises(InputError, match="A was scored on 1 references, B on 2"):
        compare(a, scored(["x", "x"], [["x"], ["x"]]))
    with pytest.raises(InputError, match="A was scored by m2qa_squad_v2, B by sas_metric"):
        compare(a, score_sas(["x"], [["x"]], exact_match_is_one=True))
    with pytest.raises(InputError, match="'confidence_level' must be a number between 0 and 1"):
        compare(a, a, confidence_level=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'n_resamples' must be an integer of at least 1"):
        compare(a, a, n_resamples=0)
    with pytest.raises(InputError, match="'score' must be one of 'exact', 'f1'; got 'sas'"):
        compare(a, a).most_different("sas")


# ------------------------------------------------------------------------------------ command line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    a, b, references = made(40, seed=5)
    ids = [f"q{number}" for number in range(40)]
    (tmp_path / "a.json").write_text(json.dumps(dict(zip(ids, a, strict=True))))
    (tmp_path / "b.json").write_text(json.dumps(dict(reversed(list(zip(ids, b, strict=True))))))  # matched by id
    rows = [
        {"id": key, "question": f"Which colour, {key}?", "answers": gold, "language": "en"}
        for key, gold in zip(ids, references, strict=True)
    ]
    (tmp_path / "references.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0, text: str | None = None) -> str:
    arguments = tuple(str(folder / one) if (folder / one).exists() else one for one in arguments)
    done = CliRunner().invoke(main, ["compare", *arguments], input=text)
    assert done.exit_code == code, done.output
    return done.output


METRIC_AND_FILES = ("m2qa_squad_v2", "a.json", "b.json", "references.jsonl")


def test_the_command_gives_the_functions_figures(folder: Path) -> None:
    a, b, references = made(40, seed=5)
    ids = [f"q{number}" for number in range(40)]
    gold = dict(zip(ids, references, strict=True))
    expected = compare(
        *(scored(dict(zip(ids, texts, strict=True)), gold) for texts in (a, b)),  # type: ignore[arg-type]
        confidence_level=0.9,
        n_resamples=300,
        seed=7,
    )
    options = ("-l", "en", "--confidence-level", "0.9", "--n-resamples", "300", "--seed", "7")
    found = json.loads(run(folder, *METRIC_AND_FILES, *options, "--json", "--show", "3"))
    rows = found.pop("rows")
    assert found == expected.result
    assert [row["id"] for row in rows] == [ids[place] for place in expected.most_different("f1", 3)]
    assert rows[0]["question"] == f"Which colour, {rows[0]['id']}?"
    printed = run(folder, *METRIC_AND_FILES, *options)
    one = expected.result["f1"]
    low, high = one["confidence_interval"]
    assert f"{one['difference']:+.2f} [{low:+.2f}, {high:+.2f}]" in printed
    assert "B minus A [90 %]" in printed
    assert f"only B {expected.result['right']['only_b']}" in printed
    assert printed.count("signature of A and B: metric:m2qa_squad_v2") == 1
    assert rows[0]["question"] in printed


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_the_rows_are_written_in_the_order_of_the_references(folder: Path, suffix: str) -> None:
    path = folder / f"rows.{suffix}"
    found = json.loads(run(folder, *METRIC_AND_FILES, "-l", "en", "--rows", str(path), "--json"))
    if suffix == "parquet":
        import pyarrow.parquet as parquet

        rows = parquet.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"q{number}" for number in range(40)]
    assert 100 * np.mean([row["f1_difference"] for row in rows]) == pytest.approx(found["f1"]["difference"])
    assert set(rows[0]) == {
        "id", "question", "has_answer", "prediction_a", "prediction_b", "references", "exact_a", "exact_b",
        "exact_difference", "f1_a", "f1_b", "f1_difference",
    }  # fmt: skip


def test_options_of_one_side_and_of_rows(folder: Path) -> None:
    plain = json.loads(run(folder, *METRIC_AND_FILES, "--language-column", "language", "--json"))
    assert plain["signature_a"].count("language:en") == 1
    ids = [f"q{number}" for number in range(40)]
    (folder / "na_a.json").write_text(json.dumps(dict.fromkeys(ids, 0.0)))
    (folder / "na_b.json").write_text(json.dumps(dict.fromkeys(ids, 0.7)))
    values = ("--no-answer-file", str(folder / "na_a.json"), str(folder / "na_b.json"))
    thresholds = (*METRIC_AND_FILES, "-l", "en", *values, "--no-answer-threshold", "1", "0.5")
    assert "The signatures differ (no_answer_threshold)" in run(folder, *thresholds)
    result = json.loads(
        run(folder, *METRIC_AND_FILES, "-l", "en", *values, "--no-answer-threshold", "1", "0.5", "--json")
    )
    assert result["NoAns_exact"]["b"] == 100.0
    assert result["HasAns_exact"]["b"] == 0.0
    assert result["f1"]["a"] == plain["f1"]["a"]
    assert "signature of B" not in run(folder, *METRIC_AND_FILES, "--tokenizer", "char", "--show", "0")
    standard = run(
        folder, "m2qa_squad_v2", "-", *METRIC_AND_FILES[2:], "-l", "en", text=(folder / "a.json").read_text()
    )
    assert standard == run(folder, *METRIC_AND_FILES, "-l", "en")


@pytest.mark.parametrize("metric", ["sas_metric", "ava_metric"])
def test_the_command_compares_by_meaning(folder: Path, metric: str) -> None:
    found = json.loads(run(folder, metric, *METRIC_AND_FILES[1:], "--json", "--missing", "score_zero"))
    score = {"sas_metric": "sas", "ava_metric": "ava_score"}[metric]
    assert found["metric"] == metric
    assert 0.0 < found[score]["a"] < found[score]["b"] < 1.0
    assert len(found["rows"]) == 5
    if metric == "ava_metric":
        found = run(folder, metric, *METRIC_AND_FILES[1:], "--sort-by", "ava_accuracy", "--question", "question")
        assert "ava_accuracy differs in" in found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("sas_metric", *METRIC_AND_FILES[1:], "--tokenizer", "char"), "--tokenizer is an option of m2qa_squad_v2"),
        (("m2qa_squad_v2", *METRIC_AND_FILES[1:], "--model", "x"), "--model is an option of sas_metric and ava_metric"),
        (
            (*METRIC_AND_FILES, "-l", "en", "--sort-by", "sas"),
            "'--sort-by' must be one of exact, f1 with m2qa_squad_v2",
        ),
        ((*METRIC_AND_FILES, "-l", "xx-nowhere"), "nowhere"),
        (("m2qa_squad_v2", "-", "-", "references.jsonl", "-l", "en"), "Only one of the files can be standard input"),
        ((*METRIC_AND_FILES, "-l", "en", "--n-resamples", "0"), "'n_resamples' must be an integer"),
        ((*METRIC_AND_FILES, "-l", "en", "--language-column", "language"), "--language or --language-column, not both"),
        (("m2qa_squad_v2", "a.json", "missing.json", "references.jsonl", "-l", "en"), "there is no such file"),
        ((*METRIC_AND_FILES, "-l", "en", "--rows", "rows.xlsx"), "written as .jsonl or .parquet"),
    ],
)
def test_bad_options_are_one_line(folder: Path, arguments: tuple[str, ...], expected: str) -> None:
    printed = run(folder, *arguments, code=2)
    assert expected in printed
    assert printed.strip().count("\n") == 0


def test_predictions_that_do_not_fit_name_the_system(folder: Path) -> None:
    (folder / "b.json").write_text('{"q1": "red"}')
    assert "Error: Scoring B: " in run(folder, *METRIC_AND_FILES, "-l", "en", code=2)
    assert qa_scoring.compare is compare
