"""The tab Compare as a person would use it."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qa_scoring.cli import main
from tests.conftest import data_path

Visit = Callable[..., Any]
SCRIPT = "<script>document.title = 'taken'</script><b>bold</b>"


def panel_of(page: Any) -> Any:
    return page.get_by_role("tabpanel").filter(has=page.get_by_role("heading", name="Two systems, A and B"))


def press_compare(page: Any, rows: int) -> None:
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("status").filter(has_text=f"Done; rows compared: {rows:,}.").wait_for()


def cells(page: Any, grid: str) -> list[list[str]]:
    """Return the cells of a table, without its header."""
    rows = page.get_by_role("grid", name=grid).get_by_role("row").all()[1:]
    return [[text.strip() for text in row.get_by_role("gridcell").all_inner_texts()] for row in rows]


def figures(page: Any) -> list[list[str]]:
    return cells(page, "A, B, and B minus A")


def differing(page: Any) -> list[list[str]]:
    return cells(page, "Up to 100 rows")


def upload(page: Any, paths: dict[str, Path]) -> None:
    page.get_by_role("button", name="Upload files").click()
    page.get_by_role("button", name="Forget the files").wait_for()
    boxes = panel_of(page).locator("input[type=file]")
    for number, (name, path) in enumerate(paths.items()):
        boxes.nth(number).set_input_files(path)
        page.get_by_role("listitem").filter(has_text=f"{name}: {path.name}").wait_for()


def command_line(page: Any) -> list[str]:
    page.get_by_role("button", name="Signatures, and the same figures").click()
    line = page.get_by_text("qa-scoring compare").first
    line.wait_for()
    return shlex.split(line.inner_text())


def test_an_example_in_one_click(visit: Visit) -> None:
    page = visit("Compare")
    page.get_by_role("button", name="Deutsch").click()
    page.wait_for_function("[...document.querySelectorAll('input')].some(box => box.value === 'German (de)')")
    press_compare(page, 5)
    assert [row[:2] for row in figures(page)] == [
        [questions, score] for questions in ("all (5)", "HasAns (4)", "NoAns (1)") for score in ("exact", "f1")
    ]
    by_f1 = differing(page)
    changes = [abs(float(row[7])) for row in by_f1]
    assert changes == sorted(changes, reverse=True)
    assert changes[0] == 1.0 > changes[-1] > 0.0
    page.get_by_role("radio", name="exact", exact=True).check()
    page.get_by_role("status").filter(has_text="exact differs in").wait_for()
    assert {row[7] for row in differing(page)} <= {"1", "-1"}
    assert len(differing(page)) < len(by_f1)


@pytest.mark.parametrize(
    "pasted",
    [
        f"a\tb\treferences\n{SCRIPT}\tRome\tRome\nOslo\tOslo\tOslo\n",
        json.dumps({"a": SCRIPT, "b": "Rome", "references": ["Rome"]})
        + '\n{"a":"Oslo","b":"Oslo","references":"Oslo"}',
    ],
    ids=["from a spreadsheet", "JSON Lines"],
)
def test_pasted_rows_and_markup_stays_text(visit: Visit, pasted: str) -> None:
    page = visit("Compare")
    page.get_by_role("textbox", name="Columns from a spreadsheet").fill(pasted)
    press_compare(page, 2)
    assert figures(page)[0] == ["all (2)", "exact", "50.00", "100.00", "+50.00 [+0.00, +100.00]", "1.0000"]
    assert [row[2:5] for row in differing(page)] == [[SCRIPT, "Rome", "Rome"]]
    assert page.locator("b", has_text="bold").count() == 0
    assert page.title() != "taken"


def test_the_figures_of_uploaded_files_are_the_command_lines(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {
        "Predictions of A": data_path("squad", "predictions", "anuragsatish_bert.predictions.json"),
        "Predictions of B": data_path("squad", "predictions", "danaliu67_albert-large.predictions.json"),
        "References": data_path("squad", "dev-v2.0.json"),
    }
    page = visit("Compare")
    upload(page, paths)
    press_compare(page, 11_873)
    assert len(differing(page)) >= 5
    for path in paths.values():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    words = command_line(page)
    printed = CliRunner().invoke(main, [*words[1:], "--json"], catch_exceptions=False)
    result = json.loads(printed.output)
    for row, key in zip(figures(page), ("exact", "f1", "HasAns_exact", "HasAns_f1"), strict=False):
        one = result[key]
        low, high = one["confidence_interval"]
        assert row[2:4] == [f"{one['a']:.2f}", f"{one['b']:.2f}"]
        assert row[4] == f"{one['difference']:+.2f} [{low:+.2f}, {high:+.2f}]"
        assert row[5] == f"{one['p_value']:.4f}"
    assert [row[8] for row in differing(page)[:5]] == [row["id"] for row in result["rows"]]


def test_similarity_of_uploads_and_their_downloads(visit: Visit, tmp_path: Path) -> None:
    contents = {
        "Predictions of A": {"1": "Oslo", "2": "6 miles"},
        "Predictions of B": {"1": "the city of Rome", "2": "6 miles"},
        "References": [{"id": "1", "answers": ["Rome"]}, {"id": "2", "answers": ["six miles"]}],
    }
    paths = {}
    for name, content in contents.items():
        paths[name] = tmp_path / f"{name.replace(' ', '-')}.json"
        paths[name].write_text(json.dumps(content))
    page = visit("Compare")
    upload(page, paths)
    page.get_by_role("radio", name="sas_metric").check()
    press_compare(page, 2)
    assert [row[:2] for row in figures(page)] == [["all (2)", "sas"]]
    assert [row[8] for row in differing(page)] == ["1"]
    assert command_line(page)[:3] == ["qa-scoring", "compare", "sas_metric"]
    page.get_by_role("button", name="Downloads").click()
    page.get_by_role("button", name="Make the files").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="comparison.json").or_(
            page.locator("a[download='comparison.json']")
        ).first.click()
    saved = json.loads(Path(download.value.path()).read_text())
    assert f"{saved['sas']['difference']:+.3f}" in figures(page)[0][4]


def test_what_cannot_be_compared_is_one_sentence_and_the_page_lives_on(visit: Visit) -> None:
    page = visit("Compare")
    box = page.get_by_role("textbox", name="Columns from a spreadsheet")
    example = box.input_value()
    box.fill("a,b\nRome,Rome\n")
    page.get_by_role("button", name="Compare", exact=True).click()
    toast = page.get_by_test_id("toast-body")
    toast.wait_for()
    assert "three columns, a, b and references; got 2: 'a, b'" in toast.inner_text()
    assert "Traceback" not in toast.inner_text()
    box.fill(example)
    press_compare(page, 6)


def test_long_work_says_how_far_it_is_and_can_be_cancelled(visit: Visit, tmp_path: Path) -> None:
    texts = {"Predictions of A": "answer {} of many words", "Predictions of B": "another {}", "References": "the {}"}
    paths = {}
    for name, text in texts.items():
        paths[name] = tmp_path / f"{name.replace(' ', '-')}.json"
        paths[name].write_text(json.dumps({str(row): text.format(row) for row in range(5000)}))
    page = visit("Compare")
    upload(page, paths)
    page.get_by_role("radio", name="sas_metric").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("status").filter(has_text="A, sas_metric").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("status").filter(has_text="Cancelled.").wait_for()
    page.get_by_role("radio", name="m2qa_squad_v2").check()
    page.get_by_role("button", name="English").click()
    page.get_by_role("radio", name="Pasted rows", checked=True).wait_for()
    press_compare(page, 6)
