"""What a model is, whatever its name: the commit on the Hub, or a digest of the files that scores depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from qa_scoring.encoders.hub import hub_places
from qa_scoring.errors import InputError

# What a loader reads: configuration, tokenizer, weights. Not read: documentation, pickles, other formats.
_READ = {".json", ".jsonl", ".txt", ".model", ".spm", ".vocab", ".bpe", ".codes", ".jinja", ".safetensors"}


def model_files(folder: Path) -> list[Path]:
    """List the files of a model's folder that its scores depend on.

    Args:
        folder: Of a transformers or sentence-transformers model.

    Returns:
        Configuration, tokenizer and weights, of the folder and of the modules that ``modules.json`` names, sorted.

    Raises:
        InputError: ``modules.json`` cannot be read.
    """
    folders = {folder}
    if (folder / "modules.json").is_file():
        try:
            modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
            folders |= {folder / module["path"] for module in modules}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{folder / 'modules.json'} is no list of modules: {error}.") from error
    return sorted(
        file
        for part in folders
        if part.is_dir()
        for file in part.iterdir()
        if file.suffix in _READ and not file.name.startswith(".") and file.is_file()
    )


def files_digest(files: Iterable[Path]) -> str:
    """Digest files by name and content, not by place.

    Args:
        files: In a fixed order.

    Returns:
        BLAKE2b of 16 bytes, in hexadecimal.

    Raises:
        InputError: A file cannot be read.
    """
    total = hashlib.blake2b(digest_size=16)
    for path in files:
        try:
            state = path.stat()
            content = _content_digest(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
        name = path.name.encode()
        total.update(len(name).to_bytes(8, "big") + name + content)
    return total.hexdigest()


@lru_cache(maxsize=256)
def _content_digest(path: Path, *_state: int) -> bytes:
    """Digest a file; once per process for a file that nobody touched, because weights are large."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).digest()


def hub_commit(model: str, revision: str | None, *, organization: str | None, file: str = "config.json") -> str | None:
    """Ask the Hub, or its cache where the Hub is not there, which commit of a model would be loaded.

    Args:
        model: Hub id.
        revision: Branch, tag or commit; None for the main branch.
        organization: Where sentence-transformers looks for a model without one; None if transformers loads it.
        file: A file that the model has.

    Returns:
        The commit; None if the model, or the file in it, cannot be found.
    """
    from huggingface_hub import hf_hub_download

    names, cache = hub_places(model, organization)
    for name in names:
        try:
            return Path(hf_hub_download(name, file, revision=revision, cache_dir=cache)).parent.name
        except (OSError, ValueError):  # no such model, revision or file, no network; or no name of a model
            continue
    return None
