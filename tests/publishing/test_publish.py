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

    assert "changed" not in done.stdout
    # A second time the Space is there already; files that were not assembled stay where they are, on both sides.
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    done = run(asked, hub.endpoint, tmp_path / "home")
    assert done.returncode == 2
    assert done.stderr == f"Error: The folder {out} is not empty; name a new one, or pass --force to write into it.\n"
    pushed["app.py"] = b"an older page"
    pushed["talk.md"] = b"somebody's"
    del pushed["requirements.txt"]
    hub.asked.clear()
    done = run([*asked, "--force"], hub.endpoint, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout.partition("org/my-similarity\n")[2].splitlines() == [
        "  new: requirements.txt",
        "  changed: app.py",
        f"  unchanged: README.md, my-similarity.py, {wheel.name}",
        "  left as they were: talk.md",
        'Load it with evaluate.load("org/my-similarity")',
    ]
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert pushed == {path.name: path.read_bytes() for path in out.iterdir() if path.name != "notes.txt"} | {
        "talk.md": b"somebody's"
    }
    # Where nothing has changed, nothing is committed.
    hub.asked.clear()
    done = run([*asked, "--force"], hub.endpoint, tmp_path / "home")
    assert "  new: none\n  changed: none\n" in done.stdout
    assert not [line for line in hub.asked if "/commit/" in line]

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


def test_the_demo_is_pushed(hub: Hub, tmp_path: Path, wheel: Path) -> None:
    asked = [*PUBLISH, "demo", "--to", "org/qa-scoring", "--wheel", str(wheel)]
    done = run(asked, hub.endpoint, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"Pushed to {hub.endpoint}/spaces/org/qa-scoring\n")
    assert set(hub.spaces["org/qa-scoring"]) == {"README.md", "app.py", "requirements.txt", wheel.name}
    assert b"# qa-scoring\n" in hub.spaces["org/qa-scoring"]["README.md"]


def test_a_private_space_holds_the_package_itself(hub: Hub, tmp_path: Path, wheel: Path) -> None:
    asked = [*PUBLISH, "ava_metric", "--to", "org/ava_metric", "--wheel", str(wheel)]
    done = run([*asked, "--private"], hub.endpoint, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    pushed = hub.spaces["org/ava_metric"]
    assert hub.visibility == {"org/ava_metric": "private"}
    assert "ava_metric.py" in pushed
    assert "qa_scoring/judge/embedded/judge_head.safetensors" in pushed
    assert b"qa-scoring" not in pushed["requirements.txt"].partition(b"\n")[2]

    # It is loaded with the login that may read it.
    load = ["-c", "import evaluate; print(evaluate.load('org/ava_metric').name)"]
    done = run(load, hub.endpoint, tmp_path / "reader")
    assert done.stdout == "ava_metric\n", done.stderr
    done = run(load, hub.endpoint, tmp_path / "stranger", token=None)
    assert done.returncode == 1
    assert "ava_metric' doesn't exist" in done.stderr

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
        ("wrong login", "cannot be pushed: the Hub does not accept this login; run 'hf auth login', or set HF_TOKEN"),
        ("403", "cannot be pushed: this login may not write to org; use a token of a member of org that may write."),
        ("404", "cannot be pushed: the Hub finds no org/sas_metric, or hides it from this login; check the name"),
        ("402", "cannot be pushed: the Hub answers 402, You have reached the limit of your plan."),
        ("no hub", "cannot be pushed: the Hub cannot be reached, "),
        ("wrong name", "The argument 'to' must be organisation/name of the Hub; got 'sas_metric'."),
    ],
)
def test_one_clear_error(case: str, message: str, hub: Hub, tmp_path: Path, wheel: Path) -> None:
    to = {"nowhere": [], "wrong name": ["--to", "sas_metric"]}.get(case, ["--to", "org/sas_metric"])
    token = {"no login": None, "wrong name": None, "wrong login": "hf_other"}.get(case, "hf_stand_in")
    hub.refusal = int(case) if case.isdigit() else None
    endpoint = "http://127.0.0.1:9" if case == "no hub" else hub.endpoint
    arguments = [*PUBLISH, "sas_metric", *to, "--wheel", str(wheel)]
    done = run(arguments, endpoint, tmp_path / "home", token=token)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 500
    assert hub.spaces == {}
