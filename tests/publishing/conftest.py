"""A stand-in for the Hub on the loopback that takes Spaces and serves them, and the wheel that tests publish."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from qa_scoring.publishing import build_wheel
from tests.conftest import REPOSITORY

TOKEN = "hf_stand_in"
COMMIT = "c" * 40


class Hub(ThreadingHTTPServer):
    """Spaces by id: their files, as committed to the branch main."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spaces: dict[str, dict[str, bytes]] = {}
        self.visibility: dict[str, str] = {}
        self.asked: list[str] = []
        self.refusal: int | None = None  # the status that every write gets

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        path = self.path_asked()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.reply(b'{"error": "Invalid username or password."}', status=401)
        if self.server.refusal is not None:
            said = {"error": "You have reached the limit of your plan."}
            return self.answer(said, status=self.server.refusal)
        if path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            asked = json.loads(body)
            space = f"{asked['organization']}/{asked['name']}"
            assert (asked["type"], asked["sdk"]) == ("space", "gradio")
            url = {"url": f"{self.server.endpoint}/spaces/{space}"}
            if space in self.server.spaces:
                return self.answer(url | {"error": "You already created this space repo"}, status=409)
            self.server.spaces[space] = {}
            hidden = asked.get("visibility") == "private" or asked.get("private")
            self.server.visibility[space] = "private" if hidden else "public"
            return self.answer(url)
        *_, organisation, name, action, _branch = path.split("/")
        if action == "preupload":
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            return self.answer({"files": files})
        assert action == "commit"
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                content = base64.b64decode(line["value"]["content"])
                self.server.spaces[f"{organisation}/{name}"][line["value"]["path"]] = content
        url = f"{self.server.endpoint}/spaces/{organisation}/{name}/commit/{COMMIT}"
        return self.answer({"success": True, "commitOid": COMMIT, "commitUrl": url})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path_asked()
        place, _, rest = path.removeprefix("/api").removeprefix("/spaces/").partition("/resolve/")
        place, tree, _ = place.partition("/tree/")
        files = self.server.spaces.get(place)
        hidden = self.server.visibility.get(place) == "private"
        if files is None or (hidden and self.headers["Authorization"] != f"Bearer {TOKEN}"):
            return self.reply(b"", status=404, code="RepoNotFound")
        if tree:
            return self.answer([entry(name, content) for name, content in files.items()])
        if path.startswith("/api/"):
            facts = {"_id": "0" * 24, "id": place, "sha": COMMIT, "tags": [], "likes": 0, "siblings": []}
            return self.answer(facts | {"private": hidden})
        revision, _, name = rest.partition("/")
        if revision != "main":
            return self.reply(b"", status=404, code="RevisionNotFound")
        if name not in files:
            return self.reply(b"", status=404, code="EntryNotFound")
        return self.reply(files[name])

    def path_asked(self) -> str:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        return path

    def answer(self, facts: Any, *, status: int = 200) -> None:
        self.reply(json.dumps(facts).encode(), kind="application/json", status=status)

    def reply(
        self, content: bytes, *, status: int = 200, kind: str = "application/octet-stream", code: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        if code is not None:
            self.send_header("X-Error-Code", code)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""


def entry(name: str, content: bytes) -> dict[str, Any]:
    """Return a file as the Hub lists it: with git's digest, and that of its content where it is not kept in git."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    facts = {"type": "file", "path": name, "size": len(content), "oid": blob}
    if name.endswith(".whl"):
        facts["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 132}
        facts["oid"] = "0" * 40
    return facts


@contextmanager
def serving() -> Iterator[Hub]:
    """Serve Spaces until the block ends."""
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that ``publish`` builds of this source tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def run(
    arguments: list[str], endpoint: str, home: Path, *, token: str | None = TOKEN, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that knows no other hub, cache and login."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE"))}
    environment |= {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(REPOSITORY),
        "OMP_NUM_THREADS": "1",
    } | ({"HF_TOKEN": token} if token else {})
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment | variables, timeout=300
    )
