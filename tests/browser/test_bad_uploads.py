"""Uploads that cannot be scored: one sentence each, nothing of them is run or kept, the page lives on."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import choose, open_upload_boxes, press_score, upload, write_json

Visit = Callable[..., Any]
MARKUP = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\"><b>bold</b>"
MILLION = 1_000_000
SECRET = b"a-secret-of-the-upload"


def refusal(page: Any, path: Path, box: int = 0) -> str:
    """Upload a file that is refused, and return the one sentence that is shown."""
    open_upload_boxes(page)[box].set_input_files(path)
    toast = page.get_by_test_id("toast-body")
    toast.first.wait_for()
    assert toast.count() == 1
    lines = [line for line in toast.inner_text().split("\n") if line.strip() and line not in ("Error", "×")]
    assert len(lines) == 1, lines
    return str(lines[0])


def kept(folder: Path, content: bytes) -> list[Path]:
    """Return the files of the server that hold this content."""
    return [path for path in folder.rglob("*") if path.is_file() and content in path.read_bytes()]


def parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet as files

    files.write_table(pa.table(columns), path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "big.json",
            SECRET + b" " * (21 * 1024**2),
            r'File\(s\) exceed the maximum allowed size of 20.0 Mb: "big.json"',
        ),
        ("rows.zip", b"PK\x03\x04\x14\0\0\0", r"rows\.zip is a zip archive\. Upload JSON, .*"),
        ("program.json", b"\x7fELF\x02\x01\x01\0", r"program\.json is a program\. Upload JSON, .*"),
        ("empty.json", b"", r"empty\.json is empty\."),
        ("empty.csv", b"", r"empty\.csv is empty\."),
        ("header.csv", b"id,prediction\n", r"header\.csv (is empty|holds no rows)\..*"),
        (
            "columns.csv",
            b"id,<b>answer</b>\nq1,Rome\n",
            r"columns\.csv has no column 'prediction_text' or .*<b>answer</b>.*",
        ),
        ("mixed.jsonl", b'{"id": "q1", "prediction": "a"}\n5\n', r"mixed\.jsonl, row 1: expected a record .*; got 5\."),
        ("mixed.json", b'{"q1": "a", "q2": ["b"]}', r"mixed\.json: predictions.*q2.*; got \['b'\].*"),
        ("latin.json", b'{"q1": "caf\xe9"}', r"latin\.json is not UTF-8 \(byte 11: 0xe9\)\. Save it as UTF-8\."),
        ("half.json", b'{"q1": ', r"half\.json is not valid JSON: .*"),
        ("page.json", MARKUP.encode(), r"page\.json is not valid JSON: .*"),
        (
            "million.jsonl",
            b'{"prediction": 1}\n' * MILLION,
            r"million\.jsonl has 1,000,000 rows; the page takes up to .*",
        ),
        (
            "million.csv",
            b"prediction\n" + b"a\n" * MILLION,
            r"million\.csv has 1,000,000 rows; the page takes up to .*",
        ),
        ("million.json", b"[" + b"{}," * MILLION + b"{}]", r"million\.json holds more than 1,000,000 JSON objects .*"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.count(".") == 1 and len(value) < 20 else "",
)
def test_one_sentence_and_the_next_upload_works(
    visit: Visit, server_files: Path, tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    page = visit()
    assert re.fullmatch(expected, refusal(page, path))
    assert content == b"" or not kept(server_files, content[:1000])
    page.get_by_test_id("toast-close").click()
    upload(page, write_json(tmp_path / "p.json", {"q1": "a"}), write_json(tmp_path / "r.json", {"q1": ["a"]}))
    press_score(page, 1)


def test_a_million_rows_of_parquet(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "million.parquet"
    parquet(path, {"prediction": ["a"] * MILLION})
    page = visit()
    assert refusal(page, path).startswith("million.parquet has 1,000,000 rows; the page takes up to 50,000.")
    press_score_of_table(page)


def press_score_of_table(page: Any) -> None:
    page.get_by_role("radio", name="Rows of the table").first.check()
    press_score(page, 6)


@pytest.mark.parametrize(
    ("box", "content", "expected"),
    [
        (1, {"data": [{"paragraphs": 3}]}, "odd.json: The reference data set has 'data' but not SQuAD's nesting"),
        (
            1,
            [{"id": "q1", "answers": [1, 2]}],
            "odd.json: references[0] (id 'q1'), answer 0: every reference must be a string; got 1",
        ),
        (1, [{"id": "q1", "text": "a"}], "odd.json has no column 'answers'"),
        (2, [0.5], "odd.json: no-answer values must be a JSON object from id to number."),
    ],
)
def test_references_and_values_are_looked_at_too(
    visit: Visit, tmp_path: Path, box: int, content: Any, expected: str
) -> None:
    page = visit()
    assert expected in refusal(page, write_json(tmp_path / "odd.json", content), box)
    press_score_of_table(page)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("x" * 180 + ".json", "x" * 40 + "…" + "x" * 14 + ".json"),
        ("<b>bold<img src=x onerror=alert(1)>.json", "bboldimg src=x onerror=alert(1).json"),  # gradio drops < and >
        ("report\u202enosj.exe.json", "reportnosj.exe.json"),
        ("\U0001f600\U0001f468\u200d\U0001f469.json", "\U0001f600\U0001f468\u200d\U0001f469.json"),
        ("תשובות.json", "תשובות.json"),
    ],
    ids=["long", "markup", "right-to-left override", "emoji", "Hebrew"],
)
def test_odd_file_names(visit: Visit, tmp_path: Path, name: str, shown: str) -> None:
    page = visit()
    path = tmp_path / name
    path.write_bytes(b"[}")
    assert refusal(page, path).startswith(f"{shown} is not valid JSON")
    page.get_by_test_id("toast-close").click()
    write_json(path, {"q1": "a"})
    open_upload_boxes(page)[0].set_input_files(path)
    listed = page.get_by_role("listitem").filter(has_text="predictions: ").filter(has_text=", 1 rows")
    listed.wait_for()
    assert shown.rsplit("…")[-1] in listed.inner_text()
    assert "\u202e" not in listed.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.locator("b", has_text="bold").count() == 0
    open_upload_boxes(page)[1].set_input_files(write_json(tmp_path / "r.json", {"q1": ["a"]}))
    page.get_by_role("listitem").filter(has_text="references: r.json").wait_for()
    press_score(page, 1)


def test_markup_in_texts_stays_text_everywhere(visit: Visit, tmp_path: Path) -> None:
    page = visit()
    rows = [
        {"id": MARKUP, "question": MARKUP, "answers": [MARKUP, "other"], "group": MARKUP},
        {"id": "q2", "question": "Who?", "answers": [], "group": "plain"},
    ]
    predictions = write_json(tmp_path / "p.json", {MARKUP: MARKUP, "q2": ""})
    upload(page, predictions, write_json(tmp_path / "r.json", rows))
    page.get_by_role("button", name="More settings").first.click()
    choose(page, "Group by columns", "group")
    press_score(page, 2)
    for grid in ("EM and F1 in percent", "Select a row to open it"):
        page.get_by_role("grid", name=grid).get_by_role("gridcell", name=MARKUP).first.wait_for()
    page.get_by_role("grid", name="Select a row to open it").get_by_role("gridcell", name=MARKUP).first.click()
    page.get_by_role("heading", name="Row 1", exact=True).wait_for()
    assert page.locator("#opened-row").inner_text().count("<b>bold</b>") == 3  # the question, the answer, the reference
    page.get_by_role("button", name="Signature, and the same figures").click()  # the groups are in the result
    page.get_by_text("onerror").last.wait_for()
    page.get_by_role("button", name="Paste rows").click()
    page.get_by_label("Rows from a spreadsheet").fill(json.dumps({"prediction": [MARKUP, 1], "references": MARKUP}))
    page.get_by_role("button", name="Put them into the table").click()
    page.get_by_role("grid", name="Rows", exact=True).get_by_role("gridcell", name=MARKUP).first.wait_for()
    upload_of_other_ids = write_json(tmp_path / "other.json", {f"{MARKUP} 2": "a"})
    open_upload_boxes(page)[0].set_input_files(upload_of_other_ids)
    page.get_by_role("listitem").filter(has_text="other.json").wait_for()
    page.get_by_role("button", name="Score", exact=True).click()
    page.get_by_test_id("toast-body").filter(has_text="<script>document.title").wait_for()
    assert page.locator("b", has_text="bold").count() == 0
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "taken"


@pytest.mark.parametrize("good", [True, False], ids=["scored", "refused"])
def test_nothing_of_an_upload_remains(visit: Visit, server_files: Path, tmp_path: Path, good: bool) -> None:
    page = visit()
    content = json.dumps({"q1": SECRET.decode()}).encode()
    path = tmp_path / "p.json"
    path.write_bytes(content if good else content[:-1])
    if good:
        upload(page, path, write_json(tmp_path / "r.json", {"q1": [SECRET.decode()]}))
        press_score(page, 1)
    else:
        refusal(page, path)
    assert not kept(server_files, SECRET)


def test_nothing_of_an_upload_that_breaks_off_remains(address: str, server_files: Path, visit: Visit) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="p.json"\r\n\r\n' + SECRET * 1000
    head = f"POST /gradio_api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: {10 * len(part)}\r\n"
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(head.encode() + b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + part)
        wait_until(lambda: bool(kept(server_files, SECRET)))
    wait_until(lambda: not kept(server_files, SECRET))
    press_score_of_table(visit())


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
