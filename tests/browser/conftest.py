"""The demo in a real browser: headless Chromium of the system, driven by Playwright."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def server_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the server keeps files."""
    return tmp_path_factory.mktemp("gradio")


@pytest.fixture(scope="module")
def address(server_files: Path) -> Iterator[str]:
    pytest.importorskip("gradio")
    from qa_scoring.app.page import launch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(server_files))
        app, url, _ = launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
        yield url
        app.blocks.close(verbose=False) if hasattr(app, "blocks") else None


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs Chromium (on Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])  # root has no sandbox
        yield browser
        browser.close()


def open_tab(page: Any, name: str) -> None:
    """Open a tab by its name; on a phone, by way of the menu of the tabs that have no room.

    The page sorts out which tabs have room once it is there, and moves them while one looks: it is tried again.
    """
    from playwright.sync_api import TimeoutError as TooLate

    tab, more = page.get_by_role("tab", name=name, exact=True), page.locator(".overflow-menu > button")
    for _ in range(20):
        try:
            tab.or_(more).filter(visible=True).first.wait_for()
            if tab.is_visible():
                tab.click(timeout=1_000)
            else:
                more.click(timeout=1_000)
                page.locator(".overflow-dropdown").get_by_text(name, exact=True).click(timeout=1_000)
            page.get_by_role("tab", name=name, exact=True, selected=True).wait_for(timeout=1_000)
        except TooLate:
            continue
        return
    raise AssertionError(f"The tab {name} does not open.")


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Open the page in a session of its own; at the end no script of the page has failed."""
    failures: list[str] = []
    contexts = []

    def open_page(tab: str | None = None, *, theme: str = "light", **options: Any) -> Any:
        contexts.append(chromium.new_context(**{"viewport": {"width": 1280, "height": 1000}, **options}))
        page = contexts[-1].new_page()
        page.set_default_timeout(30_000)  # the first answer loads a model
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(f"{address}?__theme={theme}")
        page.get_by_role("heading", name="QA scoring").wait_for()
        if tab is not None:
            open_tab(page, tab)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not failures


# ------------------------------------------------------------------- what a person does on the Score tab


def press_score(page: Any, rows: int | str) -> None:
    """Press the button, and wait until so many rows are scored and the first of them are shown."""
    page.get_by_role("button", name="Score", exact=True).click()
    page.get_by_text(f"Done; rows scored: {rows}.").wait_for()
    page.get_by_text(f"{rows} of {rows} rows.").wait_for()


def choose(page: Any, label: str, option: str) -> None:
    """Choose from the first list with this label."""
    page.get_by_role("combobox", name=label).first.click()
    page.get_by_role("option", name=option, exact=True).click()


def type_into(box: Any, text: str) -> None:
    """Replace what a box holds, key by key: a box that just appeared may miss a text that is put in at once."""
    box.click()
    box.press("Control+a")
    box.press_sequentially(text)
    box.press("Tab")


def open_upload_boxes(page: Any) -> list[Any]:
    """Return the boxes for predictions, references and no-answer values, which take files."""
    forget = page.get_by_role("button", name="Forget the files").first
    if not forget.is_visible():
        page.get_by_role("button", name="Upload files").first.click()
        forget.wait_for()
    boxes = page.get_by_role("tabpanel").locator("input[type=file]:not([accept*=csv])")  # a table takes files, too
    return [boxes.nth(place) for place in range(3)]


def upload(page: Any, *paths: Path) -> None:
    """Upload predictions, references and perhaps no-answer values, and wait until each is listed."""
    for box, path in zip(open_upload_boxes(page), paths, strict=False):
        box.set_input_files(path)
        page.get_by_role("listitem").filter(has_text=path.name).wait_for()


def write_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path
