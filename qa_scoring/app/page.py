"""The page: title, tabs, looks, and how it is served."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any

import gradio as gr

from qa_scoring import __version__, compat
from qa_scoring.app import limits, views
from qa_scoring.app.tabs import compare, judge, languages, score, threshold
from qa_scoring.errors import parameter_error

TABS = {
    "Score": score,
    "Threshold": threshold,
    "Judge one answer": judge,
    "Compare": compare,
    "Languages": languages,
}
"""Name → module with ``add``, in the order shown."""

_SESSIONS = 100
_CACHE_SECONDS = (600, 1800)  # how often gradio's copies of downloads are looked through, and how old they may get
_FONTS = (
    "system-ui",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Yu Gothic",
    "Noto Sans Thai",
    "Leelawadee UI",
    "Noto Sans Arabic",
    "Geeza Pro",
    "sans-serif",
)
_CSS = """
.texts td, .texts textarea, .texts input, .texts .cell-wrap, .texts span { unicode-bidi: plaintext; text-align: start; }
[dir="auto"] { unicode-bidi: plaintext; text-align: start; }
.examples { flex-wrap: wrap; }
.gradio-container { overflow-wrap: break-word; }
.gradio-container .label-wrap { text-align: start; }
.gradio-container [role="tab"].selected { color: var(--link-text-color); }
.gradio-container .json-node :is(.key, .value) { color: var(--body-text-color) !important; }
body:not(.dark) .cm-line span { color: inherit; }
.gradio-container :is(.header-table, .virtual-row) { font-family: var(--font); }
.gradio-container .header-cell span.wrap { overflow-wrap: normal; word-break: normal; white-space: nowrap; }
.gradio-container footer :is(.show-api, .show-api-divider) { display: flex; }
"""


def build(tab: str | None = None) -> gr.Blocks:
    """Build the page.

    Args:
        tab: The tab that is open at first; None for the first one.

    Returns:
        The page, which is not served yet.

    Raises:
        InputError: There is no such tab.
    """
    if tab is not None and tab not in TABS:
        raise parameter_error("tab", f"None or one of {', '.join(map(repr, TABS))}", tab)
    with gr.Blocks(title="QA scoring", analytics_enabled=False, delete_cache=_CACHE_SECONDS) as page:
        gr.Markdown(
            "# QA scoring\nExact match and token F1 in over sixty languages, semantic answer similarity, and a learned "
            f"judge of answers (qa-scoring {__version__}).\n\n{limits.TEXT}"
        )
        with gr.Tabs(selected=tab or next(iter(TABS))):
            for name, module in TABS.items():
                with gr.Tab(name, id=name):
                    module.add()
    return page.queue(max_size=256, default_concurrency_limit=4)


def _theme() -> gr.themes.Base:
    """Return gradio's own looks, in colours whose contrast is enough to read (WCAG 2.1 AA), which its own is not."""
    theme = gr.themes.Default(primary_hue="blue", font=_FONTS, font_mono=("ui-monospace", "Consolas", "monospace"))
    return theme.set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_hover_dark="*primary_800",
    )


def _share_freed_memory() -> None:
    """Let threads use what others have freed, where the C library is glibc.

    Its default is eight pools of memory a core, each of which keeps the most that it ever held: after some hundreds of
    requests the app would hold twice as much.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(-8, 2)  # M_ARENA_MAX: two pools


def launch(tab: str | None = None, **options: Any) -> Any:
    """Serve the page.

    Args:
        tab: The tab that is open at first.
        **options: Of gradio's ``Blocks.launch``.

    Returns:
        What gradio returns: the app, and its local and public addresses.
    """
    chosen = {
        "theme": _theme(),
        "css": _CSS + views.CSS + threshold.CSS,
        "max_file_size": limits.UPLOAD_BYTES,
        "state_session_capacity": _SESSIONS,
        "ssr_mode": False,
        "footer_links": ["api", "settings"],
        **options,
    }
    _share_freed_memory()
    compat.separate_uploads()
    compat.delete_broken_uploads()
    return build(tab).launch(**chosen)
