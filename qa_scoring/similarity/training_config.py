"""What a training run of the similarity model is made of: a TOML file, checked key by key."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from qa_scoring.errors import InputError, first_few, shorten

Rule = tuple[str, Callable[[Any], bool]]
"""What a value must be, in words and as a test."""


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any, holds: Callable[[float], bool]) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and holds(value)


def _is_data_path(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not value.startswith("/") and ".." not in value.split("/")


_LABEL: Rule = ("a label from 0 to 1", lambda value: _is_number(value, lambda number: 0 <= number <= 1))
_FRACTION: Rule = ("a number from 0 to 1", lambda value: _is_number(value, lambda number: 0 <= number <= 1))
_PART: Rule = ("a number of at least 0 and below 1", lambda value: _is_number(value, lambda number: 0 <= number < 1))
_POSITIVE: Rule = ("a number above 0", lambda value: _is_number(value, lambda number: number > 0))
_NOT_NEGATIVE: Rule = ("a number of at least 0", lambda value: _is_number(value, lambda number: number >= 0))
_COUNT: Rule = ("an integer of at least 1", lambda value: _is_integer(value, 1))
_NUMBER: Rule = ("an integer of at least 0", lambda value: _is_integer(value, 0))
_LENGTH: Rule = ("an integer of at least 8", lambda value: _is_integer(value, 8))
_PATH: Rule = ("a path inside the data folder", _is_data_path)
_TEXT: Rule = ("a text", lambda value: isinstance(value, str) and bool(value))
_NAME: Rule = (
    "a name of letters, digits, '.', '_' and '-'",
    lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value) is not None,
)
_NAMES: Rule = (
    "a list of names",
    lambda value: isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value),
)
_LAYERS: Rule = (
    "a list of layer numbers",
    lambda value: isinstance(value, (list, tuple)) and all(_is_integer(number, 0) for number in value),
)
_UNIT: Rule = ("'question' or 'answer'", lambda value: value in ("question", "answer"))


def _key(rule: Rule, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True, kw_only=True)
class ScoredPairs:
    """Pairs that people scored: CSV without a header, text, text, score.

    Args:
        path: The file.
        scale: The highest score; a label is score / scale.
    """

    path: str = _key(_PATH)
    scale: float = _key(_POSITIVE, 1.0)


@dataclass(frozen=True, kw_only=True)
class JudgedAnswers:
    """Answers of systems that people judged: JSON Lines of question, references, system, answer and correct.

    Args:
        path: The file.
        short_systems: Systems that answer with a phrase. Every answer is paired with the reference that shares most
            trigrams with it, a wrong one with another reference too.
        sentence_systems: Systems that answer with a sentence; such an answer is paired with its nearest reference.
        shorter: Answers of these systems below this length are phrases, and all used; characters.
        sentence_fraction: Part of the longer ones that is used.
        longest_sentence: Longer answers are left out; characters.
        aliases: At most so many pairs of references of one question, label 1.
        neighbours: At most so many references of a question are paired with one of the references of other questions
            that the base model finds nearest, label 0; a reference that shares half its trigrams is no such one.
        unrelated: At most so many are paired with any reference of another question, label 0.
        longest_reference: Longer references are left out; characters.
        longest_unrelated: Longer references of other questions are left out; characters.
    """

    path: str = _key(_PATH)
    short_systems: tuple[str, ...] = _key(_NAMES)
    sentence_systems: tuple[str, ...] = _key(_NAMES, ())
    shorter: int = _key(_COUNT, 40)
    sentence_fraction: float = _key(_FRACTION, 0.1)
    longest_sentence: int = _key(_COUNT, 150)
    aliases: int = _key(_NUMBER, 2)
    neighbours: int = _key(_NUMBER, 1)
    unrelated: int = _key(_NUMBER, 1)
    longest_reference: int = _key(_COUNT, 80)
    longest_unrelated: int = _key(_COUNT, 60)


@dataclass(frozen=True, kw_only=True)
class SemEval2013:
    """Student answers of SemEval 2013 task 7, three-way training part.

    Args:
        path: The ZIP file as published.
        fraction: Part of the answers that is used.
        held_out_by: ``"question"`` keeps all answers of a question on one side; ``"answer"`` splits them, so that
            held-out answers are new but their questions are not.
        correct: Label of a correct answer.
        contradictory: Label of one that contradicts the reference.
        incorrect: Label of another wrong one.
    """

    path: str = _key(_PATH)
    fraction: float = _key(_FRACTION, 1.0)
    held_out_by: str = _key(_UNIT, "question")
    correct: float = _key(_LABEL, 1.0)
    contradictory: float = _key(_LABEL, 0.15)
    incorrect: float = _key(_LABEL, 0.25)


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Pairs made by rules: numbers, dates, names in part, articles and quotes, qualified amounts.

    Args:
        count: How many.
    """

    count: int = _key(_COUNT)


Source = ScoredPairs | JudgedAnswers | SemEval2013 | Synthetic
KINDS: dict[str, type[Any]] = {
    "scored-pairs": ScoredPairs,
    "judged-answers": JudgedAnswers,
    "semeval2013": SemEval2013,
    "synthetic": Synthetic,
}


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """One training run.

    Args:
        name: Name of the model that comes out.
        seed: Seed of the pairs, of their order and of the model.
        holdout: Part of the training data that is kept for watching the run.
        base: Folder of the base model, relative to the configuration file; None is the base of the embedded model.
        layers: Numbers of the encoder's layers whose tokens are matched in a learnt space as well; 0 is the embeddings.
        rank: Rank of the change of that space.
        hidden: Size of the head's hidden layer.
        dropout: Part of the hidden layer that is dropped while training.
        learning_rate: Learning rate of the head at the start; it falls to 0. That of the space is half of it.
        weight_decay: Of AdamW.
        epochs: Passes over the pairs.
        batch_size: Pairs per step.
        max_length: Longest text, in tokens.
        log_every: Epochs between two lines of the log.
        scale_of: The kind of pairs (their origin) on whose scale the scores are; None for one that fits none.
        sources: Where pairs come from, in the order in which the random numbers are drawn.
    """

    name: str = _key(_NAME)
    seed: int = _key(_NUMBER, 0)
    holdout: float = _key(_PART, 0.05)
    base: str | None = _key(_TEXT, None)
    layers: tuple[int, ...] = _key(_LAYERS, ())
    rank: int = _key(_COUNT, 128)
    hidden: int = _key(_COUNT, 32)
    dropout: float = _key(_PART, 0.2)
    learning_rate: float = _key(_POSITIVE, 2e-3)
    weight_decay: float = _key(_NOT_NEGATIVE, 0.01)
    epochs: int = _key(_COUNT, 4)
    batch_size: int = _key(_COUNT, 64)
    max_length: int = _key(_LENGTH, 256)
    log_every: int = _key(_COUNT, 1)
    scale_of: str | None = _key(_TEXT, None)
    sources: tuple[Source, ...] = ()


def read_config(path: str | Path) -> TrainingConfig:
    """Read a training run's configuration.

    Args:
        path: A TOML file: the keys of ``TrainingConfig``, and one ``[[sources]]`` table per source with its ``kind``
            and the keys of that kind.

    Returns:
        The configuration, every value checked, ``base`` as an absolute path.

    Raises:
        InputError: The file cannot be read, a key is unknown or lacking, or a value is not what it must be.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None
    sources = table.pop("sources", None)
    if not isinstance(sources, list) or not sources:
        raise InputError(f"{path}, sources: expected one [[sources]] table or more; got {shorten(sources)}.")
    config = TrainingConfig(
        **_checked(TrainingConfig, table, str(path)),
        sources=tuple(_source(source, f"{path}, source {number}") for number, source in enumerate(sources)),
    )
    return config if config.base is None else replace(config, base=str((path.parent / config.base).resolve()))


def config_facts(config: TrainingConfig) -> dict[str, Any]:
    """Return a configuration as plain values, defaults included.

    Args:
        config: The configuration.

    Returns:
        What JSON and TOML can hold; a value that is None is left out.

    Example:
        >>> facts = config_facts(TrainingConfig(name="tiny", sources=(Synthetic(count=3),)))
        >>> facts["rank"], facts["sources"]
        (128, [{'kind': 'synthetic', 'count': 3}])
    """
    names = {kind: name for name, kind in KINDS.items()}
    return {
        **_values(config),
        "sources": [{"kind": names[type(source)], **_values(source)} for source in config.sources],
    }


def config_text(config: TrainingConfig) -> str:
    """Write a configuration as TOML, defaults included.

    Args:
        config: The configuration.

    Returns:
        Text that ``read_config`` reads as the same configuration.

    Example:
        >>> print(config_text(TrainingConfig(name="tiny", sources=(Synthetic(count=3),))))
        name = "tiny"
        seed = 0
        ...
        [[sources]]
        kind = "synthetic"
        count = 3
        <BLANKLINE>
    """
    facts = config_facts(config)
    sources = facts.pop("sources")
    parts = [_assignments(facts), *("[[sources]]\n" + _assignments(source) for source in sources)]
    return "\n".join(parts)


def _values(table: object) -> dict[str, Any]:
    pairs = ((key.name, getattr(table, key.name)) for key in fields(table) if key.name != "sources")  # type: ignore[arg-type]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value is not None}


def _assignments(table: Mapping[str, Any]) -> str:
    # strings, numbers and lists of strings are written alike in JSON and TOML
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())


def _source(table: object, where: str) -> Source:
    if not isinstance(table, dict):
        raise InputError(f"{where}: expected a table; got {shorten(table)}.")
    values = dict(table)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise InputError(f"{where}, kind: expected one of {', '.join(KINDS)}; got {shorten(kind)}.")
    source: Source = KINDS[kind](**_checked(KINDS[kind], values, where))
    if not isinstance(source, Synthetic):
        _refuse_measuring_data(source.path, f"{where}, path")
    return source


def _checked(kind: type[Any], table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check a table against the keys of a class, and turn its lists into tuples and its integers into floats."""
    keys = {key.name: key for key in fields(kind) if "rule" in key.metadata}
    unknown = [name for name in table if name not in keys]
    if unknown:
        raise InputError(f"{where}: unknown key {first_few(unknown, len(unknown))}; the keys are {', '.join(keys)}.")
    lacking = [name for name, key in keys.items() if key.default is MISSING and name not in table]
    if lacking:
        raise InputError(
            f"{where}: the key {lacking[0]!r} is lacking; expected {keys[lacking[0]].metadata['rule'][0]}."
        )
    values: dict[str, Any] = {}
    for name, value in table.items():
        expected, holds = keys[name].metadata["rule"]
        if not holds(value):
            raise InputError(f"{where}, {name}: expected {expected}; got {shorten(value)}.")
        if isinstance(value, list):
            values[name] = tuple(value)
        else:
            values[name] = float(value) if keys[name].type == "float" else value
    return values


def _refuse_measuring_data(path: str, where: str) -> None:
    parts = PurePosixPath(path).parts
    words = {word for part in parts for word in re.split(r"[^a-z0-9]+", part.lower())}
    if "sas" in parts[:-1] or words & {"dev", "test"}:
        raise InputError(
            f"{where}: {path!r} is for measuring, not for training; expected no folder 'sas' and no 'dev' or 'test' in "
            f"the name."
        )
