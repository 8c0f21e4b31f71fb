"""The wiring of the tab, as a program sees it: actions, errors, sessions, files, stopping."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio_client import handle_file
from gradio_client.exceptions import AppError

from qa_scoring.app import handlers, inputs
from qa_scoring.app.tabs import score as tab
from qa_scoring.errors import InputError
from tests.app.conftest import Served


def table(*rows: list[str]) -> dict[str, Any]:
    return {"headers": list(inputs.COLUMNS), "data": list(rows)}


def upload(client: Any, folder: Path, side: str, content: Any, name: str | None = None) -> Any:
    path = folder / (name or f"{side}.json")
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return client.predict(handle_file(str(path)), api_name=f"/upload_{side}")


def kept(page: Served, text: bytes) -> list[Path]:
    """Return the files that the server holds with this text."""
    return [path for path in page.uploads.rglob("*") if path.is_file() and text in path.read_bytes()]


def test_every_action_is_documented(page: Served) -> None:
    endpoints = page.connect().view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert {"/score", "/threshold_at", "/judge", "/compare", "/tokenize"} <= set(endpoints)
    for name, endpoint in endpoints.items():
        assert re.fullmatch(r"[A-Z][^\n]+\.", endpoint["description"] or ""), name
        assert all(parameter["parameter_name"] for parameter in endpoint["parameters"]), name
        unnamed = [part["label"] for part in endpoint["returns"] if re.match(r"value_\d|1st", part["label"])]
        assert not unnamed or name == "/example", name


def test_rows_are_scored_opened_and_downloaded(page: Served) -> None:
    client = page.connect()
    rows = table(["", "Where?", "in <b>Köln</b>", "Köln", "a", ""], ["", "Who?", "", "", "b", ""])
    out = client.predict(table=rows, language="de", group_by=["group"], api_name="/score")
    status, figures, result, signature, python, command, shown, said = out
    assert "rows scored: 2" in status
    assert result["m2qa_squad_v2"]["total"] == 2
    assert result["m2qa_squad_v2"]["groups"]["b"]["exact"] == 100.0
    assert figures["data"][0][:3] == ["all", "all", "2"]
    assert signature.startswith("metric:m2qa_squad_v2|")
    assert "language='de'" in python
    assert command.startswith("qa-scoring score m2qa_squad_v2 table.jsonl table.jsonl --by group")
    assert said == "Page 1 of 1: 2 of 2 rows."
    assert len(shown["data"]) == 2
    _, said = client.predict(column_1="exact", comparison_1="=", value_1=0, api_name="/rows")
    assert said == "Page 1 of 1: 1 of 2 rows."
    with pytest.raises(AppError, match="The filter on exact has no value"):
        client.predict(column_1="exact", value_1=None, api_name="/rows")
    opened = client.predict(1, api_name="/open_row")
    assert "köln" in opened
    assert "<b>" not in opened
    names = {Path(path).name for path in client.predict(api_name="/download")}
    assert names == {"result.json", "m2qa_squad_v2-rows.jsonl", "m2qa_squad_v2-rows.parquet", "table.jsonl"}


def test_files_are_scored_and_deleted_and_sessions_are_apart(page: Served, tmp_path: Path) -> None:
    one, two = page.connect(), page.connect()
    references = [{"id": str(n), "answers": ["a"], "title": "T"} for n in range(250)]
    upload(one, tmp_path, "references", references)
    upload(one, tmp_path, "predictions", {str(n): "a" if n % 2 else "secret-of-one" for n in range(250)})
    out = one.predict(source=tab.FILES, group_by=["title"], intervals=False, api_name="/score")
    assert out[2]["m2qa_squad_v2"]["exact"] == 50.0
    assert len(out[6]["data"]) == 100
    assert one.predict(page=3, api_name="/rows")[1] == "Page 3 of 3: 250 of 250 rows."
    assert not kept(page, b"secret-of-one")
    with pytest.raises(AppError, match="There are no predictions"):
        two.predict(source=tab.FILES, api_name="/score")
    for action in ("/rows", "/download"):
        with pytest.raises(AppError, match="score first"):
            two.predict(api_name=action)
    one.predict(api_name="/forget_files")
    with pytest.raises(AppError, match="There are no predictions"):
        one.predict(source=tab.FILES, api_name="/score")


def test_equal_files_of_several_people_are_each_their_own(page: Served, tmp_path: Path) -> None:
    clients = [page.connect() for _ in range(8)]
    rows = {str(n): "equal" for n in range(2_000)}
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")

    def use(client: Any) -> None:
        for _ in range(5):
            said = client.predict(handle_file(str(tmp_path / "rows.json")), api_name="/upload_predictions")
            assert "2,000 rows" in said[1]

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(use, clients))
    assert not kept(page, b"equal")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("rows.zip", b"PK\x03\x04\0\0", "a zip archive"),
        ("program.json", b"\x7fELF\0\0", "a program"),
        ("page.json", b"<script>alert('refused')</script>", "not valid JSON"),
        ("a.csv", b"id,<img src=x>\n1,refused\n", "&lt;img src=x&gt;"),
        ("a.csv", b"id,prediction\n1,\xff\n", "not UTF-8"),
    ],
)
def test_a_bad_upload_is_one_sentence_and_the_app_lives_on(
    page: Served, tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    client = page.connect()
    with pytest.raises(AppError) as caught:
        upload(client, tmp_path, "predictions", content, name)
    message = str(caught.value)
    assert expected in message
    assert name in message
    assert "\n" not in message
    assert "/" not in message.replace("&lt;/", "")
    assert not kept(page, content)
    assert client.predict(table=table(["", "", "a", "a", "", ""]), api_name="/score")[2]


def test_too_large_an_upload_is_refused(page: Served, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"(?i)size|large|413"):
        upload(page.connect(), tmp_path, "predictions", b" " * (21 * 1024**2))


def test_pasted_rows_and_examples_fill_the_table(page: Served) -> None:
    client = page.connect()
    filled, source = client.predict("in Köln\tKöln", api_name="/fill_table")
    assert filled["data"] == [["", "", "in Köln", "Köln", "", ""]]
    assert source == tab.TABLE
    assert client.predict("日本語 (Japanese)", api_name="/example")[0][0] == "ja-1"


def test_unexpected_errors_say_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise KeyError("/inside/the/app")

    with pytest.raises(gr.Error) as caught:
        handlers.shown(broken)()
    assert caught.value.message == "Something went wrong inside the app; nothing was scored."
    assert "/inside/the/app" in caplog.text

    def refused() -> Any:
        yield 1
        raise InputError("<b>\nno")

    steps = handlers.shown(refused)()
    assert next(steps) == 1
    with pytest.raises(gr.Error) as caught:
        next(steps)
    assert caught.value.message == "&lt;b&gt; no"


def test_work_stops_when_nobody_waits_for_it() -> None:
    pieces: list[int] = []
    ended = threading.Event()

    def work(report: handlers.Report) -> None:
        try:
            for piece in report("working", range(1_000_000)):
                pieces.append(piece)
                time.sleep(0.001)
        finally:
            ended.set()

    steps = handlers.watch(work, every=0.02)
    assert next(steps).startswith(("Starting", "working: "))
    steps.close()
    assert ended.wait(2)
    assert len(pieces) < 1000


def test_cancelling_stops_the_scoring(page: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []
    ended = threading.Event()

    def endless(given: object, settings: object, report: handlers.Report) -> None:
        try:
            for piece in report("endless", range(60_000)):
                pieces.append(piece)
                time.sleep(0.001)
        finally:
            ended.set()

    monkeypatch.setattr("qa_scoring.app.scoring.score", endless)
    job = page.connect().submit(table=table(["", "", "a", "a", "", ""]), api_name="/score")
    said: Iterable[Any] = iter(job)
    assert 'role="status"' in next(iter(said))[0]
    job.cancel()
    assert ended.wait(5)
    assert len(pieces) < 20_000


def test_many_sessions_at_once_do_not_mix(page: Served) -> None:
    wrong: list[Any] = []

    def one(number: int) -> None:
        client = page.connect()
        rows = table(*[["", "", f"session {number}", f"session {number}", "", ""]] * (number + 1))
        for _ in range(3):
            out = client.predict(table=rows, intervals=False, api_name="/score")
            shown = client.predict(api_name="/rows")[0]["data"]
            if out[2]["m2qa_squad_v2"]["total"] != number + 1 or any(f"session {number}" not in row for row in shown):
                wrong.append((number, shown))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_python_ends_while_work_is_in_progress() -> None:
    program = """
import threading, time
from qa_scoring.app.handlers import watch

def work(report):
    for _ in report("endless", range(10**9)):
        time.sleep(0.01)

steps = watch(work, every=0.01)
threading.Thread(target=lambda: [None for _ in steps], daemon=True).start()  # as gradio does
while threading.active_count() < 3:
    time.sleep(0.01)
workers = [thread for thread in threading.enumerate() if thread.name.endswith("(run)")]
assert [thread.daemon for thread in workers] == [False]
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
