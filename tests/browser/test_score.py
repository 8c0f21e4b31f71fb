"""The Score tab as a person would use it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qa_scoring.cli import main
from qa_scoring.rows import read_rows
from tests.browser.conftest import choose, open_upload_boxes, press_score, type_into, upload, write_json
from tests.conftest import data_path, read_json

Visit = Callable[..., Any]
METRICS = {"m2qa_squad_v2": "EM and F1", "sas_metric": "SAS", "ava_metric": "AVA"}


def row_texts(page: Any) -> list[list[str]]:
    """Return the cells of the rows that are drawn."""
    rows = page.get_by_role("grid", name="Select a row to open it").get_by_role("row").all()[1:]
    return [[cell.inner_text().strip() for cell in row.get_by_role("gridcell").all()] for row in rows]


def shown_rows(page: Any, count: str) -> list[list[str]]:
    """Wait until so many rows are shown ("3 of 6"), and return their cells."""
    page.get_by_text(re.compile(rf"Page 1 of \d+: {count} rows\.")).wait_for()
    return row_texts(page)


def figures(page: Any) -> dict[tuple[str, str], dict[str, str]]:
    """Return the headline figures: (group, questions) → column → cell."""
    grid = page.get_by_role("grid", name="EM and F1 in percent")
    header, *lines = [
        [cell.inner_text().strip() for cell in row.get_by_role("columnheader").or_(row.get_by_role("gridcell")).all()]
        for row in grid.get_by_role("row").all()
    ]
    return {(line[0], line[1]): dict(zip(header, line, strict=True)) for line in lines}


def assert_figures_are(page: Any, result: dict[str, Any]) -> None:
    """The headline figures are those of a result, rounded."""
    shown = figures(page)
    for prefix, questions in (("", "all"), ("HasAns_", "HasAns"), ("NoAns_", "NoAns")):
        if ("all", questions) not in shown:
            assert not (result["HasAns_total"] and result["NoAns_total"])
            continue
        cells = shown["all", questions]
        assert cells["total"] == str(result[f"{prefix}total"])
        for name in ("exact", "f1"):
            low, high = result["confidence_intervals"][prefix + name]
            assert cells[name] == f"{result[prefix + name]:.2f} [{low:.2f}, {high:.2f}]"


def opened(page: Any, row: int) -> str:
    """Wait until a row is open, and return what is said of it."""
    page.get_by_role("heading", name=f"Row {row}", exact=True).wait_for()
    text: str = page.locator("#opened-row").inner_text()
    return text


def save_downloads(page: Any, folder: Path) -> dict[str, Path]:
    """Make the files, save them all, and return name → path."""
    page.get_by_role("button", name="Downloads").click()
    page.get_by_role("button", name="Make the files").click()
    listed = page.get_by_role("table").filter(has_text="result").get_by_role("link")
    listed.first.wait_for()
    saved = {}
    for link in listed.all():
        with page.expect_download() as waiting:
            link.click()
        saved[waiting.value.suggested_filename] = folder / waiting.value.suggested_filename
        waiting.value.save_as(saved[waiting.value.suggested_filename])
    return saved


def shown_calls(page: Any) -> tuple[str, str]:
    """Return the Python and the command line that the page shows."""
    page.get_by_role("button", name="Signature, and the same figures").click()
    code = page.locator(".cm-content")
    code.nth(1).wait_for()
    python, command = ("\n".join(code.nth(place).locator(".cm-line").all_inner_texts()) for place in (0, 1))
    return python, command


def run_python(program: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program, space)
    return {**space["scored"].result, "signature": str(space["scored"].signature)}


def run_command(command: str) -> dict[str, Any]:
    program, *words = shlex.split(command)
    assert program == "qa-scoring"
    done = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def tick(page: Any, *metrics: str) -> None:
    for name in metrics:
        page.get_by_role("checkbox", name=f"{METRICS[name]} ({name})").check()


# ---------------------------------------------------------------------------------------- rows in


def test_typed_rows_are_scored(visit: Visit) -> None:
    page = visit()
    for grid in ("EM and F1 in percent", "Select a row to open it"):  # nothing is scored yet
        page.get_by_role("grid", name=grid).get_by_role("columnheader", name="exact").wait_for()
    table = page.get_by_role("grid", name="Rows", exact=True)
    table.get_by_role("gridcell", name="some coffee").dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("the tea")
    page.keyboard.press("Enter")
    table.get_by_role("gridcell", name="the tea").wait_for()
    press_score(page, 6)
    row = shown_rows(page, "6 of 6")[2]
    assert row[3:7] == ["the tea", "tea", "1", "1"]


@pytest.mark.parametrize(
    "pasted",
    [
        "question,prediction,references\nWhere?,in Oslo,Oslo\nWho?,,\n",
        "Where?\tin Oslo\tOslo\nWho?\t\t\n",
        '{"question": "Where?", "prediction_text": "in Oslo", "answers": ["Oslo"]}\n'
        '{"question": "Who?", "prediction_text": "", "answers": []}\n',
    ],
    ids=["CSV", "spreadsheet", "JSON Lines"],
)
def test_pasted_rows_are_scored_and_an_empty_answer_counts(visit: Visit, pasted: str) -> None:
    page = visit()
    page.get_by_role("button", name="Paste rows").click()
    page.get_by_label("Rows from a spreadsheet").fill(pasted)
    page.get_by_role("button", name="Put them into the table").click()
    page.get_by_role("grid", name="Rows", exact=True).get_by_role("gridcell", name="in Oslo").wait_for()
    press_score(page, 2)
    assert [row[2:] for row in shown_rows(page, "2 of 2")] == [
        ["Where?", "in Oslo", "Oslo", "0", "0.6667"],
        ["Who?", "", "", "1", "1"],
    ]
    totals = {questions: cells["total"] for (_, questions), cells in figures(page).items()}
    assert totals == {"all": "2", "HasAns": "1", "NoAns": "1"}


@pytest.mark.parametrize("asked", ["turk", "tr)"])
def test_a_language_is_found_by_typing(visit: Visit, asked: str) -> None:
    page = visit()
    page.get_by_role("combobox", name="Language").first.click()
    page.get_by_role("combobox", name="Language").first.press_sequentially(asked)
    page.get_by_role("option", name="Turkish (tr)").click()
    press_score(page, 6)
    _, command = shown_calls(page)
    assert "--language tr" in command


# -------------------------------------------------------------------------------- rows and figures


def test_an_example_with_all_metrics_groups_filters_and_sorts(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Deutsch").first.click()
    page.get_by_role("grid", name="Rows", exact=True).get_by_role("gridcell", name="de-1").wait_for()
    page.get_by_role("button", name="English").first.click()
    page.get_by_role("grid", name="Rows", exact=True).get_by_role("gridcell", name="en-1").wait_for()
    tick(page, *METRICS)
    page.get_by_role("button", name="More settings").first.click()
    choose(page, "Group by columns", "group")
    press_score(page, 6)
    shown = figures(page)
    assert [key for key in shown if key[0] == "all"] == [("all", "all"), ("all", "HasAns"), ("all", "NoAns")]
    assert {key[0] for key in shown} == {"all", "people", "numbers", "things"}
    for name in ("exact", "f1", "sas", "ava_accuracy", "ava_score"):
        assert re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", shown["all", "all"][name]), shown

    header = page.get_by_role("grid", name="Select a row to open it").get_by_role("columnheader")
    names = [cell.inner_text().strip() for cell in header.all()]
    rows = [dict(zip(names, row, strict=True)) for row in shown_rows(page, "6 of 6")]
    both = {
        "EM 0 but SAS > 0.8": [row["id"] for row in rows if row["exact"] == "0" and float(row["sas"]) > 0.8],
        "Judge says wrong, F1 > 0.5": [
            row["id"] for row in rows if row["ava_accuracy"] == "wrong" and float(row["f1"]) > 0.5
        ],
    }
    assert both["EM 0 but SAS > 0.8"]
    for name, expected in both.items():
        choose(page, "Show only", name)
        assert [row[1] for row in shown_rows(page, f"{len(expected)} of 6")] == expected
    choose(page, "Show only", "none")
    shown_rows(page, "6 of 6")
    first = page.get_by_role("grid", name="Select a row to open it").get_by_role("row").nth(1)
    for highest in (True, False):
        page.get_by_label("Highest first").set_checked(highest)
        choose(page, "Sort by", "f1")
        expected = sorted(rows, key=lambda row: float(row["f1"]), reverse=highest)
        first.get_by_role("gridcell", name=expected[0]["id"]).wait_for()
        assert [row[1] for row in row_texts(page)] == [row["id"] for row in expected]
        choose(page, "Sort by", "row")
    page.get_by_role("button", name="Conditions").click()
    choose(page, "Column 1", "sas")
    choose(page, "Comparison 1", "≤")
    type_into(page.get_by_label("Value 1"), "0.6")
    expected = [row for row in rows if float(row["sas"]) <= 0.6]
    assert 0 < len(expected) < 6
    page.get_by_text(f"{len(expected)} of 6 rows.").wait_for()


def test_a_filter_on_a_metric_that_was_not_chosen_says_what_to_do(visit: Visit) -> None:
    page = visit()
    press_score(page, 6)
    choose(page, "Show only", "EM 0 but SAS > 0.8")
    toast = page.get_by_test_id("toast-body")
    toast.wait_for()
    assert "There is no 'sas' in these rows: score with sas_metric too." in toast.inner_text()


def test_a_row_opens_by_selecting_it_and_by_its_number(visit: Visit) -> None:
    page = visit()
    tick(page, "sas_metric")
    press_score(page, 6)
    rows = page.get_by_role("grid", name="Select a row to open it")
    rows.get_by_role("gridcell", name="spring 1902", exact=True).click()
    text = opened(page, 4)
    for part in ("When was the pier built?", "Best reference, 2 of 2", "spring", "F1 is 1.000", "SAS"):
        assert part in text
    assert page.get_by_role("spinbutton", name="Row to open").input_value() == "4"
    page.get_by_role("spinbutton", name="Row to open").fill("6")
    page.get_by_role("button", name="Open the row").click()
    assert "The question has no answer" in opened(page, 6)
    page.get_by_role("spinbutton", name="Row to open").fill("7")
    page.get_by_role("button", name="Open the row").click()
    page.get_by_text("There is no row 7; the rows are 1 to 6.").wait_for()
    choose(page, "Sort by", "f1")  # the row that is selected is the one that is drawn there
    page.get_by_label("Highest first").check()
    rows.get_by_role("row").nth(1).get_by_role("gridcell", name="en-4").wait_for()
    rows.get_by_role("row").nth(3).get_by_role("gridcell").first.click()
    assert "Ada Brook, the keeper" in opened(page, 1)


def test_a_row_whose_no_answer_value_is_above_the_threshold_says_so(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="More settings").first.click()
    type_into(page.get_by_label("No-answer threshold"), "0.6")
    press_score(page, 6)
    page.get_by_role("spinbutton", name="Row to open").fill("3")
    page.get_by_role("button", name="Open the row").click()
    assert "counts as an empty answer: its no-answer value 0.64 is above 0.6" in opened(page, 3)


# ----------------------------------------------------------------------------------- what goes out


def test_downloads_and_shown_calls_give_the_figures_of_the_page(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(accept_downloads=True)
    press_score(page, 6)
    saved = save_downloads(page, tmp_path)
    assert set(saved) == {"result.json", "m2qa_squad_v2-rows.jsonl", "m2qa_squad_v2-rows.parquet", "table.jsonl"}
    result = read_json(saved["result.json"])["m2qa_squad_v2"]
    assert_figures_are(page, result)
    for name in ("m2qa_squad_v2-rows.jsonl", "m2qa_squad_v2-rows.parquet"):
        rows = read_rows(saved[name])
        assert rows.scores["f1"].mean() * 100 == pytest.approx(result["f1"])
        assert rows.ids == [f"en-{number}" for number in range(1, 7)]
    monkeypatch.chdir(tmp_path)
    python, command = shown_calls(page)
    assert run_python(python) == run_command(command) == result


# ------------------------------------------------------------------------------- long work, keys


def test_cancelling_stops_the_work_and_the_page_lives_on(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless(given: object, settings: object, report: Callable[[str, Iterable[Any]], Iterable[Any]]) -> None:
        try:
            for _ in report("slow metric", range(60_000)):
                time.sleep(0.001)
        finally:
            ended.set()

    page = visit()
    with monkeypatch.context() as patch:
        patch.setattr("qa_scoring.app.scoring.score", endless)
        page.get_by_role("button", name="Score", exact=True).click()
        page.get_by_text(re.compile(r"slow metric: [\d,]+ of 60,000")).wait_for()
        assert not ended.is_set()
        page.get_by_role("button", name="Cancel").first.click()
        page.get_by_text("Cancelled.").wait_for()
        assert ended.wait(5)
    press_score(page, 6)


def press_until(page: Any, key: str, role: str, name: str) -> None:
    """Press a key until the focus is on a control."""
    wanted = page.get_by_role(role, name=name, exact=True).first
    for _ in range(60):
        page.keyboard.press(key)
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{key} does not reach the {role} {name!r}.")


def test_the_whole_tab_by_keyboard(visit: Visit) -> None:
    page = visit()
    press_until(page, "Tab", "button", "Deutsch (German)")
    page.keyboard.press("Enter")
    page.get_by_role("grid", name="Rows", exact=True).get_by_role("gridcell", name="de-1").wait_for()
    press_until(page, "Tab", "checkbox", "SAS (sas_metric)")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    press_until(page, "Tab", "combobox", "Language")
    page.keyboard.type("germ")
    page.keyboard.press("Enter")
    press_until(page, "Tab", "button", "Score")
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text="Done; rows scored: 5.").wait_for()
    press_until(page, "Tab", "combobox", "Sort by")
    page.keyboard.type("f1")
    page.keyboard.press("Enter")
    press_until(page, "Tab", "checkbox", "Highest first")
    page.keyboard.press("Space")
    rows = page.get_by_role("grid", name="Select a row to open it").get_by_role("row")
    rows.nth(5).get_by_role("gridcell", name="de-5").wait_for()
    press_until(page, "Tab", "spinbutton", "Row to open")
    page.keyboard.press("Control+a")
    page.keyboard.type("3")
    press_until(page, "Tab", "button", "Open the row")
    page.keyboard.press("Enter")
    assert "rund 300" in opened(page, 3)


def test_every_control_has_a_role_and_a_name(visit: Visit) -> None:
    page = visit()
    press_score(page, 6)
    for accordion in ("Paste rows", "Upload files", "More settings", "Conditions", "Downloads"):
        page.get_by_role("button", name=accordion).first.click()
    for role, names in {
        "tab": ["Score"],
        "radio": ["Rows of the table", "Uploaded files"],
        "grid": ["Rows", "EM and F1 in percent; SAS and AVA from 0 to 1", "Select a row to open it"],
        "checkbox": [
            *(f"{label} ({name})" for name, label in METRICS.items()),
            "95 % intervals", "Questions without a prediction score 0", "Highest first",
        ],
        "combobox": ["Language", "Tokenizer (EM, F1)", "Normalisation (EM, F1)", "Group by columns", "Show only",
                     "Sort by", "Column 1", "Comparison 1", "Column 2", "Comparison 2"],
        "spinbutton": ["No-answer threshold (EM, F1)", "Value 1", "Value 2", "Row to open"],
        "textbox": ["Rows from a spreadsheet, CSV or JSON Lines"],
        "button": ["Score", "Cancel", "Put them into the table", "Forget the files", "Make the files", "Open the row"],
    }.items():  # fmt: skip
        for name in names:
            assert page.get_by_role(role, name=name).first.is_visible(), (role, name)
    unnamed = (
        page.get_by_role("tabpanel")
        .locator("button:visible, input:visible, textarea:visible")
        .evaluate_all(
            """controls => controls.filter(control => !(control.innerText || control.ariaLabel || control.title
            || control.labels?.length || control.closest('[aria-label]'))).map(control => control.outerHTML)"""
        )
    )
    assert unnamed == []


# ----------------------------------------------------------------- whole data sets, as on the command line


def test_squad2_with_no_answer_values_is_that_of_the_command_line_and_usable(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("anuragsatish_bert.predictions.json", "dev-v2.0.json", "anuragsatish_bert.na_prob.json")
    predictions, values = (data_path("squad", "predictions", names[place]) for place in (0, 2))
    page = visit()
    upload(page, predictions, data_path("squad", names[1]), values)
    page.get_by_role("button", name="More settings").first.click()
    type_into(page.get_by_label("No-answer threshold"), "0.5")
    press_score(page, "11,873")
    page.get_by_text("Page 1 of 119: 11,873 of 11,873 rows.").wait_for()
    _, command = shown_calls(page)
    assert command == shlex.join(
        ["qa-scoring", "score", "m2qa_squad_v2", *names[:2], "--language", "en", "--no-answer-threshold", "0.5",
         "--confidence-level", "0.95", "--no-answer-file", names[2]]
    )  # fmt: skip
    for path in (predictions, values, data_path("squad", names[1])):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    result = run_command(command)
    assert result["total"] == 11_873
    assert_figures_are(page, result)

    choose(page, "Sort by", "no_answer")
    page.get_by_label("Highest first").check()
    first = page.get_by_role("grid", name="Select a row to open it").get_by_role("row").nth(1)
    first.get_by_role("gridcell", name=f"{max(read_json(values).values()):.4g}", exact=True).wait_for()
    page.get_by_role("button", name="Conditions").click()
    choose(page, "Column 1", "f1")
    page.get_by_text(re.compile(r"Page 1 of \d\d: [1-9],\d{3} of 11,873 rows\.")).wait_for()
    page.get_by_role("spinbutton", name="Page (").fill("3")
    page.get_by_text(re.compile(r"Page 3 of \d\d: ")).wait_for()
    page.get_by_role("spinbutton", name="Row to open").fill("11873")
    page.get_by_role("button", name="Open the row").click()
    assert "Normalised" in opened(page, 11_873)


def test_xquad_chinese_is_that_of_the_command_line(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_json(data_path("xquad", "predictions", "mlpp.test-zh_7443.json"))["predictions"]
    texts = [row["predicted_answers"]["text"] for row in rows]
    predictions = write_json(tmp_path / "predictions.json", [{"prediction": text} for text in texts])
    references = write_json(tmp_path / "references.json", [{"answers": row["answers"]["text"]} for row in rows])
    page = visit()
    choose(page, "Language", "Chinese (zh)")
    upload(page, predictions, references)
    press_score(page, "1,190")
    python, command = shown_calls(page)
    assert "--language zh" in command
    monkeypatch.chdir(tmp_path)
    result = run_command(command)
    assert result == run_python(python)
    assert_figures_are(page, result)


def test_forgotten_files_are_not_scored(visit: Visit, tmp_path: Path) -> None:
    page = visit()
    upload(page, write_json(tmp_path / "p.json", {"q1": "a"}), write_json(tmp_path / "r.json", {"q1": ["a"]}))
    press_score(page, 1)
    page.get_by_role("button", name="Forget the files").first.click()
    page.get_by_text("No file is uploaded.").first.wait_for()
    page.get_by_role("radio", name="Uploaded files").first.check()
    page.get_by_role("button", name="Score", exact=True).click()
    page.get_by_text("There are no predictions: upload them, or score the table.").wait_for()
    open_upload_boxes(page)
