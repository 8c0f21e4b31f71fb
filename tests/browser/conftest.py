"""The demo in a real browser: headless Chromium of the system, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("gradio")
    from qa_scoring.app.page import launch

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
    """Open a tab by its name; on a phone, by way of the menu of the tabs that have no room."""
    tab = page.get_by_role("tab", name=name, exact=True)
    if tab.is_visible():
        tab.click()
    else:
        page.locator(".overflow-menu > button").click()
        page.locator(".overflow-dropdown").get_by_text(name, exact=True).click()


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
