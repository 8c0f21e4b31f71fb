"""The Threshold tab as a person would use it: score, move τ, read the calls, upload the SQuAD 2.0 files whole."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qa_scoring.cli import main
from tests.conftest import data_path

Visit = Callable[..., Any]
FILES = ("Predictions", "References", "No-answer values")


def press_score(page: Any) -> None:
    page.get_by_role("button", name="Score", exact=True).click()


def scored_example(visit: Visit, **options: Any) -> Any:
    page = visit("Threshold", **options)
    page.get_by_role("button", name="English").last.click()
    press_score(page)
    page.get_by_text("Done; rows scored: 6.").wait_for()
    page.get_by_text("At τ = 0.31: EM 50.00, F1 63.33; 3 of 6 no-answer values are above.").wait_for()
    return page


def upload(page: Any, paths: list[Path]) -> None:
    """Put files into the boxes of the tab, in their order."""
    page.get_by_role("button", name="Upload files").click()
    boxes = page.get_by_role("tabpanel", name="Threshold").or_(page.locator("[role=tabpanel]:visible"))
    for number, path in enumerate(paths):
        boxes.locator("input[type=file]:not([accept*=csv])").nth(number).set_input_files(path)
        page.get_by_role("listitem").filter(has_text=f"{FILES[number]}: {path.name}").wait_for()


def code(page: Any, begins: str) -> str:
    """Return the code that is shown and begins with these words."""
    block = page.locator(".cm-content:visible").filter(has_text=begins)
    block.wait_for()
    text: str = block.inner_text()
    return text


def signature(page: Any) -> str:
    """Return the signature that is shown; gradio's box has no accessible name."""
    text: str = page.locator("textarea:disabled:visible").input_value()
    return text


def line_is_at(page: Any) -> float:
    """Return how far from the left of the plot's picture the line of τ stands, as a share of its width."""
    line, picture = page.locator("#tau-line").bounding_box(), page.locator("#tau-plot img").bounding_box()
    assert picture["y"] < line["y"] < line["y"] + line["height"] < picture["y"] + picture["height"]
    share: float = (line["x"] - picture["x"]) / picture["width"]
    return share


def test_an_example_is_scored_and_the_arrow_keys_move_the_figures(visit: Visit) -> None:
    page = scored_example(visit)
    table = page.get_by_role("grid", name="EM and F1 in percent, at τ")
    table.get_by_role("row", name="all 6 50.00 63.33").wait_for()
    at_the_best = line_is_at(page)
    page.get_by_role("button", name="Signature, and the same figures").last.click()
    assert code(page, "qa-scoring score").endswith("--no-answer-threshold 0.31")
    slider = page.get_by_role("slider", name="Threshold τ")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("At τ = 0.3099: EM 33.33, F1 46.67; 4 of 6 no-answer values are above.").wait_for()
    table.get_by_role("row", name="HasAns 4 0.00 20.00").wait_for()
    page.wait_for_function("document.querySelector('#tau-line').style.left !== '41.87%'")
    assert line_is_at(page) < at_the_best
    assert page.get_by_role("spinbutton", name="τ exactly").input_value() == "0.3099"
    assert code(page, "qa-scoring score").endswith("--no-answer-threshold 0.3099")
    assert "no_answer_threshold=0.3099," in code(page, "from qa_scoring import")
    assert signature(page).endswith("|no_answer_threshold:0.3099")
    page.keyboard.press("End")
    page.get_by_text("At τ = 0.97: EM 33.33, F1 46.67; 0 of 6 no-answer values are above.").wait_for()
    page.get_by_role("button", name="Go to the best EM").click()
    page.get_by_text("At τ = 0.31: EM 50.00, F1 63.33; 3 of 6 no-answer values are above.").wait_for()


def test_a_threshold_is_typed_beyond_the_slider_and_an_empty_box_is_one_sentence(visit: Visit) -> None:
    page = scored_example(visit)
    box = page.get_by_role("spinbutton", name="τ exactly")
    box.fill("12.5")
    page.get_by_text("At τ = 12.5: EM 33.33, F1 46.67").wait_for()
    assert page.get_by_role("slider", name="Threshold τ").input_value() == "0.97"
    box.fill("")
    assert page.get_by_test_id("toast-body").count() == 0
    box.press("Enter")
    toast = page.get_by_test_id("toast-body").first
    toast.wait_for()
    assert "The threshold must be a finite number; got None." in toast.inner_text()
    box.fill("0.7")
    page.get_by_text("At τ = 0.7: EM 50.00, F1 63.33").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_plot_has_words_and_fits_the_screen(visit: Visit, theme: str, width: int) -> None:
    page = scored_example(visit, theme=theme, viewport={"width": width, "height": 844})
    assert all(image.get_attribute("alt") for image in page.locator("img:visible").all())
    pictures = page.locator("#tau-plot img, .qa-plots img")
    pictures.nth(5).wait_for()
    said = [picture.get_attribute("alt") for picture in pictures.all()]
    assert len(said) == len(set(said)) == 6
    assert said[0] == "EM and F1 by no-answer threshold: best EM 50.00 at 0.31, best F1 63.33 at 0.31"
    for picture in pictures.all():
        box = picture.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["width"] >= 280
        inverted = "invert" in picture.evaluate("image => getComputedStyle(image).filter")
        assert inverted == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_squad_2_uploaded_whole_has_the_figures_of_the_command_line(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ("squad", "predictions")
    sources = [
        data_path(*folder, "anuragsatish_bert.predictions.json"),
        data_path("squad", "dev-v2.0.json"),
        data_path(*folder, "anuragsatish_bert.na_prob.json"),
    ]
    paths = [tmp_path / name for name in ("predictions.json", "references.json", "values.json")]
    for source, path in zip(sources, paths, strict=True):
        path.symlink_to(source)
    page = visit("Threshold")
    upload(page, paths)
    page.get_by_role("button", name="More settings").last.click()
    page.get_by_label("Tokenizer", exact=True).click()
    page.get_by_role("option", name="whitespace", exact=True).click()  # as the official script
    press_score(page)
    page.get_by_text("Done; rows scored: 11,873.").wait_for(timeout=120_000)
    page.get_by_role("button", name="Signature, and the same figures").last.click()
    shown = page.get_by_text(re.compile("^At τ = ")).inner_text()
    command = code(page, "qa-scoring score")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"], catch_exceptions=False)
    expected = json.loads(done.stdout)
    best = {name: (f"{expected[f'best_{name}']:.2f}", expected[f"best_{name}_thresh"]) for name in ("exact", "f1")}
    assert best == {"exact": ("58.52", 0.0), "f1": ("62.60", 0.0002)}  # the figures its authors publish
    assert page.get_by_text("Best EM: 58.52 at 0. Best F1: 62.60 at 0.0002.").count() == 1
    assert shown.startswith(f"At τ = 0.0002: EM {expected['exact']:.2f}, F1 {expected['f1']:.2f}; ")
    assert signature(page) == expected["signature"]
    alternative = page.locator("#tau-plot img").get_attribute("alt")
    assert alternative == "EM and F1 by no-answer threshold: best EM 58.52 at 0, best F1 62.60 at 0.0002"
    # the slider still answers at once with 12,000 rows
    slider = page.get_by_role("slider", name="Threshold τ")
    slider.focus()
    for said in ("At τ = 0.0003: ", "At τ = 0.0004: "):
        page.keyboard.press("ArrowRight")
        page.get_by_text(said).wait_for(timeout=3_000)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"1": 0.5, "2": "high"}, "the no-answer value must be a number; got 'high' (str)."),
        ([0.5, 0.25], "values.json"),
        ({"1": 0.5, "9": 0.25}, "'2'"),
        ({"1": 0.5, "2": float("nan")}, "must be a finite number; got nan."),
    ],
    ids=["not a number", "array", "other ids", "NaN"],
)
def test_a_bad_no_answer_file_is_one_sentence(visit: Visit, tmp_path: Path, values: Any, expected: str) -> None:
    contents = {"predictions.json": {"1": "a", "2": "b"}, "references.json": {"1": "a", "2": "b"}}
    paths = []
    for name, content in {**contents, "values.json": values}.items():
        paths.append(tmp_path / name)
        paths[-1].write_text(json.dumps(content), encoding="utf-8")
    page = visit("Threshold")
    upload(page, paths[:2])
    page.locator("[role=tabpanel]:visible input[type=file]:not([accept*=csv])").nth(2).set_input_files(paths[2])
    toast = page.get_by_test_id("toast-body").first
    page.get_by_role("listitem").filter(has_text="values.json").or_(toast).wait_for()
    if not toast.is_visible():
        press_score(page)
        toast.wait_for()
    said = toast.inner_text()
    assert expected in said
    assert "Traceback" not in said
    page.get_by_role("button", name="Forget the files").last.click()
    page.get_by_text("No file is uploaded.").last.wait_for()
    press_score(page)
    page.get_by_text("Done; rows scored: 6.").wait_for()


def test_other_rows_give_the_slider_other_ends_and_the_plot_other_lines(visit: Visit) -> None:
    page = scored_example(visit, viewport={"width": 390, "height": 844})
    page.get_by_label("Rows from a spreadsheet, CSV or JSON Lines").last.fill(
        "prediction,references,no_answer\nRome,Rome,-7.5\nin Rome,Rome,-6.5\nRome,,-5.25\n"
    )
    press_score(page)
    page.get_by_text("Done; rows scored: 3.").wait_for()
    page.get_by_text("At τ = -6.5: EM 66.67, F1 88.89; 1 of 3 no-answer values are above.").wait_for()
    slider = page.get_by_role("slider", name="Threshold τ")
    assert [slider.get_attribute(name) for name in ("min", "max")] == ["-7.5", "-5.25"]
    assert slider.input_value() == page.get_by_role("spinbutton", name="τ exactly").input_value() == "-6.5"
    assert "best F1 88.89 at -6.5" in page.locator("#tau-plot img").get_attribute("alt")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("At τ = -7.5: EM 66.67, F1 66.67; 2 of 3 no-answer values are above.").wait_for()
