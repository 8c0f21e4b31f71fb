"""Many people at once on the demo: every request gets the answer of its own session, and the memory stays bounded.

The app runs in a process of its own, as ``python app.py`` starts it. Each session uploads files whose figures tell it
from all others, scores them, asks for rows, downloads and thresholds, and uses the other tabs in between; every answer
is checked. One round goes before, so that models are loaded; then memory is taken while the rounds run.

    python -m benchmarks.demo_sessions --out benchmarks/results/demo_sessions.json
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import click
import psutil

from qa_scoring.app.inputs import SIDES

ROOT = Path(__file__).resolve().parent.parent
ROWS = 1_000
REQUESTS = 20
"""How many requests a session makes in a round."""


@contextmanager
def served(folder: Path, files: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Start the demo.

    Args:
        folder: Where ``app.py`` is.
        files: Where the app keeps uploads and downloads.

    Yields:
        The address, and the process.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": str(files), "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen([sys.executable, "app.py"], cwd=folder, env=environment, stdout=subprocess.DEVNULL) as app:
        try:
            for _ in range(600):
                if app.poll() is not None:
                    raise RuntimeError(f"The app ended with code {app.returncode} before it served a page.")
                with socket.socket() as asking:
                    if asking.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}", psutil.Process(app.pid)
        finally:
            app.terminate()


class Session:
    """One person: a client whose files have a share of right answers that no other session has.

    Args:
        address: Of the app.
        number: Of the session, from 0.
        folder: For its files.
    """

    def __init__(self, address: str, number: int, folder: Path) -> None:
        from gradio_client import Client

        self.right = (number + 1) * ROWS // 100
        self.word = f"word{number}"
        self.folder = folder / str(number)
        self.folder.mkdir(parents=True)
        self.client = Client(address, verbose=False, download_files=str(self.folder / "downloads"))
        predictions = {str(row): self.word if row < self.right else "other" for row in range(ROWS)}
        references = [{"id": str(row), "answers": [self.word]} for row in range(ROWS)]
        values = {str(row): row / ROWS for row in range(ROWS)}
        for name, content in zip(SIDES, (predictions, references, values), strict=True):
            (self.folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")

    def ask(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call an action of the page."""
        return self.client.predict(*arguments, api_name=name, **options)

    def upload(self, name: str, side: str) -> None:
        """Upload one of the session's files."""
        from gradio_client import handle_file

        said = self.ask(name, handle_file(str(self.folder / f"{side}.json")))
        check(f"{side}.json" in said[1] and f"{ROWS:,} rows" in said[1], said)

    def round(self) -> None:
        """Make ``REQUESTS`` requests, and check every answer."""
        expected = 100 * self.right / ROWS
        for side in SIDES:
            self.upload(f"/upload_{side}", side)
        for _ in range(2):
            result = self.ask("/score", source="Uploaded files")[2]
            check(result["m2qa_squad_v2"]["exact"] == expected, result["m2qa_squad_v2"])
        _, said = self.ask("/rows", column_1="exact", comparison_1="=", value_1=1)
        check(f"{self.right:,} of {ROWS:,} rows" in said, said)
        check(self.word in self.ask("/open_row", 1), "the row")
        rows = next(Path(path) for path in self.ask("/download") if path.endswith("rows.jsonl"))
        check(self.word in rows.read_text(encoding="utf-8"), rows)
        for side in ("predictions", "references"):
            self.upload(f"/threshold_upload_{side}", side)
        self.upload("/threshold_upload_no_answer_values", "no_answer")
        self.ask("/threshold_score", source="Uploaded files")
        *_, figures = [part for part in self.ask("/threshold_at", 0.0) if isinstance(part, dict) and "above" in part]
        check(figures["above"] == ROWS - 1, figures)
        for number in range(3):
            answer = f"{self.word} {number}"
            *_, figures = self.ask("/judge", "Which word?", self.word, answer, "en")
            check(figures["details"]["prediction"] == answer and figures["sas"] is not None, figures)
        pasted = f"a,b,references\n{self.word},other,{self.word}\nother,other,{self.word}"
        result = next(
            part for part in self.ask("/compare", pasted=pasted) if isinstance(part, dict) and "right" in part
        )
        check(result["right"]["only_a"] == 1, result)
        for text in (self.word, f"in {self.word}"):
            *_, rows = self.ask("/tokenize", text, "en")
            check(rows[0]["tokens"] == text.split(), rows)
        self.ask("/forget_files")


def check(right: bool, answer: Any) -> None:
    """Refuse an answer that is not this session's."""
    if not right:
        raise AssertionError(f"The answer is not the one of this session: {str(answer)[:500]}")


def measure(sessions: int, rounds: int) -> dict[str, Any]:
    """Let sessions use the app at once.

    Args:
        sessions: How many.
        rounds: How often each makes its requests, after one round of one session that loads the models.

    Returns:
        Requests, seconds, the memory of the app (MB): before, at most in each round, and after; and what is left of
        the uploads.
    """
    with tempfile.TemporaryDirectory() as name, served(ROOT, Path(name, "app")) as (address, app):
        Session(address, 99 - sessions, Path(name, "first")).round()
        everyone = [Session(address, number, Path(name, "sessions")) for number in range(sessions)]
        before, start, peaks = _megabytes(app), time.perf_counter(), []
        with ThreadPoolExecutor(sessions) as pool:
            for _ in range(rounds):
                with _peak(app) as peak:
                    list(pool.map(Session.round, everyone))
                peaks.append(peak[0])
        seconds = time.perf_counter() - start
        kept = [path for path in Path(name, "app").rglob("*") if path.is_file() and path.stem in SIDES]
        return {
            "sessions": sessions,
            "requests": sessions * rounds * REQUESTS,
            "rows_per_file": ROWS,
            "seconds": round(seconds, 1),
            "memory_before_mb": before,
            "memory_peak_of_each_round_mb": peaks,
            "memory_after_mb": _megabytes(app),
            "uploads_kept_bytes": sum(path.stat().st_size for path in kept),
        }


def _megabytes(process: psutil.Process) -> int:
    return round(process.memory_info().rss / 1e6)


@contextmanager
def _peak(process: psutil.Process) -> Iterator[list[int]]:
    """Watch the memory of a process; the list holds its peak when the block ends."""
    found, done = [0], Event()

    def watch() -> None:
        while not done.wait(0.05):
            found[0] = max(found[0], _megabytes(process))

    thread = Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


@click.command()
@click.option("--sessions", default=10, show_default=True)
@click.option("--rounds", default=1, show_default=True, help=f"Of {REQUESTS} requests a session.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures as JSON.")
def main(sessions: int, rounds: int, out: Path | None) -> None:
    """Let sessions use the demo at once, check every answer, and take the memory of the app."""
    text = json.dumps(measure(sessions, rounds), indent=2)
    click.echo(text)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
