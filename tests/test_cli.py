"""The command line: files in every format, grouping, rows, plots, exit codes, one clear line for bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

import qa_scoring
from qa_scoring.cli import main
from qa_scoring.rows import read_rows
from qa_scoring.text.languages import LANGUAGES
from tests.test_metric import EXPECTED, PREDICTIONS, REFERENCES

PNG = b"\x89PNG\r\n\x1a\n"
LANGUAGE_OF = {"a": "de", "b": "de", "c": "tr", "d": "tr"}


def call(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


def ok(*arguments: object, stdin: str | bytes | None = None) -> str:
    done = call(*arguments, stdin=stdin)
    assert done.exit_code == 0, done.output
    return done.stdout


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


WITH_LANGUAGE = [{**row, "language": LANGUAGE_OF[row["id"]]} for row in REFERENCES]
CELLS = [{**row, "answers": json.dumps(row["answers"])} for row in WITH_LANGUAGE]
SQUAD = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": WITH_LANGUAGE}]}]}

PREDICTION_FILES: dict[str, Callable[[Path], Path]] = {
    "records.json": lambda path: write_json(path, PREDICTIONS),
    "records.jsonl": lambda path: write_lines(path, PREDICTIONS),
    "lines.json": lambda path: write_lines(path, PREDICTIONS),
    "records.csv": lambda path: write_csv(path, PREDICTIONS),
    "records.tsv": lambda path: write_csv(path, PREDICTIONS, "\t"),
    "records.parquet": lambda path: write_parquet(path, PREDICTIONS),
    "short_names.jsonl": lambda path: write_lines(
        path,
        [
            {"id": row["id"], "prediction": row["prediction_text"], "no_answer": row["no_answer_probability"]}
            for row in PREDICTIONS
        ],
    ),
}
REFERENCE_FILES: dict[str, Callable[[Path], Path]] = {
    "squad.json": lambda path: write_json(path, SQUAD),
    "records.json": lambda path: write_json(path, WITH_LANGUAGE),
    "records.jsonl": lambda path: write_lines(path, WITH_LANGUAGE),
    "records.csv": lambda path: write_csv(path, CELLS),
    "records.parquet": lambda path: write_parquet(path, WITH_LANGUAGE),
    "with_a_mark.json": lambda path: (path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SQUAD).encode()) and path) or path,
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write_lines(tmp_path / "p.jsonl", PREDICTIONS), write_json(tmp_path / "r.json", SQUAD)


@pytest.mark.parametrize("name", PREDICTION_FILES)
def test_prediction_files(name: str, tmp_path: Path) -> None:
    predictions = PREDICTION_FILES[name](tmp_path / name)
    references = write_json(tmp_path / "references.json", SQUAD)
    result = json.loads(ok("score", "m2qa_squad_v2", predictions, references, "-l", "de", "--json"))
    assert result.pop("signature").startswith("metric:m2qa_squad_v2|")
    assert result == EXPECTED


@pytest.mark.parametrize("name", REFERENCE_FILES)
def test_reference_files_and_groups(name: str, tmp_path: Path) -> None:
    references = REFERENCE_FILES[name](tmp_path / name)
    predictions = write_lines(tmp_path / "predictions.jsonl", PREDICTIONS)
    arguments = ["score", "m2qa_squad_v2", predictions, references, "--language-column", "language", "--by", "language"]
    result = json.loads(ok(*arguments, "--json"))
    assert result["exact"] == EXPECTED["exact"]
    for label, rows in (("de", slice(0, 2)), ("tr", slice(2, 4))):
        alone = qa_scoring.score_multilingual_squad(PREDICTIONS[rows], REFERENCES[rows], language=label).result
        assert result["groups"][label] == alone
    table = ok(*arguments)
    assert "HasAns" in table
    assert "92.86" in table
    assert "signature: metric:m2qa_squad_v2|" in table


def test_mapping_and_no_answer_file(tmp_path: Path) -> None:
    predictions = write_json(tmp_path / "p.json", {row["id"]: row["prediction_text"] for row in PREDICTIONS})
    values = write_json(tmp_path / "n.json", {row["id"]: row["no_answer_probability"] for row in PREDICTIONS})
    references = write_json(tmp_path / "r.json", {row["id"]: row["answers"]["text"] for row in REFERENCES})
    result = json.loads(
        ok("score", "m2qa_squad_v2", predictions, references, "-l", "de", "--no-answer-file", values, "--json")
    )
    del result["signature"]
    assert result == EXPECTED


def test_plain_csv_with_one_reference_each(tmp_path: Path) -> None:
    rows = write_csv(
        tmp_path / "both.csv",
        [
            {"question_id": "1", "prediction": "1976", "reference": "1976"},
            {"question_id": "2", "prediction": "", "reference": ""},
            {"question_id": "3", "prediction": "x, y", "reference": '["x", "y x"]'},
        ],
    )
    arguments = [
        "score",
        "m2qa_squad_v2",
        rows,
        rows,
        "--scheme",
        "squad",
        "--id-column",
        "question_id",
        "--json",
        "--details",
    ]
    result = json.loads(ok(*arguments))
    assert (result["HasAns_total"], result["NoAns_exact"], result["HasAns_f1"]) == (2, 100.0, 100.0)
    assert [row["id"] for row in result["details"]] == ["1", "2", "3"]


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "parquet"])
def test_standard_input_is_told_by_its_content(kind: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    stream = PREDICTION_FILES[f"records.{kind}"](tmp_path / f"records.{kind}").read_bytes()
    result = json.loads(ok("score", "m2qa_squad_v2", "-", files[1], "-l", "de", "--json", stdin=stream))
    assert result["f1"] == EXPECTED["f1"]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_file_holds_what_plots_and_later_figures_need(
    suffix: str, files: tuple[Path, Path], tmp_path: Path
) -> None:
    path = tmp_path / f"rows.{suffix}"
    ok("score", "m2qa_squad_v2", *files, "-l", "de", "--by", "title", "--rows", path)
    rows = read_rows(path)
    assert rows.ids == ["a", "b", "c", "d"]
    assert rows.groups == ["t"] * 4
    from qa_scoring.multilingual_squad import summarize

    assert summarize(rows) == EXPECTED
    assert rows.extra["prediction"][0] == "im Rathaus von Köln"
    written = ok("plot", path, "--out", tmp_path / "plots").split()
    assert [Path(name).name for name in written] == [
        "scores_by_threshold.png",
        "pr_exact.png", "pr_f1.png", "pr_oracle.png", "na_prob_hist_hasAns.png", "na_prob_hist_noAns.png",
    ]  # fmt: skip
    assert all(Path(name).read_bytes().startswith(PNG) for name in written)


def test_intervals_in_the_table(files: tuple[Path, Path]) -> None:
    table = ok(
        "score", "m2qa_squad_v2", *files, "-l", "de", "--confidence-level", "0.9", "--n-resamples", "50", "--seed", "3"
    )
    assert "50.00 [" in table
    assert "n_resamples:50|seed:3" in table
    assert "best exact 75.00 at no-answer threshold 0.4" in table


OFFICIAL_KEYS = [key for key in EXPECTED if not key.startswith("best_")]


def test_squad2_keys_and_values(files: tuple[Path, Path], tmp_path: Path) -> None:
    predictions = write_json(tmp_path / "p.json", {row["id"]: row["prediction_text"] for row in PREDICTIONS})
    values = write_json(tmp_path / "n.json", {row["id"]: row["no_answer_probability"] for row in PREDICTIONS})
    plain = json.loads(ok("squad2", files[1], predictions))
    assert list(plain) == OFFICIAL_KEYS
    out = tmp_path / "eval.json"
    done = call("squad2", files[1], predictions, "-o", out, "-n", values, "-t", "0.3", "-p", tmp_path / "images", "-v")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("signature: metric:m2qa_squad_v2|")
    figures = json.loads(out.read_text())
    assert list(figures) == [*EXPECTED, "pr_exact_ap", "pr_f1_ap", "pr_oracle_ap"]
    assert figures["NoAns_exact"] == 100.0
    words = json.loads(ok("squad2", files[1], predictions, "-l", "german", "-w"))
    assert words["f1"] == pytest.approx(EXPECTED["f1"])


def test_squad2_leaves_out_empty_subsets(tmp_path: Path) -> None:
    for answers, absent in (([{"text": "x"}], "NoAns_"), ([], "HasAns_")):
        data = {"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "answers": answers}]}]}]}
        references = write_json(tmp_path / "r.json", data)
        predictions, values = write_json(tmp_path / "p.json", {"1": "x"}), write_json(tmp_path / "n.json", {"1": 0.5})
        figures = json.loads(ok("squad2", references, predictions, "-n", values, "-p", tmp_path / "images"))
        assert not [key for key in figures if key.startswith(absent)]
        assert ("pr_f1_ap" in figures) == bool(answers)


def test_languages_lists_and_checks_every_row() -> None:
    listed = json.loads(ok("languages", "--json"))
    assert [row["code"] for row in listed] == [language.code for language in LANGUAGES]
    checked = {row["code"]: row for row in json.loads(ok("languages", "--check", "--json"))}
    assert len(checked) == len(LANGUAGES)
    assert all(row["tokens"] for row in checked.values())
    assert checked["de"]["tokens"] == "die | „ | freie | “ | stadt | köln"
    assert "東京 | 都庁" in ok("languages", "--check")


def test_a_language_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from qa_scoring.text.tokenizers import load_tokenizer

    monkeypatch.setitem(sys.modules, "khmercut", None)
    load_tokenizer.cache_clear()
    try:
        rows = {row["code"]: row for row in json.loads(ok("languages", "--check", "--json"))}
    finally:
        load_tokenizer.cache_clear()
    assert rows["km"]["version"] == "not installed"
    assert 'pip install "qa-scoring[km]"' in rows["km"]["tokens"]


def test_demo_scores_twelve_languages() -> None:
    table = ok("demo")
    for code in ("en", "de", "fr", "tr", "ru", "ar", "hi", "vi", "zh", "ja", "ko", "th"):
        assert f"  {code} " in table
    assert "best f1" in table


def test_demo_scores_english_answers_with_all_three_metrics() -> None:
    pytest.importorskip("torch")
    printed = ok("demo").partition("sas_metric,")[2]
    rows = {
        cells[1].strip(): ([float(cell) for cell in cells[3:7]], cells[7])
        for cells in (re.split(r"\s{2,}", line.strip()) for line in printed.splitlines())
        if len(cells) == 8 and cells[3] in ("0.00", "1.00")
    }
    right, verdict = rows["6 miles"]
    wrong, other_verdict = rows["a good harvest"]
    assert right[:2] == [0.0, 0.5]
    assert right[2] > 0.6 > 0.3 > wrong[2]
    assert right[3] > 0.9 > 0.5 > wrong[3]
    assert (verdict, other_verdict) == ("yes", "no")
    assert "model:qa-scoring-sas-en-2" in printed
    assert "model:qa-scoring-ava-en-1" in printed


def test_help_and_version() -> None:
    assert "squad2" in ok("--help")
    assert qa_scoring.__version__ in ok("--version")


# ------------------------------------------------------------------------------------- bad input

SCORE = ["score", "m2qa_squad_v2", "{p}", "{r}", "-l", "de"]

BAD: dict[str, tuple[list[str], bytes | None, str]] = {
    "no such file": (["score", "m2qa_squad_v2", "none.json", "{r}"], None, "none.json: there is no such file."),
    "a directory": (["score", "m2qa_squad_v2", "{folder}", "{r}"], None, "is a directory; name a file in it."),
    "an empty file": (["score", "m2qa_squad_v2", "{bad}.json", "{r}"], b" \n", "is empty."),
    "malformed JSON": (
        ["score", "m2qa_squad_v2", "{bad}.json", "{r}"],
        b'{"a": oops}',
        "is not valid JSON: Expecting value, line 1, column 7.",
    ),
    "truncated JSON": (
        ["score", "m2qa_squad_v2", "{bad}.json", "{r}"],
        b'{"a": "x", "b": "y',
        "is not valid JSON: Unterminated string",
    ),
    "deeply nested JSON": (["score", "m2qa_squad_v2", "{bad}.json", "{r}"], b"[" * 200_000, "nested too deeply"),
    "JSON that is a number": (
        ["score", "m2qa_squad_v2", "{bad}.json", "{r}"],
        b"5",
        "must hold a JSON object or list; got 5",
    ),
    "repeated key": (
        ["score", "m2qa_squad_v2", "{bad}.json", "{r}"],
        b'{"a": "x", "a": "y"}',
        "1 keys occur more than once ('a')",
    ),
    "broken line": (
        ["score", "m2qa_squad_v2", "{bad}.jsonl", "{r}"],
        b'{"id": "a"}\n{"id"\n',
        "line 2 is not valid JSON",
    ),
    "line that is no record": (["score", "m2qa_squad_v2", "{bad}.jsonl", "{r}"], b"1\n", "row 0: expected a record"),
    "wrong encoding": (
        ["score", "m2qa_squad_v2", "{bad}.json", "{r}"],
        '{"a": "Köln"}'.encode("latin-1"),
        "is not UTF-8 (byte 8: 0xf6). Save it as UTF-8.",
    ),
    "CSV with a missing cell": (
        ["score", "m2qa_squad_v2", "{bad}.csv", "{r}"],
        b"id,prediction\na\n",
        "line 2: expected 2 columns",
    ),
    "CSV with an open quote": (
        ["score", "m2qa_squad_v2", "{bad}.csv", "{r}"],
        b'id,prediction\na,"x',
        "is not valid CSV",
    ),
    "CSV with a bad number": (
        ["score", "m2qa_squad_v2", "{bad}.csv", "{r}"],
        b"id,prediction,no_answer\na,x,often\n",
        "row 0, no_answer_probability: expected a number; got 'often'",
    ),
    "CSV references with a broken list": (
        ["score", "m2qa_squad_v2", "{p}", "{bad}.csv"],
        b"id,answers\na,[x\n",
        "a list must be written as JSON; got '[x'",
    ),
    "broken Parquet": (["score", "m2qa_squad_v2", "{bad}.parquet", "{r}"], b"PAR1 nonsense", "is not valid Parquet"),
    "predictions in SQuAD's layout": (
        ["score", "m2qa_squad_v2", "{r}", "{r}", "-l", "de"],
        None,
        "the prediction must be one string ('' for no answer); got [{'title': 't'",
    ),
    "no column for --by": (
        [*SCORE, "--by", "domain"],
        None,
        "--by domain: there is no column 'domain'; the columns are answers, ",
    ),
    "both language options": (
        [*SCORE, "--language-column", "language"],
        None,
        "Give --language or --language-column, not both.",
    ),
    "two standard inputs": (["score", "m2qa_squad_v2", "-", "-"], None, "Only one of the files can be standard input"),
    "no language": (["score", "m2qa_squad_v2", "{p}", "{r}"], None, "The language is missing"),
    "unknown language": ([*SCORE[:4], "-l", "xx"], None, "Unknown language 'xx'. Known codes: af ar"),
    "unknown tokenizer": ([*SCORE, "--tokenizer", "spacy"], None, "Unknown tokenizer 'spacy'"),
    "unknown metric": (["score", "rouge", "{p}", "{r}"], None, "No such command 'rouge'"),
    "unknown option": ([*SCORE, "--langage", "de"], None, "No such option"),
    "rows with another ending": (
        [*SCORE, "--rows", "rows.xlsx"],
        None,
        "Rows are written as .jsonl or .parquet; got 'rows.xlsx'.",
    ),
    "rows in a folder that is not there": ([*SCORE, "--rows", "{folder}/x/rows.jsonl"], None, "cannot be written to"),
    "no-answer file that is a list": (
        [*SCORE, "--no-answer-file", "{bad}.json"],
        b"[1]",
        "must be a JSON object from id to number",
    ),
    "no-answer file with other ids": (
        [*SCORE, "--no-answer-file", "{bad}.json"],
        b'{"a": 0.1, "z": 1}',
        "3 predictions have no no-answer value ('b', 'c', 'd')",
    ),
    "no-answer file with text": (
        [*SCORE, "--no-answer-file", "{bad}.json"],
        b'{"a": 0.1, "b": "x", "c": 1, "d": 1}',
        "no-answer values[1] (id 'b'): the no-answer value must be a number; got 'x' (str).",
    ),
    "no-answer file with NaN": (
        [*SCORE, "--no-answer-file", "{bad}.json"],
        b'{"a": 0.1, "b": NaN, "c": 1, "d": 1}',
        "must be a finite number; got nan",
    ),
    "squad2 without ids": (["squad2", "{r}", "{bad}.json"], b'["x"]', "row 0: expected a record"),
    "squad2 into a folder": (["squad2", "{r}", "{p}", "-o", "{folder}"], None, "cannot be written: Is a directory."),
    "plot of no rows": (["plot", "{bad}.jsonl"], b'{"x": 1}\n', "does not hold rows as written by --rows"),
    "plot without no-answer values": (
        ["plot", "{bad}.jsonl"],
        b'{"id": "a", "f1": 1.0, "has_answer": true, "answered": true, "best_reference": 0}\n',
        "There is nothing to plot: the rows have no no-answer values.",
    ),
    "plot of another file": (["plot", "{r}"], None, "Rows are read from .jsonl or .parquet; got 'r.json'."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_exits_with_2_and_one_line(case: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    template, content, message = BAD[case]
    names = {"p": files[0], "r": files[1], "folder": tmp_path, "bad": tmp_path / "bad"}
    arguments = [argument.format(**names) for argument in template]
    if content is not None:
        Path(next(argument for argument in arguments if "/bad." in argument)).write_bytes(content)
    done = call(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in done.stderr


def test_progress_is_silent_when_standard_error_is_no_terminal(files: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "qa_scoring.cli", "score", "m2qa_squad_v2", *map(str, files), "-l", "de"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "HasAns" in done.stdout


def test_progress_shows_on_a_terminal(files: tuple[Path, Path]) -> None:
    import pty
    import select
    import termios

    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    command = [sys.executable, "-m", "qa_scoring.cli", "score", "m2qa_squad_v2", *map(str, files), "-l", "de"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=slave, check=True, timeout=60)
    assert select.select([master], [], [], 1.0)[0], "nothing was written to the terminal"
    assert b"working" in os.read(master, 10_000)
    os.close(slave)
    os.close(master)
