"""Models from the Hub: a stand-in on the loopback serves tiny models as the Hub does, to processes with a fresh cache.

The stand-in answers what ``huggingface_hub`` asks: the model's information by revision, and files by revision, with
the commit and an ETag. It counts what it is asked for, so that "from the cache" is seen, not assumed. Every load runs
in a process of its own, because ``HF_ENDPOINT`` and ``HF_HOME`` are read on import.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.similarity.loading import load_scorer
from tests.conftest import REPOSITORY

OLD, NEW = "a" * 40, "b" * 40  # commits
PAIRS = [("New York City", "New York"), ("Paris", "London")]


class Hub(ThreadingHTTPServer):
    """Models by id → revision → commit → folder."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.revisions: dict[str, dict[str, str]] = {}
        self.folders: dict[tuple[str, str], Path] = {}
        self.asked: list[str] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def publish(self, model: str, commit: str, folder: Path, *names: str) -> None:
        """Serve a folder as one commit of a model; names are branches and tags that point at it."""
        self.revisions.setdefault(model, {}).update(dict.fromkeys((commit, *names), commit))
        self.folders[model, commit] = folder

    def sent(self) -> list[str]:
        """Return the names of the files whose content was asked for, and forget all requests."""
        asked, self.asked = self.asked, []
        return [line.rpartition("/")[2] for line in asked if line.startswith("GET") and "/resolve/" in line]


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        if path.startswith("/api/models/"):
            parts = path.removeprefix("/api/models/").split("/")
            model, rest = "/".join(parts[:2]), parts[2:]
            wanted = rest[1] if rest[:1] in (["revision"], ["tree"]) else "main"
        else:
            model, _, rest_of_path = path.removeprefix("/").partition("/resolve/")
            wanted, _, name = rest_of_path.partition("/")
        if model not in self.server.revisions:
            return self.refuse("RepoNotFound", "Repository not found", status=401)
        commit = self.server.revisions[model].get(wanted)
        if commit is None:
            return self.refuse("RevisionNotFound", f"Invalid rev id: {wanted}")
        folder = self.server.folders[model, commit]
        if not path.startswith("/api/"):
            if not (folder / name).is_file():
                return self.refuse("EntryNotFound", "Entry not found", commit=commit)
            return self.reply((folder / name).read_bytes(), commit=commit)
        files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        if rest[:1] == ["tree"]:
            entries = [
                {"type": "file", "path": name, "size": len(content), "oid": self.etag(content)}
                for name, content in files.items()
            ]
            return self.reply(json.dumps(entries).encode(), kind="application/json")
        facts = {
            "_id": "0" * 24,
            "id": model,
            "modelId": model,
            "sha": commit,
            "private": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": [{"rfilename": name} for name in files],
        }
        return self.reply(json.dumps(facts).encode(), kind="application/json")

    @staticmethod
    def etag(content: bytes) -> str:
        return hashlib.sha1(content).hexdigest()

    def refuse(self, code: str, message: str, *, status: int = 404, commit: str | None = None) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message}
        self.reply(b"", status=status, commit=commit, headers=headers)

    def reply(
        self,
        content: bytes,
        *,
        status: int = 200,
        kind: str = "application/octet-stream",
        commit: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{self.etag(content)}"')
        if commit is not None:
            self.send_header("X-Repo-Commit", commit)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""


@pytest.fixture(scope="module")
def folders(make_cross_encoder: Callable[..., Path]) -> dict[str, Path]:
    """The two commits of one model."""
    return {OLD: make_cross_encoder(seed=1), NEW: make_cross_encoder(seed=2)}


@pytest.fixture(scope="module")
def hub(
    folders: dict[str, Path], two_labels: Path, identity_activation: Path, pickled: Path, bi_encoder: Path
) -> Iterator[Hub]:
    with Hub() as server:
        server.publish("org/tiny", OLD, folders[OLD], "v1")
        server.publish("org/tiny", NEW, folders[NEW], "main")
        server.publish("org/two-labels", NEW, two_labels, "main")
        server.publish("org/identity", NEW, identity_activation, "main")
        server.publish("org/pickled", NEW, pickled, "main")
        server.publish("org/encoder", NEW, bi_encoder, "main")
        server.publish("google-bert/bert-base-uncased", OLD, bi_encoder, "main")
        server.publish("cross-encoder/stsb-roberta-large", NEW, folders[NEW], "main")
        server.publish("cross-encoder/bare", OLD, folders[OLD], "main")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


PROGRAM = """
import json, sys
from qa_scoring.errors import InputError
from qa_scoring.similarity.loading import load_scorer
from qa_scoring.encoders.scorers import score_distinct

asked = json.loads(sys.argv[1])
for options in asked["loads"]:
    try:
        scorer = load_scorer(**options)
        scores = score_distinct(scorer, [tuple(pair) for pair in asked["pairs"]]).scores.tolist()
        print(json.dumps({"scores": scores, "facts": dict(scorer.facts)}))
    except InputError as error:
        print(json.dumps({"error": str(error)}))
"""


def run(hub: Hub, home: Path, loads: list[dict[str, Any]], *, offline: bool = False) -> list[dict[str, Any]]:
    """Load and score in a process that knows no other hub and no other cache; any other error fails the test."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE"))}
    environment |= {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": str(int(offline)),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(REPOSITORY),
        "OMP_NUM_THREADS": "1",
    }
    asked = {"loads": [{"scorer": "cross-encoder", "device": "cpu"} | options for options in loads], "pairs": PAIRS}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(asked)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(loads), done.stdout
    return answers


def expected(folder: Path, **options: Any) -> Any:
    from sentence_transformers import CrossEncoder

    return pytest.approx(CrossEncoder(str(folder), device="cpu").predict(PAIRS, **options).tolist(), abs=1e-5)


def test_fresh_cache_then_offline(hub: Hub, tmp_path: Path, folders: dict[str, Path]) -> None:
    home = tmp_path / "hf_home"
    (first,) = run(hub, home, [{"model": "org/tiny"}])
    assert first["scores"] == expected(folders[NEW])
    assert (first["facts"]["model"], first["facts"]["revision"]) == ("org/tiny", NEW)
    assert hub.sent().count("model.safetensors") == 1
    assert run(hub, home, [{"model": "org/tiny"}]) == [first]
    assert "model.safetensors" not in hub.sent(), "the cache must have it"
    known = dict(hub.revisions)
    hub.revisions.clear()  # the Hub is gone: whatever is asked of it now fails
    try:
        again, unknown = run(hub, home, [{"model": "org/tiny"}, {"model": "org/two-labels"}], offline=True)
    finally:
        hub.revisions |= known
    assert again == first
    assert hub.asked == []
    for part in ("'org/two-labels' cannot be loaded", "fetch config.json", "model='/path/to/the/folder'"):
        assert part in unknown["error"]


def test_kept_scores_are_those_of_a_commit(hub: Hub, tmp_path: Path, folders: dict[str, Path]) -> None:
    kept = {"model": "org/tiny", "cache_dir": str(tmp_path / "cache")}
    (first,) = run(hub, tmp_path / "home", [kept])
    assert first["scores"] == expected(folders[NEW])
    assert first["facts"]["revision"] == NEW
    hub.sent()
    assert run(hub, tmp_path / "another home", [kept]) == [first]
    assert set(hub.sent()) == {"config.json"}, "which commit it is, and nothing of the model"
    assert run(hub, tmp_path / "home", [kept], offline=True) == [first]
    hub.revisions["org/tiny"]["main"] = OLD  # the branch moves
    try:
        by_branch, by_commit = run(hub, tmp_path / "home", [kept, kept | {"revision": NEW}])
    finally:
        hub.revisions["org/tiny"]["main"] = NEW
    assert by_branch["scores"] == expected(folders[OLD])
    assert by_branch["facts"]["revision"] == OLD
    assert by_commit == first


Answers = dict[str, dict[str, Any]]

# What one process with one fresh cache asks for, one after the other.
LOADS: dict[str, dict[str, Any]] = {
    "by commit": {"model": "org/tiny", "revision": OLD},
    "by tag": {"model": "org/tiny", "revision": "v1"},
    "by another commit": {"model": "org/tiny", "revision": NEW},
    "by branch": {"model": "org/tiny", "revision": "main"},
    "without revision": {"model": "org/tiny"},
    "by a name of this project": {"model": "stsb-roberta-large"},
    "without organization": {"model": "bare"},
    "identity, declared sigmoid": {"model": "org/identity", "activation": "sigmoid"},
    "bi-encoder": {"model": "org/encoder", "scorer": "bi-encoder"},
    "bertscore": {"model": "org/encoder", "scorer": "bertscore", "layer": 1},
    "bertscore by a name": {"model": "bertscore-vanilla", "scorer": "bertscore"},
    "bertscore of pickled weights": {"model": "org/pickled", "scorer": "bertscore", "layer": 1},
    "bertscore of an unknown revision": {"model": "org/encoder", "scorer": "bertscore", "revision": "v9"},
    "identity": {"model": "org/identity"},
    "two labels": {"model": "org/two-labels"},
    "pickled weights": {"model": "org/pickled"},
    "encoder as cross-encoder": {"model": "org/encoder"},
    "unknown model": {"model": "org/none"},
    "unknown bi-encoder": {"model": "org/none", "scorer": "bi-encoder"},
    "unknown revision": {"model": "org/tiny", "revision": "v9"},
    "unknown commit": {"model": "org/tiny", "revision": "c" * 40},
}


@pytest.fixture(scope="module")
def answers(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return dict(zip(LOADS, run(hub, tmp_path_factory.mktemp("hf_home"), list(LOADS.values())), strict=True))


@pytest.mark.parametrize(
    ("case", "model", "commit"),
    [
        ("by commit", "org/tiny", OLD),
        ("by tag", "org/tiny", OLD),
        ("by another commit", "org/tiny", NEW),
        ("by branch", "org/tiny", NEW),
        ("without revision", "org/tiny", NEW),
        ("by a name of this project", "cross-encoder/stsb-roberta-large", NEW),
        ("without organization", "bare", OLD),
    ],
)
def test_the_revision_asked_for_is_loaded_and_signed(
    case: str, model: str, commit: str, answers: Answers, folders: dict[str, Path]
) -> None:
    assert expected(folders[OLD]).expected != expected(folders[NEW])
    assert answers[case]["scores"] == expected(folders[commit])
    assert (answers[case]["facts"]["model"], answers[case]["facts"]["revision"]) == (model, commit)


def test_identity_activation_works_when_declared(answers: Answers, identity_activation: Path) -> None:
    import torch

    scores = expected(identity_activation, activation_fn=torch.nn.Sigmoid())
    assert answers["identity, declared sigmoid"]["scores"] == scores


def test_bi_encoder_with_its_commit(answers: Answers, bi_encoder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    first, second = (
        SentenceTransformer(str(bi_encoder), device="cpu").encode(list(side), normalize_embeddings=True)
        for side in zip(*PAIRS, strict=True)
    )
    cosines = (first * second).sum(axis=1).clip(0, 1).tolist()
    assert answers["bi-encoder"]["scores"] == pytest.approx(cosines, abs=1e-5)
    assert answers["bi-encoder"]["facts"]["revision"] == NEW


@pytest.mark.parametrize(
    ("case", "model", "commit", "layer"),
    [
        ("bertscore", "org/encoder", NEW, 1),
        ("bertscore by a name", "google-bert/bert-base-uncased", OLD, 2),
    ],
)
def test_bertscore_with_its_commit_and_layer(
    case: str, model: str, commit: str, layer: int, answers: Answers, bi_encoder: Path
) -> None:
    facts = answers[case]["facts"]
    assert (facts["model"], facts["revision"], facts["layer"]) == (model, commit, layer)
    local = load_scorer("bertscore", str(bi_encoder), layer=layer, device="cpu")
    assert answers[case]["scores"] == pytest.approx(score_distinct(local, PAIRS).scores.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        ("two labels", ["has one label; this one has 2"]),
        ("identity", ["org/identity says that its output is Identity", "activation='sigmoid'"]),
        ("encoder as cross-encoder", ["org/encoder is a BertModel", "no trained layer that scores pairs"]),
        ("pickled weights", ["'org/pickled' cannot be loaded", "model.safetensors of org/pickled"]),
        ("unknown model", ["'org/none' cannot be loaded", "fetch config.json", "model='/path/to/the/folder'"]),
        ("unknown bi-encoder", ["'org/none' cannot be loaded", "fetch config.json", "model='/path/to/the/folder'"]),
        ("bertscore of pickled weights", ["'org/pickled' cannot be loaded", "model.safetensors of org/pickled"]),
        ("bertscore of an unknown revision", ["'org/encoder' at revision 'v9' cannot be loaded", "fetch config.json"]),
        ("unknown revision", ["'org/tiny' at revision 'v9' cannot be loaded", "model='/path/to/the/folder'"]),
        ("unknown commit", [f"'org/tiny' at revision '{'c' * 40}' cannot be loaded", "fetch config.json"]),
    ],
)
def test_one_clear_error(case: str, parts: list[str], answers: Answers) -> None:
    message = answers[case]["error"]
    for part in parts:
        assert part in message
    assert len(message) < 700
    assert "\n" not in message
    assert ".." not in message
