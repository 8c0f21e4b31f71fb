"""Agreement with human labels: the figures of Risch et al. 2021, table 2, from the published scores of each pair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_scoring.agreement import measure_agreement
from qa_scoring.cli import main
from qa_scoring.statistics.correlation import COEFFICIENTS, correlate
from tests.conftest import data_path

PUBLISHED = {
    ("sas", "all"): (0.807, 0.765, 0.631),
    ("sas", "f1 = 0"): (0.561, 0.359, 0.291),
    ("sas", "f1 ≠ 0"): (0.743, 0.735, 0.613),
    ("berttrained", "all"): (0.783, 0.763, 0.626),
    ("bi_encoder", "all"): (0.766, 0.747, 0.613),
    ("f1", "all"): (0.705, 0.715, 0.652),
}


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["agreement", *map(str, arguments)])


def test_published_columns_give_the_published_figures() -> None:
    path = data_path("sas", "SQuAD_SAS_published_scores.csv")
    columns = [argument for name in ("sas", "berttrained", "bi_encoder") for argument in ("--column", name)]
    done = call(path, "--label", "label", "--metric", "f1", *columns, "--n-resamples", 0, "--json")
    assert done.exit_code == 0, done.output
    rows = {(row["score"], row["subset"]): row for row in json.loads(done.stdout)}
    assert {subset: rows["sas", subset]["total"] for subset in ("all", "f1 = 0", "f1 ≠ 0")} == {
        "all": 942,
        "f1 = 0": 566,
        "f1 ≠ 0": 376,
    }
    for key, expected in PUBLISHED.items():
        got = tuple(round(rows[key]["correlations"][name]["value"], 3) for name in COEFFICIENTS)
        assert got == expected, key
    assert rows["f1", "f1 = 0"]["correlations"]["pearson"]["value"] is None  # a constant column


def test_intervals_hold_the_value_and_narrow_with_the_level(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 3, 80).astype(np.float64)
    scores = labels + generator.normal(0, 1, 80)
    wide = correlate(scores, labels, confidence_level=0.95, n_resamples=300, seed=1)
    narrow = correlate(scores, labels, confidence_level=0.5, n_resamples=300, seed=1)
    for name in COEFFICIENTS:
        low, value, high = wide[name].low, wide[name].value, wide[name].high
        assert low is not None
        assert value is not None
        assert high is not None
        assert low < narrow[name].low < value < narrow[name].high < high  # type: ignore[operator]
    peer = scipy.stats.bootstrap(
        (scores, labels),
        lambda first, second: scipy.stats.pearsonr(first, second)[0],
        paired=True,
        vectorized=False,
        n_resamples=300,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (wide["pearson"].low, wide["pearson"].high) == pytest.approx((peer.low, peer.high))


NUMBERS = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=12, max_size=12)


@settings(max_examples=60, deadline=None)
@given(NUMBERS, NUMBERS)
def test_coefficients_are_scipys(scores: list[float], labels: list[float]) -> None:
    got = correlate(np.array(scores), np.array(labels))
    if len(set(scores)) == 1 or len(set(labels)) == 1:
        assert {item.value for item in got.values()} == {None}
        return
    expected = {
        "pearson": scipy.stats.pearsonr(scores, labels)[0],
        "spearman": scipy.stats.spearmanr(scores, labels)[0],
        "kendall": scipy.stats.kendalltau(scores, labels)[0],
    }
    assert {name: item.value for name, item in got.items()} == pytest.approx(expected)


def test_subsets_split_by_token_f1() -> None:
    rows = measure_agreement(
        {"x": np.array([0.1, 0.2, 0.3, 0.9])}, np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, 0.0, 1.0]),
        confidence_level=None,
    )  # fmt: skip
    assert [(row.subset, row.total) for row in rows] == [("all", 4), ("f1 = 0", 3)]  # one row is no correlation


PAIRS = "answer1,answer2,label,score\nthe Seine,Seine,2,0.9\nSeine,Epte,0,0.2\nin 1018,1018,1,0.8\na b,b c,1,0.4\n"


def test_table_and_computed_scores(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(PAIRS)
    done = call(
        path, "--label", "label", "--metric", "exact", "--metric", "f1", "--column", "score", "--n-resamples", 50
    )
    assert done.exit_code == 0, done.output
    assert "f1 = 0" not in done.stdout  # one pair only
    assert "score" in done.stdout
    assert "[" in done.stdout


BAD: dict[str, tuple[list[Any], str, str]] = {
    "no score named": ([], PAIRS, "Name at least one score: --metric to compute it, or --column"),
    "unknown metric": (["--metric", "rouge"], PAIRS, "'--metric' must be one of exact, f1, sas; got 'rouge'"),
    "no such column": (["--column", "sas"], PAIRS, "--column sas: there is no column 'sas'; the columns are answer1, "),
    "no such label": (["--metric", "f1", "--label", "gold"], PAIRS, "--label gold: there is no column 'gold'"),
    "label that is no number": (
        ["--metric", "f1"],
        PAIRS.replace(",0,", ",no,"),
        "--label label, row 1: expected a number; got 'no'",
    ),
    "blank label": (
        ["--metric", "f1"],
        PAIRS.replace(",0,", ",,"),
        "--label label, row 1: expected a finite number; got ''",
    ),
    "NaN score": (
        ["--column", "score"],
        PAIRS.replace("0.9", "nan"),
        "--column score, row 0: expected a finite number",
    ),
    "one row": (
        ["--metric", "f1"],
        "\n".join(PAIRS.split("\n")[:2]),
        "Agreement needs at least two labelled rows; got 1",
    ),
    "a mapping": (["--metric", "f1"], '{"a": 1}', "must hold rows; got one JSON object"),
    "a level in percent": (
        ["--metric", "f1", "--confidence-level", "95"],
        PAIRS,
        "'confidence_level' must be None or a number",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str, tmp_path: Path) -> None:
    options, content, message = BAD[case]
    path = tmp_path / ("pairs.json" if content.startswith("{") else "pairs.csv")
    path.write_text(content)
    done = call(path, *([] if "--label" in options else ["--label", "label"]), *options)
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")
