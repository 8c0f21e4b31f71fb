"""The linear judge: four figures of the texts, a linear SVM, and Platt's sigmoid; saved as plain numbers.

From the paper (section 5.1): x1, whether the answer t includes the short answer s; x2, x3 and x4, the similarities
sim(r, t), sim(r, q) and sim(q, t), with sim(a, b) = 2 |tok(a) ∩ tok(b)| / (|tok(a)| + |tok(b)|). Ours: tok(a) is the
set of words of letters and digits, compatibility forms and case folded; s is included if its words stand in t one after
the other; where there is no short form, s is the reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring.config_files import FRACTION, POSITIVE, Rule, checked, key, plain_values
from qa_scoring.encoders.hub import cannot_load
from qa_scoring.encoders.scorers import Keep, Progress, Scores, Texts, keep_nothing
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import require
from qa_scoring.judge.inputs import Triple, triple
from qa_scoring.judge.judges import Reranks
from qa_scoring.signature import Value
from qa_scoring.text.normalize import casefold, fold_compatibility

FILE = "judge.json"
SCHEMA = "qa-scoring/linear-judge"
VERSION = 1
FEATURES = ("short-in-t", "sim-r-t", "sim-r-q", "sim-q-t")
_FOLDS = 5
_ITEMS_AT_ONCE = 10_000
_WORD = re.compile(r"\w+")

FloatArray = NDArray[np.float64]


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


_NUMBER: Rule = ("a number", _is_finite)
_WEIGHTS: Rule = (
    f"a list of {len(FEATURES)} numbers",
    lambda value: isinstance(value, (list, tuple)) and len(value) == len(FEATURES) and all(map(_is_finite, value)),
)


@dataclass(frozen=True, kw_only=True)
class LinearWeights:
    """All that a linear judge is: P = 1 / (1 + exp((a · (weights · x + intercept) + b) / temperature)).

    Args:
        schema: ``SCHEMA``.
        version: ``VERSION``.
        features: ``FEATURES``, in the order of the weights.
        weights: Of the SVM, one per feature.
        intercept: Of the SVM.
        platt_a: Slope of Platt's sigmoid, below 0 where larger distances mean "correct".
        platt_b: Its offset.
        threshold: An answer with at least this probability is correct, 0 to 1.
        temperature: What the logit is divided by, above 0.

    Source:
        Platt 1999, "Probabilistic outputs for support vector machines", section 2.2.
    """

    schema: str = key((repr(SCHEMA), lambda value: value == SCHEMA), SCHEMA)
    version: int = key((str(VERSION), lambda value: value == VERSION and not isinstance(value, bool)), VERSION)
    features: tuple[str, ...] = key((str(list(FEATURES)), lambda value: list(value) == list(FEATURES)), FEATURES)
    weights: tuple[float, ...] = key(_WEIGHTS)
    intercept: float = key(_NUMBER)
    platt_a: float = key(_NUMBER)
    platt_b: float = key(_NUMBER)
    threshold: float = key(FRACTION, 0.5)
    temperature: float = key(POSITIVE, 1.0)


class LinearJudge(Reranks):
    """Gives the probability that an answer is correct, given a question and one reference.

    Args:
        weights: What it is.
        facts: What the signature says of model and revision.
    """

    reads_questions = True
    reads_all_references = False

    def __init__(self, weights: LinearWeights, *, facts: Mapping[str, Value]) -> None:
        self.weights = weights
        self.threshold: float = weights.threshold
        self.facts: Mapping[str, Value] = {"judge": "linear", **facts, "temperature": weights.temperature}

    def score(self, items: Sequence[Texts], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score items of one reference; none is ever cut."""
        scores = np.empty(len(items))
        uncut = np.zeros(len(items), dtype=np.bool_)
        for start in progress(range(0, len(items), _ITEMS_AT_ONCE)):
            rows = range(start, min(start + _ITEMS_AT_ONCE, len(items)))
            scores[rows] = found = self._probabilities(features([triple(items[row]) for row in rows]))
            keep(rows, Scores(found, uncut[rows]))
        return Scores(scores, uncut)

    def _probabilities(self, table: FloatArray) -> FloatArray:
        distance = table @ np.array(self.weights.weights) + self.weights.intercept
        logit = -(self.weights.platt_a * distance + self.weights.platt_b) / self.weights.temperature
        sigmoid: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * logit))  # which cannot overflow
        return sigmoid


def features(triples: Sequence[Triple], shorts: Sequence[str | None] | None = None) -> FloatArray:
    """Compute the figures that the linear judge reads.

    Args:
        triples: n triples.
        shorts: n short forms of the references; None, or None in a place, takes the reference.

    Returns:
        Shape (n, 4), in the order of ``FEATURES``, each in [0, 1].

    Example:
        >>> features([Triple("Who found radium?", "Marie Curie", "It was Marie Curie.")]).round(3).tolist()
        [[1.0, 0.667, 0.0, 0.0]]

    Source:
        Vu & Moschitti 2021, section 5.1.
    """
    words: dict[str, list[str]] = {}

    def tokens(text: str) -> list[str]:
        if text not in words:
            words[text] = _WORD.findall(casefold(fold_compatibility(text)))
        return words[text]

    table = np.empty((len(triples), len(FEATURES)))
    for row, (question, reference, answer) in enumerate(triples):
        short = None if shorts is None else shorts[row]
        q, r, t = map(tokens, (question, reference, answer))
        included = _includes(t, r if short is None else tokens(short))
        table[row] = included, overlap(r, t), overlap(r, q), overlap(q, t)
    return table


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Compute the similarity of two texts by the words they share.

    Args:
        first: Words.
        second: Words.

    Returns:
        Twice the number of different words they share over the sum of their numbers of different words, from 0 to 1;
        0 if both are empty.

    Example:
        >>> overlap(["the", "red", "car"], ["the", "car"])
        0.8

    Source:
        Vu & Moschitti 2021, section 5.1: sim-text.
    """
    one, other = set(first), set(second)
    return 2 * len(one & other) / max(len(one) + len(other), 1)


def _includes(text: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words of a part stand in a text, one after the other."""
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(text)} "


def fit_linear(table: FloatArray, correct: Sequence[bool], weights: Sequence[float], *, seed: int = 0) -> LinearWeights:
    """Fit a linear SVM, and Platt's sigmoid on what it gives for the parts of the data that it has not seen.

    Args:
        table: Shape (n, 4), as ``features`` gives.
        correct: n labels.
        weights: n weights, what each row counts.
        seed: Of the SVM's solver.

    Returns:
        The fitted numbers.

    Raises:
        InputError: One of the two labels has fewer than two rows.
        MissingPackageError: scikit-learn is not installed.
    """
    svm = require("sklearn.svm", extra="ava", purpose="the linear judge's training")
    calibration = require("sklearn.calibration", extra="ava", purpose="the linear judge's training")
    labels = np.array(correct, dtype=np.int64)
    least = int(min(labels.sum(), len(labels) - labels.sum()))
    if least < 2:
        raise InputError(
            f"Expected two examples or more of both labels; got {labels.sum()} correct ones of {len(labels)}."
        )
    fitted = calibration.CalibratedClassifierCV(
        svm.LinearSVC(random_state=seed), method="sigmoid", ensemble=False, cv=min(_FOLDS, least)
    ).fit(table, labels, sample_weight=np.array(weights, dtype=np.float64))
    whole = fitted.calibrated_classifiers_[0]
    return LinearWeights(
        weights=tuple(map(float, whole.estimator.coef_[0])),
        intercept=float(whole.estimator.intercept_[0]),
        platt_a=float(whole.calibrators[0].a_),
        platt_b=float(whole.calibrators[0].b_),
    )


def save_linear(weights: LinearWeights, folder: str | Path) -> Path:
    """Write a linear judge.

    Args:
        weights: What it is.
        folder: Made if it is not there.

    Returns:
        The file, ``judge.json``.
    """
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain_values(weights), indent=2) + "\n", encoding="utf-8")
    return path


def load_linear_judge(model: str, *, revision: str | None = None) -> LinearJudge:
    """Load a linear judge.

    Args:
        model: Hub id or folder with ``judge.json``.
        revision: Branch, tag or commit on the Hub.

    Returns:
        The judge.

    Raises:
        InputError: There is no such file, or a key of it is not what it must be.
    """
    if not isinstance(model, str) or not model:
        raise parameter_error("model", "a Hub id or a local folder", model)
    folder = Path(model)
    if revision is not None and folder.is_dir():
        raise InputError(f"{model} is a folder, which has no 'revision'; models on the Hub have.")
    path = folder / FILE if folder.is_dir() else _downloaded(model, revision)
    commit = None if folder.is_dir() else path.parent.name
    return LinearJudge(read_linear(path), facts={"model": model, "revision": commit})


def read_linear(path: Path) -> LinearWeights:
    """Read the numbers of a linear judge.

    Args:
        path: ``judge.json``.

    Returns:
        The numbers, each checked.

    Raises:
        InputError: The file cannot be read, a key is unknown or lacking, or a value is not what it must be.
    """
    try:
        table: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(table, dict):
        raise InputError(f"{path}: expected an object with the keys of a linear judge; got {type(table).__name__}.")
    lacking = [name for name in ("schema", "version", "features") if name not in table]
    if lacking:
        raise InputError(f"{path}: the key {lacking[0]!r} is lacking; this is no file of a linear judge.")
    return LinearWeights(**checked(LinearWeights, table, str(path)))


def _downloaded(model: str, revision: str | None) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(model, FILE, revision=revision))
    except (OSError, ValueError) as error:
        raise cannot_load(model, revision, error) from error
