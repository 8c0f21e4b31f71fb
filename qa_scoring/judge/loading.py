"""Judges by name: the shipped one, a Hub id, or a local folder, whichever kind of judge it holds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from qa_scoring.encoders.cache import CachedScorer, ScoreCache, cache_folder
from qa_scoring.encoders.devices import LOADING, check_running, choose_device
from qa_scoring.encoders.identity import files_digest, hub_commit, model_files
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version, require
from qa_scoring.judge.judges import Judge, Reranks
from qa_scoring.judge.linear import FILE as LINEAR_FILE
from qa_scoring.judge.linear import load_linear_judge
from qa_scoring.judge.matching_judge import EMBEDDED, HEAD, load_matching_judge, matching_files
from qa_scoring.signature import Value

EMBEDDED_NAME = "embedded"


@dataclass(frozen=True)
class JudgeSettings:
    """What a judge was asked for, checked: equal ones share one model.

    Args:
        kind: ``"matching"``, ``"linear"`` or ``"network"``.
        model: Hub id, folder, or ``"embedded"``.
        revision: With ``cache_dir`` the commit.
        dtype: Of torch.
        max_length: None for the judge's own.
        batch_size: None for batches by tokens.
        device: Of torch.
        files: Of a local judge the digest of its files, so that a judge that was changed is read again.
    """

    kind: str
    model: str
    revision: str | None
    dtype: str
    max_length: int | None
    batch_size: int | None
    device: str
    files: str | None

    def key(self) -> dict[str, object]:
        """Return everything that changes a score: also the versions of what computes it, not where it is computed."""
        settings = asdict(self)
        for name in ("batch_size", "device", *(() if self.files is None else ("model",))):
            del settings[name]
        packages = ("torch", "transformers", "tokenizers", "qa-scoring")
        return settings | {"judge": True, "versions": {name: distribution_version(name) for name in packages}}


_TRAITS = "traits"


class CachedJudge(CachedScorer, Reranks):
    """A judge that asks another one only for items whose probabilities are not on disk.

    Args:
        cache: Where probabilities are kept.
        settings: The judge.
    """

    def __init__(self, cache: ScoreCache, settings: JudgeSettings) -> None:
        super().__init__(cache, settings.key(), lambda: _WithTraits(_load(settings)))
        facts = dict(self.facts)
        traits = json.loads(str(facts.pop(_TRAITS)))
        self.reads_questions: bool = traits["reads_questions"]
        self.reads_all_references: bool = traits["reads_all_references"]
        self.threshold: float = traits["threshold"]
        named = settings.files is None or settings.kind == "matching"
        self.facts = facts if named else facts | {"model": settings.model}  # its files are the key, not its place


class _WithTraits:
    """A judge whose facts hold what ``CachedJudge`` must know of it without loading it."""

    def __init__(self, judge: Judge) -> None:
        self.score = judge.score
        traits = {name: getattr(judge, name) for name in ("reads_questions", "reads_all_references", "threshold")}
        self.facts: Mapping[str, Value] = {**judge.facts, _TRAITS: json.dumps(traits)}


def load_judge(
    model: str = EMBEDDED_NAME,
    *,
    revision: str | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    max_length: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Judge:
    """Load a judge; metrics that ask for the same one share it.

    Args:
        model: ``"embedded"``, a Hub id, or the folder of a judge.
        revision: Branch, tag or commit on the Hub.
        batch_size: Inputs per batch; None fills batches by tokens.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``.
        max_length: Longest input in tokens; None takes the judge's own.
        cache_dir: Folder that keeps probabilities; a judge whose probabilities are all there never loads its model.

    Returns:
        The judge; its method ``rerank`` orders candidates by a reference.

    Raises:
        InputError: An argument is wrong, or the judge cannot be loaded or used.
        MissingPackageError: The embedded judge's base is not there.

    Example:
        >>> judge = load_judge()
        >>> judge.rerank("Who found radium?", "Marie Curie", ["Niels Bohr", "It was Curie."])[0][0]
        1
    """
    require("torch", extra="ava", purpose="ava_metric")
    if not isinstance(model, str) or not model:
        raise parameter_error("model", "'embedded', a Hub id or a local folder", model)
    folder = EMBEDDED if model == EMBEDDED_NAME else Path(model)
    if revision is not None and (not isinstance(revision, str) or not revision):
        raise parameter_error("revision", "None, or a branch, tag or commit", revision)
    if revision is not None and (model == EMBEDDED_NAME or folder.is_dir()):
        what = "The embedded judge ships with this package; it" if folder == EMBEDDED else f"{model} is a folder, which"
        raise InputError(f"{what} has no 'revision'; models on the Hub have.")
    check_running(dtype, batch_size, max_length)
    kind = _kind(model, folder, revision)
    settings = JudgeSettings(
        kind=kind,
        model=model,
        revision=revision,
        dtype=dtype or "float32",
        max_length=max_length,
        batch_size=batch_size,
        device=choose_device(device),
        files=_digest(kind, folder) if kind == "matching" or folder.is_dir() else None,
    )
    if cache_dir is None:
        return _load(settings)
    if settings.files is None:
        commit = hub_commit(model, revision, organization=None, file=LINEAR_FILE if kind == "linear" else "config.json")
        if commit is None:
            _load(settings)  # says why it cannot be loaded
            raise InputError(f"The commit of the judge {model!r} is not known; it cannot be used with cache_dir.")
        settings = replace(settings, revision=commit)
    return CachedJudge(ScoreCache(cache_folder(cache_dir)), settings)


def _kind(model: str, folder: Path, revision: str | None) -> str:
    """Say which kind of judge a model is, by the files it has."""
    if model == EMBEDDED_NAME or (folder / HEAD).is_file():
        return "matching"
    if folder.is_dir():
        if (folder / LINEAR_FILE).is_file():
            return "linear"
        if not (folder / "config.json").is_file():
            raise InputError(
                f"The folder {folder} holds no judge; expected {HEAD}, {LINEAR_FILE}, or config.json and its weights, "
                f"which `qa-scoring judge train` writes."
            )
        return "network"
    found = hub_commit(model, revision, organization=None, file=LINEAR_FILE)
    return "network" if found is None else "linear"


def _digest(kind: str, folder: Path) -> str:
    return files_digest(matching_files(folder) if kind == "matching" else model_files(folder))


def _load(settings: JudgeSettings) -> Judge:
    with LOADING:
        return _load_once(settings)


@lru_cache(maxsize=4)
def _load_once(settings: JudgeSettings) -> Judge:
    judge = _read(settings)
    folder = EMBEDDED if settings.model == EMBEDDED_NAME else Path(settings.model)
    if settings.files is not None and settings.files != _digest(settings.kind, folder):
        raise InputError(
            f"The files of {settings.model} changed while they were read. Run again when they are complete."
        )
    return judge


def _read(settings: JudgeSettings) -> Judge:
    options = {name: getattr(settings, name) for name in ("device", "dtype", "max_length", "batch_size")}
    if settings.kind == "matching":
        folder = EMBEDDED if settings.model == EMBEDDED_NAME else Path(settings.model)
        return load_matching_judge(folder, **options)
    if settings.kind == "linear":
        return load_linear_judge(settings.model, revision=settings.revision)
    from qa_scoring.judge.network_judge import load_network_judge

    return load_network_judge(settings.model, revision=settings.revision, **options)
