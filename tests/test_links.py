"""Links of every document lead to a file or a heading; ``tests/publishing`` looks at those of assembled Spaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qa_scoring.publishing import links_within
from tests.conftest import REPOSITORY
from tests.documents import DOCUMENTS, anchors, dead_links, links, read_document, tokens


def test_every_document_is_looked_at() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/reading_scores.md", "sas_metric/README.md"} <= set(DOCUMENTS)
    assert {"benchmarks/README.md", "qa_scoring/data/README.md"} <= set(DOCUMENTS)
    assert "docs/reading_scores.md" in links(read_document("README.md"))
    assert "../docs/experiments.md" in links(read_document("ava_metric/README.md"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_of_the_repository_lead_somewhere(document: str) -> None:
    assert dead_links(REPOSITORY / document, REPOSITORY) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_pictures_are_written_as_markdown(document: str) -> None:
    """Publishing finds them only so."""
    html = [token.content for token in tokens(read_document(document)) if token.type.startswith("html_")]
    assert not [text for text in html if re.search(r"<(a|img|picture|source)\b", text)], (
        "write [words](path), ![](path)"
    )
    pictures = [token for token in tokens(read_document(document)) if token.type == "image"]
    assert all(len(token.content) > 10 for token in pictures), "a picture's description is for those who cannot see it"


def test_dead_links_are_found(tmp_path: Path) -> None:
    document = tmp_path / "docs" / "guide.md"
    document.parent.mkdir()
    (tmp_path / "other.md").write_text("# Other\n\n## It's `a_b`, *c* & d!\n", encoding="utf-8")
    good = ["other", "a%20b.png", "#one-1", "../other.md#its-a_b-c--d", "https://x.org#y", "../docs/"]
    dead = ["missing.md", "#two", "../other.md#one", "../../other.md", "none.png"]
    (tmp_path / "docs" / "other").touch()
    (tmp_path / "docs" / "a b.png").touch()
    lines = [f"![a picture]({link})" if link.endswith("png") else f"[words]({link})" for link in good + dead]
    text = "# One\n\n## One\n\n`[code](nowhere.md)`\n\n```\n[code](nowhere.md)\n```\n\n" + "\n".join(lines)
    document.write_text(text, encoding="utf-8")
    assert dead_links(document, tmp_path) == dead


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A b\n# A b\n# A b", {"a-b", "a-b-1", "a-b-2"}),
        ("# A\n# A-1\n# A", {"a", "a-1", "a-2"}),
        ("## 日本語 and `code`: (x)", {"日本語-and-code-x"}),
        ("---\ntitle: no heading\n---\n# [Link](x.md) *em*", {"link-em"}),
        ("```\n# code\n```", set()),
    ],
)
def test_anchors_are_those_of_github(text: str, expected: set[str]) -> None:
    assert anchors(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](../docs/x.md#y), [b](https://x.org)", "a (`docs/x.md`), [b](https://x.org)"),
        ("[here](#there) [m](mailto:a@b.c)", "[here](#there) [m](mailto:a@b.c)"),
        ("![The page](../docs/images/page.png)", "*The page*"),
        ("[![The page](../docs/page.png)](https://x.org)", "[*The page*](https://x.org)"),
        (
            "![kept](pic.png) [kept](../sas_metric/pic.png#z)",
            "![kept](sas_metric/pic.png) [kept](sas_metric/pic.png#z)",
        ),
        ("[folder](../sas_metric/) of\n[two\nlines](../LICENSE)", "[folder](sas_metric) of\ntwo\nlines (`LICENSE`)"),
        ("`[code](x.md)`\n```python\na[0](x.md)\n```\n", "`[code](x.md)`\n```python\na[0](x.md)\n```\n"),
    ],
)
def test_links_are_changed_to_those_a_folder_can_have(text: str, expected: str) -> None:
    assert links_within(text, ["sas_metric/pic.png", "README.md"], place="sas_metric", new_place="") == expected
