"""Where models are looked for on the Hub, and the errors for those that cannot be loaded or used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from qa_scoring.errors import InputError, parameter_error


def cannot_load(model: str, revision: str | None, error: Exception) -> InputError:
    """Build the error for a model that cannot be loaded.

    Args:
        model: Hub id or folder.
        revision: The revision asked for.
        error: What went wrong.

    Returns:
        The error, which says what to fetch and how to point at a folder.
    """
    reason = " ".join(str(error).split())[:300].rstrip(".")
    if Path(model).is_dir():
        return InputError(
            f"The folder {model} holds no model that can be loaded: {reason}. It needs config.json, the tokenizer's "
            f"files and model.safetensors (pickled weights are refused)."
        )
    if model.startswith(("/", ".", "~")) or model.count("/") > 1:  # no Hub id looks like that
        return InputError(f"There is no folder {model}; pass a Hub id, or the folder of a model.")
    at = f" at revision {revision!r}" if revision else ""
    return InputError(
        f"The model {model!r}{at} cannot be loaded: {reason}. Without a hub, fetch config.json, the tokenizer's files "
        f"and model.safetensors of {model} elsewhere and pass model='/path/to/the/folder'."
    )


def check_usable(model: str, network: Any, tokenizer: Any, max_length: int | None) -> None:
    """Refuse a loaded model that would give meaningless scores or fail half-way.

    Args:
        model: Hub id or folder.
        network: The loaded torch module.
        tokenizer: The loaded tokenizer.
        max_length: Longest input asked for, in tokens; None for the model's own.

    Raises:
        InputError: The tokenizer knows no words or is none of transformers, or the model has fewer positions than
            asked for.
    """
    if not hasattr(tokenizer, "all_special_tokens"):  # static embeddings, models of images
        raise InputError(
            f"The model {model!r} reads its input with a {type(tokenizer).__name__} that is no tokenizer of "
            f"transformers. Choose a model that transformers loads, such as BERT or MPNet."
        )
    if len(tokenizer.get_vocab()) <= len(set(tokenizer.all_special_tokens)):  # what transformers makes of no files
        raise InputError(f"The model {model!r} has no tokenizer: add its files (tokenizer.json, or a vocabulary).")
    positions = longest_input(network)
    if max_length is not None and positions is not None and max_length > positions:
        raise parameter_error("max_length", f"at most {positions}, the positions of {model}", max_length)


def longest_input(network: Any) -> int | None:
    """Return how many tokens a network has positions for.

    Args:
        network: The loaded torch module.

    Returns:
        The number of tokens; None if it has no table of positions.
    """
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            # RoBERTa counts positions from the one after the padding
            return int(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return None


def hub_places(model: str, organization: str | None) -> tuple[tuple[str, ...], str | None]:
    """Say where a model is looked for.

    Args:
        model: Hub id.
        organization: Where sentence-transformers looks for a model without one; None if transformers loads it.

    Returns:
        The names on the Hub, the first that is there counts; and the folder of the cache, None for the usual one.

    Example:
        >>> hub_places("stsb-roberta-large", "cross-encoder")[0]
        ('cross-encoder/stsb-roberta-large', 'stsb-roberta-large')
    """
    if organization is None:
        return (model,), None
    names = (model,) if "/" in model else (f"{organization}/{model}", model)
    return names, os.environ.get("SENTENCE_TRANSFORMERS_HOME")


def commit_of(model: str, revision: str | None, *, organization: str | None) -> str | None:
    """Return the commit of a model that has just been loaded from the Hub or its cache.

    Args:
        model: Hub id or folder.
        revision: The revision asked for.
        organization: Where sentence-transformers looks for a model without one; None if transformers loaded it.

    Returns:
        The commit, from the folder of the cache; for a local folder None.
    """
    from huggingface_hub import try_to_load_from_cache

    if Path(model).is_dir():
        return None
    names, cache = hub_places(model, organization)
    for name in names:
        file = try_to_load_from_cache(name, "config.json", cache_dir=cache, revision=revision)
        if isinstance(file, str):
            return Path(file).parent.name
    return revision
