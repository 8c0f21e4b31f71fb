"""Every tab with figures on it: readable in light, dark and at the width of a phone, and usable without a mouse.

The pictures of the guides are made here:
``QA_SCORING_PICTURES=docs/images python -m pytest tests/browser/test_looks.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

Visit = Callable[..., Any]
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"theme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"theme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"theme": "light", **PHONE},
    "phone-dark": {"theme": "dark", **PHONE},
}
PAGES = {  # tab → the buttons to press, and what is there at last
    "Score": (["English", "Score", "Open the row"], "Normalised"),
    "Threshold": (["English", "Score"], "Done; rows scored: 6."),
    "Judge one answer": (["English"], "Shared: 2 of 3 tokens of the answer"),
    "Compare": (["English", "Compare"], "shown"),
    "Languages": (["日本語"], "whitespace-1"),
}
ACCESSIBILITY = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "rules": {"aria-prohibited-attr": {"enabled": False}},  # gradio's own empty file box has a label and no role
}
BROKEN_WORDS = """[...document.querySelectorAll('th')].filter(cell => cell.checkVisibility()).flatMap(cell => {
    const words = [];
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        for (const word of walker.currentNode.data.matchAll(/[^\\s-]+/g)) {
            const range = document.createRange();
            range.setStart(walker.currentNode, word.index);
            range.setEnd(walker.currentNode, word.index + word[0].length);
            const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
            if (tops.size > 1 && word[0].length < 12) words.push(word[0]);
        }
    }
    return words;
})"""


@pytest.fixture(params=LOOKS)
def look(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=PAGES)
def tab(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(visit: Visit, look: str, tab: str) -> Any:
    page = visit(tab, **LOOKS[look])
    buttons, last = PAGES[tab]
    if tab == "Score":
        for metric in ("sas_metric", "ava_metric"):
            page.get_by_role("checkbox", name=metric).check()
    for name in buttons:
        page.get_by_role("button", name=name).filter(visible=True).first.click()
        if name == "Score":
            page.get_by_text("Done; rows scored: 6.").wait_for()
    page.get_by_text(last).filter(visible=True).first.wait_for()
    return page


def test_looks(page: Any, look: str, tab: str, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[look]["viewport"]["width"]
    assert page.evaluate(BROKEN_WORDS) == []
    assert page.get_by_test_id("toast-body").count() == 0
    assert ("dark" in (page.locator("body").get_attribute("class") or "")) == (LOOKS[look]["theme"] == "dark")
    take_picture(page, Path(os.environ.get("QA_SCORING_PICTURES", tmp_path)) / f"{tab.split()[0].lower()}-{look}.png")
    for closed in page.locator("button.label-wrap:visible").all():
        closed.click()
    page.mouse.move(0, 0)  # a button under the mouse fades into another colour
    page.locator(".label-wrap.open:visible").last.wait_for()
    found = axe.Axe().run(page, options=ACCESSIBILITY)
    assert found.violations_count == 0, found.generate_report()


def take_picture(page: Any, path: Path) -> None:
    """Save the whole page in 256 colours, a third of the size, at which it looks the same."""
    from PIL import Image

    picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
    assert picture.width >= 390
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
