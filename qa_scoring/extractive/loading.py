"""Loads models for extractive question answering from the Hub or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qa_scoring.encoders.devices import check_running, choose_device
from qa_scoring.encoders.hub import cannot_load, check_usable
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import require


def load_reader(
    model: str,
    *,
    tokenizer: str | None = None,
    revision: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
) -> Any:
    """Load a model for extractive question answering with its tokenizer.

    Args:
        model: A Hub id, or a local folder.
        tokenizer: Hub id or folder of the tokenizer; None takes the model's.
        revision: Branch, tag or commit on the Hub.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``.

    Returns:
        An ``ExtractiveReader``.

    Raises:
        InputError: The model cannot be loaded, or was not trained for extractive question answering.
        MissingPackageError: torch or transformers is not installed.
    """
    require("torch", extra="sas", purpose="extractive question answering")
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    from qa_scoring.extractive.reader import ExtractiveReader  # imports torch

    if not isinstance(model, str) or not model:
        raise parameter_error("model", "a Hub id or a local folder", model)
    if revision is not None and Path(model).is_dir():
        raise InputError(f"{model} is a folder, which has no 'revision'; models on the Hub have.")
    check_running(dtype, None, None)
    place = choose_device(device)
    asked, at = model, revision
    load: Any = AutoModelForQuestionAnswering.from_pretrained  # whose result its types do not know
    try:
        network, found = load(
            model,
            revision=revision,
            use_safetensors=True,  # never a pickle
            trust_remote_code=False,
            output_loading_info=True,
        )
        if tokenizer is not None:
            asked, at = tokenizer, None
        words = AutoTokenizer.from_pretrained(asked, revision=at, trust_remote_code=False)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        # a TypeError is what transformers 4 makes of a tokenizer without files
        raise cannot_load(asked, at, error) from error
    if found["missing_keys"]:
        lacking = ", ".join(sorted(found["missing_keys"])[:3])
        raise InputError(
            f"{model} has no trained question-answering head: its weights lack {lacking}. Use a model that was trained "
            f"for extractive question answering, for example on SQuAD."
        )
    check_usable(model, network, words, None)
    return ExtractiveReader(network.to(device=place, dtype=getattr(torch, dtype or "float32")), words)
