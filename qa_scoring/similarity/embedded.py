"""The embedded model: a base encoder as it is, and the head that was trained on what it reads."""

from __future__ import annotations

from pathlib import Path

from qa_scoring.encoders.base_model import FILES, SHA256, base_model_folder, load_encoder
from qa_scoring.encoders.hub import check_usable
from qa_scoring.encoders.scorers import Pair, Scorer
from qa_scoring.errors import InputError
from qa_scoring.extras import distribution_version

HEAD = "head.safetensors"
EMBEDDED = Path(__file__).parent / "embedded"


def load_embedded(
    folder: Path = EMBEDDED,
    *,
    base: str | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    max_length: int | None = None,
    batch_size: int | None = None,
) -> Scorer[Pair]:
    """Put the embedded model together, or one that was trained like it.

    Args:
        folder: Holds ``head.safetensors``, whose metadata has ``name``, ``max_length`` and ``base_sha256``.
        base: Folder of the base model; None looks for it.
        device: Where the encoder runs.
        dtype: The torch type of the encoder's weights; the head is in float32.
        max_length: Longest text in tokens; None takes the model's own.
        batch_size: Texts per batch; None fills batches by tokens.

    Returns:
        The scorer.

    Raises:
        InputError: The head is broken, does not fit the base model, or the base has fewer positions than asked for.
        MissingPackageError: The base model is not there.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    from qa_scoring.encoders.reading import TextReader
    from qa_scoring.similarity.interaction import (  # imports torch
        FEATURES_PER_LAYER,
        Head,
        InteractionScorer,
        PairReader,
    )

    path = folder / HEAD
    try:
        with safe_open(path, framework="pt") as file:
            facts = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        layers, dimensions, rank = tensors["down"].shape
        size = tensors["mean"].numel() - FEATURES_PER_LAYER * layers
        hidden = tensors["hidden.bias"].numel()
        head = Head(size, dimensions, layers=[0] * layers, rank=rank, hidden=hidden)
        head.load_state_dict(tensors)
        name, longest = facts["name"], int(facts["max_length"])
    except (OSError, SafetensorError, KeyError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is not a head that 'qa-scoring similarity train' made: {reason}.") from error
    where = base_model_folder(base, facts.get("base_sha256", SHA256))
    encoder, tokenizer = load_encoder(where)
    check_usable(str(where), encoder, tokenizer, max_length)
    encoder = encoder.to(device=device, dtype=getattr(torch, dtype))
    reader = PairReader(TextReader(encoder, tokenizer, max_length=max_length or longest, batch_size=batch_size))
    if (reader.size, encoder.config.hidden_size) != (size, dimensions):
        raise InputError(
            f"{path} is for {size} figures of a pair and {dimensions} dimensions; {where} gives {reader.size} and "
            f"{encoder.config.hidden_size}."
        )
    return InteractionScorer(
        reader, head.to(device).eval(), facts={"model": name, "transformers": distribution_version("transformers")}
    )


def embedded_files(folder: Path = EMBEDDED) -> list[Path]:
    """List the files that the embedded model is put together from.

    Args:
        folder: As in ``load_embedded``.

    Returns:
        The head and the files of its base.

    Raises:
        InputError: The head cannot be read.
        MissingPackageError: The base model is not there.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / HEAD, framework="pt") as file:
            digest = (file.metadata() or {}).get("base_sha256", SHA256)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{folder / HEAD} cannot be read: {error}.") from error
    where = base_model_folder(None, digest)
    return [folder / HEAD, *(where / name for name in FILES)]
