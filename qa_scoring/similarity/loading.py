"""Similarity models by name: a Hub id, a local folder, or a name of this project."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from qa_scoring.encoders.cache import CachedScorer, ScoreCache, cache_folder
from qa_scoring.encoders.devices import DTYPES, LOADING, choose_device
from qa_scoring.encoders.hub import cannot_load, check_usable, commit_of, longest_input
from qa_scoring.encoders.identity import files_digest, hub_commit, model_files
from qa_scoring.encoders.scorers import Pair, Scorer
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version, require
from qa_scoring.similarity.bertscore import load_bertscore
from qa_scoring.similarity.bi_encoder import load_bi_encoder
from qa_scoring.similarity.embedded import EMBEDDED, HEAD, embedded_files, load_embedded
from qa_scoring.similarity.models import NAMED_MODELS

SCORERS = ("cross-encoder", "bi-encoder", "bertscore")
BACKENDS = {"torch": DTYPES, "onnx": ("float32", "int8")}  # and their dtypes
ACTIVATIONS = ("sigmoid", "identity")


@dataclass(frozen=True)
class ScorerSettings:
    """What a scorer was asked for, checked: equal ones share one model.

    Args:
        scorer: As in ``load_scorer``, like all that follow.
        model: Hub id, folder, or ``"embedded"``.
        revision: With ``cache_dir`` the commit.
        layer: None for the one that is known to suit the model.
        activation: None for the model's own.
        label: None for a model with one.
        backend: One of ``BACKENDS``.
        dtype: One of the backend's.
        max_length: None for the model's own.
        batch_size: None for batches by tokens.
        device: Of torch.
        files: With ``cache_dir`` the digest of a local model's files; None otherwise.
        exports: Where models in other formats are kept; None for nowhere.
    """

    scorer: str
    model: str
    revision: str | None
    layer: int | None
    activation: str | None
    label: str | int | None
    backend: str
    dtype: str
    max_length: int | None
    batch_size: int | None
    device: str
    files: str | None = None
    exports: Path | None = field(default=None, compare=False)

    def key(self) -> dict[str, object]:
        """Return everything that changes a score: also the versions of what computes it, not where it is computed."""
        settings = asdict(self)
        for name in ("batch_size", "device", "exports", *(() if self.files is None else ("model",))):
            del settings[name]
        packages = ["torch", "transformers", "tokenizers", "sentence-transformers"]
        if self.backend == "onnx":
            packages.append("onnxruntime")
        return settings | {"versions": {name: distribution_version(name) for name in packages}}


def load_scorer(
    scorer: str,
    model: str,
    *,
    revision: str | None = None,
    layer: int | None = None,
    activation: str | None = None,
    label: str | int | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    backend: str = "torch",
    max_length: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Scorer[Pair]:
    """Load a scorer; metrics that ask for the same one share it.

    Args:
        scorer: ``"cross-encoder"``, ``"bi-encoder"`` or ``"bertscore"``.
        model: A name of ``NAMED_MODELS``, a Hub id, or a local folder.
        revision: Branch, tag or commit on the Hub.
        layer: Which layer BERTScore reads, from 0; None takes the one that is known to suit the model.
        activation: ``"sigmoid"`` or ``"identity"`` in place of what the model's configuration says (cross-encoder).
        label: Of a cross-encoder with two or more labels (NLI), the name or index of the one whose softmax
            probability is the score.
        batch_size: Pairs per batch; None fills batches by tokens.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``; with ``backend="onnx"`` also ``"int8"``.
        backend: ``"torch"``, or ``"onnx"`` (cross-encoders on the CPU).
        max_length: Longest input in tokens; None takes the model's own.
        cache_dir: Folder that keeps scores; a scorer whose scores are all there never loads its model.

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
    if label is not None and (isinstance(label, bool) or not isinstance(label, (str, int)) or label == ""):
        raise parameter_error("label", "None, or the name or index of one of the model's labels", label)
    if label is not None and scorer != "cross-encoder":
        raise InputError(f"The argument 'label' is for cross-encoders with two or more labels; got scorer={scorer!r}.")
    if label is not None and activation is not None:
        raise InputError(
            "The score of a label is its softmax probability: pass 'label' (models with two or more labels) or "
            "'activation' (models with one), not both."
        )
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise parameter_error("backend", " or ".join(map(repr, BACKENDS)), backend)
    if backend == "onnx" and scorer != "cross-encoder":
        raise InputError(f"backend='onnx' is for scorer='cross-encoder'; got scorer={scorer!r}.")
    if backend == "onnx" and device not in (None, "cpu"):
        raise InputError(f"backend='onnx' runs on the CPU; got device={device!r}.")
    if dtype is not None and dtype not in BACKENDS[backend]:
        hint = " (backend='onnx' has int8)" if dtype == "int8" else ""
        expected = f"None or one of {', '.join(map(repr, BACKENDS[backend]))}{hint}"
        raise parameter_error("dtype", expected, dtype)
    for name, value, least in (("batch_size", batch_size, 1), ("max_length", max_length, 8), ("layer", layer, 0)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise parameter_error(name, f"None or an integer of at least {least}", value)
    source = model if named is None or named.hub_id is None else named.hub_id
    settings = ScorerSettings(
        scorer=scorer,
        model=source,
        revision=revision,
        layer=named.layer if layer is None and named is not None else layer,
        activation=activation,
        label=label,
        backend=backend,
        dtype=dtype or "float32",
        max_length=max_length,
        batch_size=batch_size,
        device=choose_device(device) if backend == "torch" else "cpu",
    )
    return _load(settings) if cache_dir is None else _load_cached(settings, cache_folder(cache_dir))


def _load_cached(settings: ScorerSettings, folder: Path) -> Scorer[Pair]:
    """Return a scorer that loads its model only for scores that are not in the folder."""
    cache = ScoreCache(folder)
    settings = replace(_identified(settings), exports=folder)
    scorer = CachedScorer(cache, settings.key(), lambda: _load(settings))
    if settings.files is not None and not _has_head(settings):
        scorer.facts = {**scorer.facts, "model": settings.model}  # its files are the key, not its place
    return scorer


def _identified(settings: ScorerSettings) -> ScorerSettings:
    """Say which model is meant: a commit on the Hub, or these very files."""
    if _has_head(settings) or Path(settings.model).is_dir():
        return replace(settings, files=_local_digest(settings))
    organization = {"cross-encoder": "cross-encoder", "bi-encoder": "sentence-transformers"}.get(settings.scorer)
    commit = hub_commit(settings.model, settings.revision, organization=organization)
    if commit is None:
        _load(settings)  # says why it cannot be loaded
        raise InputError(f"The commit of the model {settings.model!r} is not known; it cannot be used with cache_dir.")
    return replace(settings, revision=commit)


def _export_folder(settings: ScorerSettings) -> Path | None:
    """Return where the model in ONNX is kept, by everything that makes it; None without ``cache_dir``."""
    if settings.exports is None:
        return None
    key = settings.key()
    made_of = {name: key.get(name) for name in ("model", "revision", "files", "dtype", "versions")}
    digest = hashlib.blake2b(json.dumps(made_of, sort_keys=True).encode(), digest_size=16).hexdigest()
    return settings.exports / f"onnx-{digest}"


def _local_digest(settings: ScorerSettings) -> str:
    model = settings.model
    return files_digest(embedded_files(_head_folder(model)) if _has_head(settings) else model_files(Path(model)))


def _has_head(settings: ScorerSettings) -> bool:
    """Whether a model is the embedded one, or one that was trained like it."""
    model = settings.model
    return settings.scorer == "cross-encoder" and (model in NAMED_MODELS or (Path(model) / HEAD).is_file())


def _head_folder(model: str) -> Path:
    return EMBEDDED if model in NAMED_MODELS else Path(model)


def _load(settings: ScorerSettings) -> Scorer[Pair]:
    with LOADING:
        return _load_once(settings)


@lru_cache(maxsize=4)
def _load_once(settings: ScorerSettings) -> Scorer[Pair]:
    scorer = _read(settings)
    _check_unchanged(settings)
    return scorer


def _check_unchanged(settings: ScorerSettings) -> None:
    """Refuse a model that is not the one whose digest was taken before it was loaded."""
    if settings.files is not None and settings.files != _local_digest(settings):
        raise InputError(
            f"The files of {settings.model} changed while they were read. Run again when they are complete."
        )


def _read(settings: ScorerSettings) -> Scorer[Pair]:
    import torch

    from qa_scoring.similarity.cross_encoder import CrossEncoderScorer  # imports torch

    model, revision, max_length = settings.model, settings.revision, settings.max_length
    if settings.scorer == "bi-encoder":
        return load_bi_encoder(
            model,
            revision=revision,
            batch_size=settings.batch_size,
            device=settings.device,
            dtype=getattr(torch, settings.dtype),
            max_length=max_length,
        )
    if settings.scorer == "bertscore":
        return load_bertscore(
            model,
            revision=revision,
            layer=settings.layer,
            batch_size=settings.batch_size,
            device=settings.device,
            dtype=getattr(torch, settings.dtype),
            max_length=max_length,
        )
    if _has_head(settings):
        for name, value in (("activation", settings.activation), ("label", settings.label)):
            if value is not None:
                raise InputError(f"The argument {name!r} is for models of the Hub's form; {model} has its own head.")
        if settings.backend == "onnx":
            raise InputError(f"backend='onnx' is for models of the Hub's form; {model} runs with backend='torch'.")
        return load_embedded(
            _head_folder(model),
            device=settings.device,
            dtype=settings.dtype,
            max_length=max_length,
            batch_size=settings.batch_size,
        )
    loaded, tokenizer, own_length, prompt = _cross_encoder(model, revision, settings.activation)
    source: dict[str, Any] = {
        "model": model,
        "revision": commit_of(model, revision, organization="cross-encoder"),
        "transformers": distribution_version("transformers"),
    }
    check_usable(model, loaded, tokenizer, max_length)
    if settings.backend == "onnx":
        from qa_scoring.similarity.onnx_network import load_onnx

        _check_unchanged(settings)  # what is exported may be kept
        loaded = load_onnx(loaded, tokenizer, settings.dtype, keep_in=_export_folder(settings))
        source |= {"backend": "onnx", "onnxruntime": distribution_version("onnxruntime")}
    else:
        loaded = loaded.to(device=settings.device, dtype=getattr(torch, settings.dtype))
    return CrossEncoderScorer(
        loaded,
        tokenizer,
        activation=settings.activation or "sigmoid",
        label=settings.label,
        max_length=max_length or own_length,
        batch_size=settings.batch_size,
        prompt=prompt,
        facts=source,
    )


def _cross_encoder(model: str, revision: str | None, activation: str | None) -> tuple[Any, Any, int, str]:
    """Load a cross-encoder whose output is a score; return it, its tokenizer, its longest input and its prompt."""
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
    own_length = int(min(encoder.tokenizer.model_max_length, positions))
    prompts = getattr(encoder, "prompts", {})  # sentence-transformers below 5.3 has none for cross-encoders
    prompt = prompts.get(getattr(encoder, "default_prompt_name", None)) or ""
    return encoder.model.eval(), encoder.tokenizer, own_length, prompt
