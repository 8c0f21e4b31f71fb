"""Small pieces of HTML; every text is escaped and finds its own direction."""

from __future__ import annotations

import html
from typing import Any


def example_details(detail: dict[str, Any], language: str | None) -> str:
    """Return what is known of one row as a list.

    Args:
        detail: Name → value.
        language: Registry code of the texts, or None.

    Returns:
        HTML.
    """
    tag = f' lang="{html.escape(language)}"' if language else ""
    parts = (
        f'<dt>{html.escape(name)}</dt><dd dir="auto"{tag}>{html.escape(str(value))}</dd>'
        for name, value in detail.items()
    )
    return f"<dl>{''.join(parts)}</dl>"
