"""A metric, or the whole demo, as a Space of the Hub: assembled into a folder, then pushed.

Everything comes out of one wheel of this package, built from the source tree or packed again from what a wheel
installed. A Space installs ``requirements.txt`` before its other files are there, so a public one finds the wheel by
its address on the Hub; the folder alone finds the wheel beside the file. A private Space, whose address is closed to
pip, holds the wheel unpacked.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import platform
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from qa_scoring import METRICS
from qa_scoring.errors import InputError, MissingPackageError, parameter_error

if TYPE_CHECKING:
    from huggingface_hub import HfApi

DEMO = "demo"
DISTRIBUTION = "qa-scoring"
EXTRAS = ("all", "app")  # the page of every Space scores with all metrics
METRIC_EXTRAS = {"m2qa_squad_v2": "", "sas_metric": "[sas]", "ava_metric": "[ava]"}  # what the metric alone needs
BUILDER_EXTRAS = ("mcp", "oauth")  # of gradio: the Hub installs them together with a Space's requirements
DEMO_APP = '''"""The demo: ``python app.py`` serves it locally, and a Hub Space runs this file."""

from qa_scoring.app.page import launch

if __name__ == "__main__":
    launch()
'''
DEMO_HEADING = """
# qa-scoring

*A copy of this Space runs anywhere: `pip install -r requirements.txt`, then `python app.py`. Below is the README of the
package; its commands are for a copy of the package's sources.*
"""
_INSTALLER_FILES = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
_LINK = re.compile(r"^```.*?^```$|`[^`\n]+`|(!?)\[([^][]*)\]\(([^)\s]+)\)", re.MULTILINE | re.DOTALL)  # or code


def check_destination(name: str, to: str) -> None:
    """Refuse a Space that cannot have this name.

    Args:
        name: A metric, or ``"demo"``.
        to: ``organisation/name`` on the Hub.

    Raises:
        InputError: The name is none of the Hub's, or the metric's module would hide another one there.

    Example:
        >>> check_destination("sas_metric", "my-lab/sas_metric")
    """
    module = to.partition("/")[2]
    word = r"\b[\w.-]{1,96}\b"
    if not re.fullmatch(f"{word}/{word}", to, re.ASCII) or re.search(r"--|\.\.|\.git$", to):
        raise parameter_error("to", "organisation/name of the Hub", to)
    if name == DEMO or module in METRICS:
        return
    # evaluate.load("org/name") loads name.py, which lies beside app.py, first on the Space's path
    if "." in module or module == "app" or importlib.util.find_spec(module) is not None:
        raise parameter_error("to", f"a name that can be that of a module of its own, such as {name}", to)


def build_wheel(folder: Path) -> Path:
    """Make a wheel of this package as it runs here.

    Args:
        folder: Where to put it.

    Returns:
        The wheel: built by pip from the source tree the package lies in; where a wheel installed it, the same files
        packed again.

    Raises:
        InputError: pip cannot build it, or nothing says which files were installed.
    """
    source = Path(__file__).resolve().parent.parent
    project = source / "pyproject.toml"
    if not (project.is_file() and f'name = "{DISTRIBUTION}"' in project.read_text(encoding="utf-8")):
        return _packed_again(metadata.distribution(DISTRIBUTION), folder)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        raise InputError(f"No wheel of {source} can be built: {reason}. Build one elsewhere and pass it with --wheel.")
    return next(folder.glob("*.whl"))


def _packed_again(distribution: metadata.Distribution, folder: Path) -> Path:
    """Return a wheel of what a wheel installed: the files of its record, and a new record."""
    files = [
        file
        for file in distribution.files or ()
        if ".." not in file.parts
        and file.suffix != ".pyc"
        and not (file.parent.name.endswith(".dist-info") and file.name in _INSTALLER_FILES)
    ]
    if not files:
        raise InputError(f"Nothing says which files of {DISTRIBUTION} were installed; install it with pip.")
    information = f"qa_scoring-{distribution.version}.dist-info"
    wheel = folder / f"qa_scoring-{distribution.version}-py3-none-any.whl"
    record = io.StringIO()
    lines = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, content: bytes) -> None:
            entry = zipfile.ZipInfo(name)  # its date is fixed, so equal files give equal wheels
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)

        for file in sorted(files):
            content = Path(str(file.locate())).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            lines.writerow((file, f"sha256={digest}", len(content)))
            add(str(file), content)
        lines.writerow((f"{information}/RECORD", "", ""))
        add(f"{information}/RECORD", record.getvalue().encode())
    return wheel


def pinned_versions(
    requirements: Iterable[str], extras: Iterable[str] = (), *, leave_out: Iterable[str] = ()
) -> dict[str, str]:
    """Return the installed version of everything that requirements need, directly or not.

    Args:
        requirements: Requirements of a distribution, as its metadata has them.
        extras: Extras of that distribution.
        leave_out: Distributions that are not pinned, nor what only they need.

    Returns:
        Distribution → version, sorted by name. A build tag (``2.13.0+cpu``), which package indexes do not know, is
        left out.

    Raises:
        MissingPackageError: Something that is needed is not installed.
        InputError: An installed version is not one that is asked for.

    Example:
        >>> "pandas" in pinned_versions(["evaluate>=0.4"])
        True
    """
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name
    from packaging.version import Version

    versions: dict[str, str] = {}
    unpinned = {canonicalize_name(name) for name in leave_out}
    waiting = [(text, extra) for extra in ("", *extras) for text in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if canonicalize_name(requirement.name) in unpinned:
            continue
        try:
            installed = metadata.distribution(requirement.name)
        except metadata.PackageNotFoundError as error:
            raise MissingPackageError(
                f"A Space is pinned to the versions installed here, and {requirement.name} is not installed. "
                f'Install it with: pip install "{DISTRIBUTION}[{",".join(EXTRAS)}]"',
                name=requirement.name,
            ) from error
        version = Version(installed.version)
        if not requirement.specifier.contains(version, prereleases=True):
            raise InputError(f"{requirement.name} is installed at {version}; a Space needs {text}. Install that first.")
        versions[installed.metadata["Name"]] = version.public
        for wanted in ("", *requirement.extras):
            if (key := (canonicalize_name(requirement.name), wanted)) not in seen:
                seen.add(key)
                waiting += [(further, wanted) for further in installed.requires or ()]
    return dict(sorted(versions.items(), key=lambda item: item[0].lower()))


def unsuitable_for_the_builder() -> tuple[str, ...]:
    """Return what is installed here in a version that the builder of Spaces cannot install.

    The Hub installs ``gradio[mcp,oauth]`` in one go with a Space's requirements; where both name versions of a package
    that exclude each other, nothing is installed, and the Space never starts.

    Returns:
        The packages, sorted; none where gradio is not installed.

    Example:
        >>> "numpy" in unsuitable_for_the_builder()
        False
    """
    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(text) for text in metadata.requires("gradio") or ()]
    except metadata.PackageNotFoundError:
        return ()
    unsuitable = set()
    for requirement in requirements:
        marker = requirement.marker
        if marker is not None and any(marker.evaluate({"extra": extra}) for extra in BUILDER_EXTRAS):
            try:
                version = metadata.version(requirement.name)
            except metadata.PackageNotFoundError:
                continue
            if not requirement.specifier.contains(version, prereleases=True):
                unsuitable.add(requirement.name)
    return tuple(sorted(unsuitable))


def links_within(text: str, files: Iterable[str], *, place: str, new_place: str) -> str:
    """Return a document with the links it can have in a folder that holds fewer files than the repository.

    Args:
        text: A Markdown document of the repository.
        files: What the folder holds.
        place: The document's folder in the repository; ``""`` is the repository itself.
        new_place: The one it gets in the folder.

    Returns:
        The document: a link to a file that is there leads to it; of any other one remain the words and the file's
        path in the repository, and of a picture its description.

    Example:
        >>> links_within("See [the guide](../docs/guide.md).", [], place="sas_metric", new_place="")
        'See the guide (`docs/guide.md`).'
    """
    there = {parent for file in files for parent in (file, *(str(up) for up in PurePosixPath(file).parents))}

    def changed(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if target is None or re.match(r"[a-z]+:|[#/]", target):
            return match[0]
        name, sharp, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(place, name))
        if path in there:
            return f"{picture}[{words}]({posixpath.relpath(path, new_place or '.')}{sharp}{anchor})"
        return f"*{words}*" if picture else f"{words} (`{path}`)"

    return _LINK.sub(changed, text)


def assemble(
    name: str,
    folder: Path,
    *,
    to: str | None = None,
    private: bool = False,
    force: bool = False,
    wheel: Path | None = None,
) -> tuple[str, ...]:
    """Write the files of a Space into a folder; all of them or, where something is wrong, none.

    Args:
        name: A metric, or ``"demo"`` for the page over all of them.
        folder: New, or empty.
        to: ``organisation/name`` on the Hub. The metric's module gets that name, as ``evaluate.load`` wants it, and
            says, where this package is missing, how to install the Space's wheel.
        private: Whether the Space is to be private.
        force: Write into a folder that holds other files too; files of the same names are replaced.
        wheel: A wheel of this package to take in place of building one.

    Returns:
        The files written, relative to the folder: module (of a metric), ``README.md``, ``app.py``,
        ``requirements.txt`` with exact versions, and the wheel, which holds the embedded weights; for a private Space
        the files of the wheel. Documents link only to what is there.

    Raises:
        InputError: An argument is wrong, the folder is not empty, or no wheel can be built.
        MissingPackageError: Something that a Space needs is not installed here, so its version is not known.
    """
    from huggingface_hub import constants

    if name not in (*METRICS, DEMO):
        raise parameter_error("name", f"one of {', '.join((*METRICS, DEMO))}", name)
    if private and to is None:
        raise parameter_error("to", "organisation/name of the Hub where private is true", to)
    if to is not None:
        check_destination(name, to)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder that is new or empty.")
    if folder.exists() and not force and any(folder.iterdir()):
        raise InputError(f"The folder {folder} is not empty; name a new one, or pass --force to write into it.")
    with tempfile.TemporaryDirectory() as temporary:
        staging = Path(temporary) / "space"
        staging.mkdir()
        wheel = build_wheel(Path(temporary)) if wheel is None else wheel
        address = f"{constants.ENDPOINT}/spaces/{to}/resolve/main/{wheel.name}" if to and not private else None
        try:
            with zipfile.ZipFile(wheel) as archive:
                contents = {entry: archive.read(entry) for entry in archive.namelist()}
                if private:
                    archive.extractall(staging)
                else:
                    shutil.copyfile(wheel, staging / wheel.name)
        except (OSError, zipfile.BadZipFile) as error:
            raise InputError(f"{wheel} cannot be read as a wheel: {error}.") from error
        about = "-".join(wheel.name.split("-")[:2]) + ".dist-info/METADATA"
        if about not in contents or not re.fullmatch(r"qa_scoring-[^-]+-py3-none-any\.whl", wheel.name):
            raise InputError(f"{wheel} is no wheel of {DISTRIBUTION}.")
        distribution = metadata.PathDistribution(zipfile.Path(wheel, about.removesuffix("METADATA")))
        unpinned = unsuitable_for_the_builder()
        pins = pinned_versions(distribution.requires or (), EXTRAS, leave_out=unpinned)
        if name == DEMO:
            readme = str(distribution.metadata["Description"])
            texts = {"app.py": DEMO_APP, "README.md": readme.replace("\n# qa-scoring\n", DEMO_HEADING, 1)}
        else:
            places = {file: f"{name}/{file}" for file in ("app.py", "README.md")}
            texts = {file: contents[place].decode() for file, place in places.items() if place in contents}
            requirement = f'"qa_scoring{METRIC_EXTRAS[name]} @ {address}"'
            module = contents[f"{name}/{name}.py"].decode()
            if address:  # evaluate quotes what follows "From:" where the import fails
                module = re.sub(r"^(import qa_scoring\S*)$", rf"\1  # From: {requirement}", module, flags=re.MULTILINE)
                texts["README.md"] = _told_how_to_load(texts["README.md"], str(to), requirement)
            texts[f"{to.partition('/')[2] if to else name}.py"] = module
        if "README.md" in texts:
            texts["README.md"] = _pinned_card(texts["README.md"], pins.get("gradio"))
        texts["requirements.txt"] = _requirements(distribution.version, pins, unpinned, address, unpacked=private)
        for file, text in texts.items():
            (staging / file).write_text(text, encoding="utf-8", newline="\n")
        files = [path.relative_to(staging).as_posix() for path in staging.rglob("*") if path.is_file()]
        for file in files:
            if file.endswith(".md"):
                new_place = posixpath.dirname(file)
                place = name if file == "README.md" and name != DEMO else new_place
                text = (staging / file).read_text(encoding="utf-8")
                text = links_within(text, files, place=place, new_place=new_place)
                (staging / file).write_text(text, encoding="utf-8", newline="\n")
        return _move(staging, folder)


def _requirements(
    version: str, pins: dict[str, str], unpinned: Iterable[str], address: str | None, *, unpacked: bool
) -> str:
    lines = [f"# Written by qa-scoring publish: the versions installed there (Python {platform.python_version()})."]
    lines += [f"# {name} is not pinned: the builder of Spaces needs another version." for name in unpinned]
    if not unpacked:
        lines += ["--find-links ."]
        lines += [f"--find-links {address}"] if address else []
        lines += [f"{DISTRIBUTION}[{','.join(EXTRAS)}]=={version}"]
    lines += [f"{name}=={pinned}" for name, pinned in pins.items()]
    return "\n".join(lines) + "\n"


def _pinned_card(card: str, gradio: str | None) -> str:
    """Return a card whose front matter asks for the Python and the gradio that requirements.txt is pinned to."""
    card = card.lstrip()
    if not card.startswith("---\n"):
        return card
    head, end, text = card.removeprefix("---\n").partition("\n---\n")
    facts = {"python_version": ".".join(platform.python_version_tuple()[:2])}
    if gradio:
        facts["sdk_version"] = gradio
    lines = [line for line in head.splitlines() if line.partition(":")[0] not in facts]
    return "\n".join(["---", *lines, *(f'{key}: "{value}"' for key, value in facts.items())]) + end + text


def _told_how_to_load(card: str, to: str, requirement: str) -> str:
    """Return a metric's card that says how to install the package from its Space, and to load the metric from there."""
    lines = f'From this Space: `pip install {requirement}`, then `metric = evaluate.load("{to}")`. Or from the package:'
    return card.replace("\n## How to Use\n", f"\n## How to Use\n\n{lines}\n", 1)


def _move(staging: Path, folder: Path) -> tuple[str, ...]:
    files = sorted(path.relative_to(staging).as_posix() for path in staging.rglob("*") if path.is_file())
    for parent in {(folder / file).parent for file in files}:
        if not parent.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{parent} leads out of {folder}; name a new folder.")
    for file in files:
        if (folder / file).is_dir() and not (folder / file).is_symlink():
            raise InputError(
                f"{folder / file} is a folder, and a file of that name must be written; name a new folder."
            )
    try:
        for file in files:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # a link is replaced, not followed
            shutil.move(staging / file, path)
    except OSError as error:
        raise InputError(f"The Space cannot be written to {folder}: {error}.") from error
    return tuple(files)


def check_login() -> None:
    """Refuse to begin without a login, which a push needs.

    Raises:
        InputError: There is no login.
    """
    from huggingface_hub import constants, get_token

    if get_token() is None:
        raise InputError(f"There is no login for {constants.ENDPOINT}: run 'hf auth login', or set HF_TOKEN.")


class Pushed(NamedTuple):
    """What a push did to the files of a Space."""

    address: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    others: tuple[str, ...]
    """Files of the Space that were not assembled; they stay as they are."""


def push(folder: Path, files: Iterable[str], to: str, *, private: bool = False) -> Pushed:
    """Push an assembled Space to the Hub, with the login of ``huggingface_hub``.

    Args:
        folder: Where ``assemble`` wrote it.
        files: What it wrote; nothing else of the folder is sent.
        to: ``organisation/name`` on the Hub; the Space is made where it is not there.
        private: Whether it was assembled for a private Space.

    Returns:
        The address of the Space, and which of its files are new, changed and unchanged.

    Raises:
        InputError: There is no login, the Hub cannot be reached or refuses, or the Space is there already and private
            where it should not be, or the other way round.
    """
    from huggingface_hub import HfApi, constants, errors

    address = f"{constants.ENDPOINT}/spaces/{to}"
    check_login()
    hub = HfApi()
    try:
        hub.create_repo(to, repo_type="space", space_sdk="gradio", private=private or None, exist_ok=True)
        if bool(hub.repo_info(to, repo_type="space").private) != private:
            there, wanted = ("public", "without") if private else ("private", "with")
            raise InputError(f"The Space {address} is {there}: publish {wanted} --private, or change its settings.")
        pushed = _compared(hub, folder, tuple(files), to, address)
        if pushed.new or pushed.changed:
            hub.upload_folder(
                repo_id=to,
                repo_type="space",
                folder_path=folder,
                allow_patterns=[*pushed.new, *pushed.changed],
                commit_message=f"Publish {to.partition('/')[2]}",
            )
    except InputError:
        raise
    # ValueError: a card the Hub does not take
    except (OSError, errors.HTTPError, ValueError) as error:  # type: ignore[attr-defined]
        raise InputError(f"The Space {address} cannot be pushed: {_reason(error, to)}.") from error
    return pushed


def _compared(hub: HfApi, folder: Path, files: tuple[str, ...], to: str, address: str) -> Pushed:
    """Compare assembled files with those of the Space, by digest."""
    from huggingface_hub import RepoFile

    digests = {
        entry.path: entry.lfs.sha256 if entry.lfs else entry.blob_id
        for entry in hub.list_repo_tree(to, recursive=True, repo_type="space")
        if isinstance(entry, RepoFile) and entry.path != ".gitattributes"  # the Hub's own
    }

    def is_there(file: str) -> bool:
        content = (folder / file).read_bytes()
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)  # as git counts
        return digests[file] in (blob.hexdigest(), hashlib.sha256(content).hexdigest())

    unchanged = {file for file in files if file in digests and is_there(file)}
    return Pushed(
        address,
        new=tuple(file for file in files if file not in digests),
        changed=tuple(file for file in files if file in digests and file not in unchanged),
        unchanged=tuple(file for file in files if file in unchanged),
        others=tuple(sorted(digests.keys() - set(files))),
    )


def _reason(error: Exception, to: str) -> str:
    """Say in one sentence, without its end, why the Hub did not take a Space."""
    from huggingface_hub import errors

    response = getattr(error, "response", None)
    organisation = to.partition("/")[0]
    known = {
        401: "the Hub does not accept this login; run 'hf auth login', or set HF_TOKEN to a token that may write",
        403: f"this login may not write to {organisation}; use a token of a member of {organisation} that may write",
        404: f"the Hub finds no {to}, or hides it from this login; check the name, and that {organisation} exists",
    }
    if response is not None and response.status_code in known:
        return known[response.status_code]
    said = getattr(error, "server_message", None) or str(error)
    said = " ".join(said.split())[:300].rstrip(".")
    if response is not None:
        return f"the Hub answers {response.status_code}, {said}"
    unreachable = isinstance(error, (ConnectionError, errors.HTTPError))  # type: ignore[attr-defined]
    return f"the Hub cannot be reached, {said}" if unreachable else said
