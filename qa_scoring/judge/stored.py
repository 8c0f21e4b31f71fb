"""What a judge's files say beside its weights: threshold and temperature, changed in place or in a copy."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from qa_scoring.errors import InputError
from qa_scoring.judge.linear import FILE as LINEAR_FILE
from qa_scoring.judge.linear import read_linear, save_linear
from qa_scoring.judge.matching_judge import HEAD, change_head

CONFIG = "config.json"


def store_decision(folder: Path, threshold: float, temperature: float, *, out: Path | None = None) -> Path:
    """Write threshold and temperature into a judge's files; a run that is interrupted leaves the old or the new ones.

    Args:
        folder: Holds a judge of any kind.
        threshold: The least probability of a correct answer, 0 to 1.
        temperature: What logits are divided by, above 0.
        out: Where a copy with the new values goes, which must not be there yet; None changes the folder itself.

    Returns:
        The folder with the new values.

    Raises:
        InputError: The folder holds no judge, ``out`` is there already, or something cannot be written.
    """
    file, change = _kind(folder)
    place = folder if out is None else out
    try:
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            if out.exists():
                raise InputError(f"{out} is there already; name a folder that is not.")
        # on the file system of what is replaced, which a rename does not leave
        with tempfile.TemporaryDirectory(dir=folder if out is None else out.parent, prefix=".judge-") as name:
            made = Path(name) / "judge"
            if out is None:
                made.mkdir()
                shutil.copy(folder / file, made)
                change(made, threshold, temperature)
                (made / file).replace(folder / file)
            else:
                shutil.copytree(folder, made)
                change(made, threshold, temperature)
                made.rename(out)
    except OSError as error:
        raise InputError(f"The judge cannot be written to {place}: {error.strerror or error}.") from error
    return place


def _kind(folder: Path) -> tuple[str, Callable[[Path, float, float], None]]:
    for file, change in ((HEAD, _change_matching), (LINEAR_FILE, _change_linear), (CONFIG, _change_network)):
        if (folder / file).is_file():
            return file, change
    raise InputError(f"{folder} holds no judge; expected {HEAD}, {LINEAR_FILE} or {CONFIG}.")


def _change_matching(folder: Path, threshold: float, temperature: float) -> None:
    change_head(folder, {"threshold": threshold, "temperature": temperature})


def _change_linear(folder: Path, threshold: float, temperature: float) -> None:
    weights = read_linear(folder / LINEAR_FILE)
    save_linear(replace(weights, threshold=threshold, temperature=temperature), folder)


def _change_network(folder: Path, threshold: float, temperature: float) -> None:
    path = folder / CONFIG
    values = json.loads(path.read_text(encoding="utf-8"))
    values |= {"threshold": threshold, "logit_temperature": temperature}
    path.write_text(json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
