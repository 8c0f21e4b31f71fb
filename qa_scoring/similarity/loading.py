"""Similarity models by name: a Hub id, a local folder, or a name of this project."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version, require
from qa_scoring.similarity.bertscore import load_bertscore
from qa_scoring.similarity.bi_encoder import load_bi_encoder
from qa_scoring.similarity.embedded import EMBEDDED, HEAD, load_embedded
from qa_scoring.similarity.models import NAMED_MODELS, cannot_load, check_usable, commit_of, longest_input
from qa_scoring.similarity.pairs import PairScorer

SCORERS = ("cross-encoder", "bi-encoder", "bertscore")
DEVICES = ("cuda", "mps", "cpu")
DTYPES = ("float32", "bfloat16", "float16")
ACTIVATIONS = ("sigmoid", "identity")


def load_scorer(
    scorer: str,
    model: str,
    *,
    revision: str | None = None,
    layer: int | None = None,
    activation: str | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    max_length: int | None = None,
) -> PairScorer:
    """Load a scorer; metrics that ask for the same one share it.

    Args:
        scorer: ``"cross-encoder"``, ``"bi-encoder"`` or ``"bertscore"``.
        model: A name of ``NAMED_MODELS``, a Hub id, or a local folder.
        revision: Branch, tag or commit on the Hub.
        layer: Which layer BERTScore reads, from 0; None takes the one that is known to suit the model.
        activation: ``"sigmoid"`` or ``"identity"`` in place of what the model's configuration says (cross-encoder).
        batch_size: Pairs per batch; None fills batches by tokens.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``.
        max_length: Longest input in tokens; None takes the model's own.

    Returns:
        The scorer.

    Raises:
        InputError: An argument is wrong, or the model cannot be loaded or used.
        MissingPackageError: The embedded model's base is not there.
    """
    require("torch", extra="sas", purpose="sas_metric")
    if scorer not in SCORERS:
        raise parameter_error("scorer", " or ".join(map(repr, SCORERS)), scorer)
    if not isinstance(model, str) or not model:
        raise parameter_error("model", "a name, a Hub id or a local folder", model)
    named = NAMED_MODELS.get(model)
    if named is not None and named.scorer != scorer:
        raise InputError(f"The model {model!r} needs scorer={named.scorer!r}; got {scorer!r}.")
    if revision is not None and (not isinstance(revision, str) or not revision):
        raise parameter_error("revision", "None, or a branch, tag or commit", revision)
    if revision is not None and named is not None and named.hub_id is None:
        raise InputError("The embedded model ships with this package; it has no 'revision'.")
    if revision is not None and Path(model).is_dir():
        raise InputError(f"{model} is a folder, which has no 'revision'; models on the Hub have.")
    if activation not in (None, *ACTIVATIONS):
        raise parameter_error("activation", f"None, {' or '.join(map(repr, ACTIVATIONS))}", activation)
    if activation is not None and scorer != "cross-encoder":
        given = "a bi-encoder gives the cosine" if scorer == "bi-encoder" else "BERTScore gives F1"
        raise InputError(f"The argument 'activation' is for cross-encoders; {given}, clipped at 0.")
    if layer is not None and scorer != "bertscore":
        raise InputError(f"The argument 'layer' is for scorer='bertscore'; got scorer={scorer!r}.")
    if dtype not in (None, *DTYPES):
        raise parameter_error("dtype", f"None or one of {', '.join(map(repr, DTYPES))}", dtype)
    for name, value, least in (("batch_size", batch_size, 1), ("max_length", max_length, 8), ("layer", layer, 0)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise parameter_error(name, f"None or an integer of at least {least}", value)
    source = model if named is None or named.hub_id is None else named.hub_id
    layer = named.layer if layer is None and named is not None else layer
    return _load(
        scorer, source, revision, layer, activation, batch_size, _device(device), dtype or "float32", max_length
    )


@lru_cache(maxsize=4)
def _load(
    scorer: str,
    model: str,
    revision: str | None,
    layer: int | None,
    activation: str | None,
    batch_size: int | None,
    device: str,
    dtype: str,
    max_length: int | None,
) -> PairScorer:
    import torch

    from qa_scoring.similarity.cross_encoder import CrossEncoderScorer  # imports torch

    torch_dtype = getattr(torch, dtype)
    if scorer == "bi-encoder":
        return load_bi_encoder(
            model, revision=revision, batch_size=batch_size, device=device, dtype=torch_dtype, max_length=max_length
        )
    if scorer == "bertscore":
        return load_bertscore(
            model,
            revision=revision,
            layer=layer,
            batch_size=batch_size,
            device=device,
            dtype=torch_dtype,
            max_length=max_length,
        )
    if model in NAMED_MODELS or (Path(model) / HEAD).is_file():
        if activation is not None:
            raise InputError(
                f"The argument 'activation' is for models of the Hub's form; {model} has its own, sigmoid."
            )
        return load_embedded(
            EMBEDDED if model in NAMED_MODELS else Path(model),
            device=device,
            dtype=dtype,
            max_length=max_length,
            batch_size=batch_size,
        )
    loaded, tokenizer, own_length = _cross_encoder(model, revision, activation)
    check_usable(model, loaded, tokenizer, max_length)
    return CrossEncoderScorer(
        loaded.to(device=device, dtype=torch_dtype),
        tokenizer,
        activation=activation or "sigmoid",
        max_length=max_length or own_length,
        batch_size=batch_size,
        facts={
            "model": model,
            "revision": commit_of(model, revision, organization="cross-encoder"),
            "transformers": distribution_version("transformers"),
        },
    )


def _device(device: str | None) -> str:
    import torch

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device is None:
        return next(name for name in DEVICES if available[name])
    name, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if name not in DEVICES or (number and not number.isdecimal()):
        raise parameter_error("device", f"None or one of {', '.join(map(repr, DEVICES))}", device)
    if not available[name] or (name == "cuda" and int(number or 0) >= torch.cuda.device_count()):
        there = ", ".join(name for name in DEVICES if available[name])
        raise InputError(f"The device {device!r} is not there; this machine has {there}.")
    return device


def _cross_encoder(model: str, revision: str | None, activation: str | None) -> tuple[Any, Any, int]:
    """Load a cross-encoder whose output is a score; return it, its tokenizer and its longest input."""
    import torch
    from safetensors import SafetensorError
    from sentence_transformers import CrossEncoder

    try:
        encoder = CrossEncoder(
            model,
            revision=revision,
            device="cpu",
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},  # never a pickle
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise cannot_load(model, revision, error) from error
    kinds = encoder.config.architectures or []
    if kinds and not any(kind.endswith("ForSequenceClassification") for kind in kinds):
        raise InputError(
            f"{model} is a {kinds[0]}, which has no trained layer that scores pairs. Choose a cross-encoder, or pass "
            f"scorer='bi-encoder' for a sentence encoder."
        )
    if not encoder.tokenizer.is_fast:
        raise InputError(
            f"The tokenizer of {model}, {type(encoder.tokenizer).__name__}, does not say what it cuts. Choose a "
            f"cross-encoder with a fast tokenizer (tokenizer.json)."
        )
    labels = encoder.config.num_labels
    if labels == 1 and activation is None and not isinstance(encoder.activation_fn, torch.nn.Sigmoid):
        raise InputError(
            f"{model} says that its output is {type(encoder.activation_fn).__name__}, which is no score from 0 to 1 "
            f"(ranking models do). Pass activation='sigmoid' to make it one."
        )
    positions = longest_input(encoder.model) or getattr(encoder.config, "max_position_embeddings", 512)
    return encoder.model.eval(), encoder.tokenizer, int(min(encoder.tokenizer.model_max_length, positions))
