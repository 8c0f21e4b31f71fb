"""The tabs Judge one answer and Languages as a person would use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Visit = Callable[..., Any]


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
