"""What a training run of the similarity model is made of: a TOML file, checked key by key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qa_scoring.config_files import (
    COUNT,
    FRACTION,
    LABEL,
    LAYERS,
    LENGTH,
    NAME,
    NAMES,
    NOT_NEGATIVE,
    NUMBER,
    PART,
    PATH,
    POSITIVE,
    TEXT,
    Rule,
    assignments,
    checked,
    key,
    plain_values,
    read_toml,
    refuse_measuring_data,
)
from qa_scoring.errors import InputError, shorten

_UNIT: Rule = ("'question' or 'answer'", lambda value: value in ("question", "answer"))


@dataclass(frozen=True, kw_only=True)
class ScoredPairs:
    """Pairs that people scored: CSV without a header, text, text, score.

    Args:
        path: The file.
        scale: The highest score; a label is score / scale.
    """

    path: str = key(PATH)
    scale: float = key(POSITIVE, 1.0)


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

    path: str = key(PATH)
    short_systems: tuple[str, ...] = key(NAMES)
    sentence_systems: tuple[str, ...] = key(NAMES, ())
    shorter: int = key(COUNT, 40)
    sentence_fraction: float = key(FRACTION, 0.1)
    longest_sentence: int = key(COUNT, 150)
    aliases: int = key(NUMBER, 2)
    neighbours: int = key(NUMBER, 1)
    unrelated: int = key(NUMBER, 1)
    longest_reference: int = key(COUNT, 80)
    longest_unrelated: int = key(COUNT, 60)


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

    path: str = key(PATH)
    fraction: float = key(FRACTION, 1.0)
    held_out_by: str = key(_UNIT, "question")
    correct: float = key(LABEL, 1.0)
    contradictory: float = key(LABEL, 0.15)
    incorrect: float = key(LABEL, 0.25)


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Pairs made by rules: numbers, dates, names in part, articles and quotes, qualified amounts.

    Args:
        count: How many.
    """

    count: int = key(COUNT)


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

    name: str = key(NAME)
    seed: int = key(NUMBER, 0)
    holdout: float = key(PART, 0.05)
    base: str | None = key(TEXT, None)
    layers: tuple[int, ...] = key(LAYERS, ())
    rank: int = key(COUNT, 128)
    hidden: int = key(COUNT, 32)
    dropout: float = key(PART, 0.2)
    learning_rate: float = key(POSITIVE, 2e-3)
    weight_decay: float = key(NOT_NEGATIVE, 0.01)
    epochs: int = key(COUNT, 4)
    batch_size: int = key(COUNT, 64)
    max_length: int = key(LENGTH, 256)
    log_every: int = key(COUNT, 1)
    scale_of: str | None = key(TEXT, None)
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
    table = read_toml(path)
    sources = table.pop("sources", None)
    if not isinstance(sources, list) or not sources:
        raise InputError(f"{path}, sources: expected one [[sources]] table or more; got {shorten(sources)}.")
    config = TrainingConfig(
        **checked(TrainingConfig, table, str(path)),
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
        **plain_values(config),
        "sources": [{"kind": names[type(source)], **plain_values(source)} for source in config.sources],
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
    parts = [assignments(facts), *("[[sources]]\n" + assignments(source) for source in sources)]
    return "\n".join(parts)


def _source(table: object, where: str) -> Source:
    if not isinstance(table, dict):
        raise InputError(f"{where}: expected a table; got {shorten(table)}.")
    values = dict(table)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise InputError(f"{where}, kind: expected one of {', '.join(KINDS)}; got {shorten(kind)}.")
    source: Source = KINDS[kind](**checked(KINDS[kind], values, where))
    if not isinstance(source, Synthetic):
        refuse_measuring_data(source.path, f"{where}, path")
    return source
