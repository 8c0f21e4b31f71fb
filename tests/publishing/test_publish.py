"""``qa-scoring publish`` against a stand-in for the Hub: what is pushed, and one clear error where it cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.publishing.conftest import Hub, run

PUBLISH = ["-m", "qa_scoring.cli", "publish"]


def test_pushes_what_it_assembled(hub: Hub, tmp_path: Path, wheel: Path) -> None:
    out = tmp_path / "space"
    asked = [*PUBLISH, "sas_metric", "--to", "org/my-similarity", "--out", str(out), "--wheel", str(wheel)]
    done = run(asked, hub.endpoint, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert f"Pushed to {hub.endpoint}/spaces/org/my-similarity\n" in done.stdout
    assert 'evaluate.load("org/my-similarity")' in done.stdout
    pushed = hub.spaces["org/my-similarity"]
    assert pushed == {path.name: path.read_bytes() for path in out.iterdir()}
    assert {"my-similarity.py", "requirements.txt", wheel.name} <= set(pushed)
    assert hub.visibility == {"org/my-similarity": "public"}

    # A second time the Space is there already; files that were not assembled stay where they are.
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    done = run([*asked, "--force"], hub.endpoint, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert "notes.txt" not in hub.spaces["org/my-similarity"]
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"

    # A Space installs requirements.txt before its other files are there: the wheel comes from the Hub.
    alone = tmp_path / "alone"
    alone.mkdir()
    lines = (out / "requirements.txt").read_text(encoding="utf-8").splitlines()
    ours = [line for line in lines if line.startswith(("--find-links", "qa-scoring"))]
    assert len(ours) == 3
    (alone / "requirements.txt").write_text("\n".join(ours), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--isolated", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--target", str(alone / "installed"), "-r", "requirements.txt"]
    installed = subprocess.run(command, capture_output=True, text=True, cwd=alone)
    assert installed.returncode == 0, installed.stderr
    assert (alone / "installed" / "qa_scoring" / "similarity" / "embedded" / "head.safetensors").is_file()
    assert f"GET /spaces/org/my-similarity/resolve/main/{wheel.name}" in hub.asked


def test_a_private_space_holds_the_package_itself(hub: Hub, tmp_path: Path, wheel: Path) -> None:
    asked = [*PUBLISH, "ava_metric", "--to", "org/ava_metric", "--wheel", str(wheel)]
    done = run([*asked, "--private"], hub.endpoint, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    pushed = hub.spaces["org/ava_metric"]
    assert hub.visibility == {"org/ava_metric": "private"}
    assert "ava_metric.py" in pushed
    assert "qa_scoring/judge/embedded/judge_head.safetensors" in pushed
    assert b"qa-scoring" not in pushed["requirements.txt"].partition(b"\n")[2]

    # It is never filled in the open, nor the other way round.
    hub.visibility["org/ava_metric"] = "public"
    hub.spaces["org/ava_metric"] = {}
    done = run([*asked, "--private"], hub.endpoint, tmp_path / "home")
    assert done.returncode == 2
    assert "is public: publish without --private, or change its settings." in done.stderr
    assert hub.spaces["org/ava_metric"] == {}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("nowhere", "Error: Say where: --to ORG/NAME pushes to the Hub, --out DIR only assembles."),
        ("no login", "There is no login for http://127.0.0.1"),
        ("wrong login", "cannot be pushed: "),
        ("no hub", "cannot be pushed: "),
        ("wrong name", "The argument 'to' must be organisation/name of the Hub; got 'sas_metric'."),
    ],
)
def test_one_clear_error(case: str, message: str, hub: Hub, tmp_path: Path, wheel: Path) -> None:
    to = {"nowhere": [], "wrong name": ["--to", "sas_metric"]}.get(case, ["--to", "org/sas_metric"])
    token = {"no login": None, "wrong login": "hf_other"}.get(case, "hf_stand_in")
    endpoint = "http://127.0.0.1:9" if case == "no hub" else hub.endpoint
    arguments = [*PUBLISH, "sas_metric", *to, "--wheel", str(wheel)]
    done = run(arguments, endpoint, tmp_path / "home", token=token)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 500
    assert hub.spaces == {}
