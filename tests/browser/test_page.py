"""Each tab as a person would use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Visit = Callable[..., Any]
FILE_BOXES = "input[type=file]:not([accept*=csv])"  # a table takes files, too
SCRIPT = "<script>document.title = 'taken'</script><b>bold</b>"


def press_score(page: Any, rows: int) -> None:
    page.get_by_role("button", name="Score", exact=True).click()
    page.get_by_text(f"Done; rows scored: {rows}.").wait_for()


def upload(page: Any, folder: Path, predictions: bytes, references: bytes, *, good: bool = True) -> None:
    page.get_by_role("radio", name="Uploaded files").check()
    page.get_by_role("button", name="Upload files").click()
    for number, content in enumerate((predictions, references)):
        path = folder / f"{number}.json"
        path.write_bytes(content)
        page.locator(FILE_BOXES).nth(number).set_input_files(path)
        if good:
            page.get_by_role("listitem").filter(has_text=f"{number}.json").wait_for()


def test_score_an_example_sort_filter_and_open_a_row(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Deutsch").click()
    page.wait_for_function("[...document.querySelectorAll('input')].some(box => box.value === 'German (de)')")
    press_score(page, 5)
    page.get_by_text("Page 1 of 1: 5 of 5 rows.").wait_for()
    page.get_by_role("listbox", name="Sort by").or_(page.get_by_label("Sort by")).first.click()
    page.get_by_role("option", name="f1", exact=True).click()
    page.get_by_role("spinbutton", name="Row to open").fill("2")
    page.get_by_role("button", name="Open the row").click()
    page.get_by_text("Normalised").first.wait_for()


def test_uploaded_files_are_scored_and_markup_stays_text(visit: Visit, tmp_path: Path) -> None:
    page = visit()
    predictions = json.dumps({"q1": SCRIPT, "q2": ""}).encode()
    references = json.dumps([{"id": "q1", "answers": [SCRIPT]}, {"id": "q2", "answers": []}]).encode()
    upload(page, tmp_path, predictions, references)
    press_score(page, 2)
    page.get_by_role("spinbutton", name="Row to open").fill("1")
    page.get_by_role("button", name="Open the row").click()
    page.get_by_text("Normalised").first.wait_for()
    assert page.get_by_text(SCRIPT).count() >= 1
    assert page.locator("b", has_text="bold").count() == 0
    assert page.title() != "taken"


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04 a zip", b"\x7fELF\x02\x01\x01\x00", b"\xff\xfe broken \x80", b'{"q1": '],
    ids=["zip", "executable", "not UTF-8", "half"],
)
def test_a_bad_upload_is_one_sentence_and_the_page_lives_on(visit: Visit, tmp_path: Path, content: bytes) -> None:
    page = visit()
    upload(page, tmp_path, content, b"[]", good=False)
    page.get_by_test_id("toast-body").first.wait_for()
    text = page.get_by_test_id("toast-body").first.inner_text()
    assert "Traceback" not in text
    assert "0.json" in text or "zip" in text or "UTF-8" in text, text
    page.get_by_role("radio", name="Rows of the table").check()
    press_score(page, 6)


def test_one_answer_under_all_metrics(visit: Visit) -> None:
    page = visit("Judge one answer")
    page.get_by_label("Question", exact=True).fill("How long is the bridge?")
    page.get_by_role("textbox", name="References").fill("six miles")
    page.get_by_label("Answer", exact=True).fill("about 6 miles")
    page.get_by_role("button", name="Judge", exact=True).click()
    for name in ("Exact match", "F1", "SAS", "AVA"):
        page.get_by_text(name, exact=True).first.wait_for()
    page.get_by_text("Shared: 1 of 3 tokens of the answer").wait_for()


def test_right_to_left_text_runs_from_the_right(visit: Visit) -> None:
    page = visit("Judge one answer")
    page.get_by_role("button", name="العربية").last.click()
    page.get_by_text("SAS and AVA ship for English only").wait_for()
    direction = "element => getComputedStyle(element).direction"
    assert page.locator(".gradio-container [dir=rtl]").first.evaluate(direction) == "rtl"


def test_tokens_of_a_text(visit: Visit) -> None:
    page = visit("Languages")
    page.get_by_label("Text").last.fill("東京都庁は新宿にある")
    page.get_by_role("button", name="Tokenize").click()
    page.get_by_text("whitespace-1").wait_for()
    assert page.locator("table").last.get_by_text("東京都庁は新宿にある").count() >= 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(visit: Visit, theme: str, width: int) -> None:
    page = visit(theme=theme, viewport={"width": width, "height": 800})
    for tab in page.get_by_role("tab").all():
        if tab.is_visible():
            tab.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert ("dark" in (page.locator("body").get_attribute("class") or "")) == (theme == "dark")
