"""What a training run of a judge is made of: a TOML file, checked key by key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qa_scoring.config_files import (
    COUNT,
    FLAG,
    LENGTH,
    NAME,
    NAMES,
    NOT_NEGATIVE,
    NUMBER,
    PART,
    POSITIVE,
    TEXT,
    Rule,
    assignments,
    checked,
    key,
    plain_values,
    read_toml,
)
from qa_scoring.errors import InputError
from qa_scoring.judge.families import check_family
from qa_scoring.judge.sources import Source, read_held_out, read_sources, source_facts

_FAMILY: Rule = ("'linear' or 'network'", lambda value: value in ("linear", "network"))


@dataclass(frozen=True, kw_only=True)
class JudgeTrainingConfig:
    """One training run.

    The paper's own, as far as known: RoBERTa-base, AdamW with a learning rate of 1e-6, early stopping on the F1 of held
    out data; the other defaults are ours. ``sentence-transformers/all-MiniLM-L6-v2`` as base needs no hub and a higher
    learning rate, such as 5e-5.

    Args:
        name: Name of the judge that comes out.
        seed: Seed of the examples, of their order and of the weights.
        family: ``"network"`` (A0, A1, A2), or ``"linear"``, for which the keys from ``pairs`` to ``bfloat16`` mean
            nothing and are refused.
        pairs: The pairs of texts that are read, names of ``PAIRS``.
        encoders: ``"own"``, ``"shared"`` or ``"adapters"``, as in ``JudgeConfig``.
        peer_attention: Whether two pairs are read a second time, each with attention to the other (A2).
        adapter_rank: Rank of the adapters.
        adapter_alpha: Their scale, times the rank.
        base: Hub id of an encoder, or its folder relative to the configuration file.
        max_length: Longest pair, in tokens.
        dropout: Part of what the encoders give that is dropped while training.
        epochs: Passes over the examples, at most.
        learning_rate: At its highest; it falls to 0.
        batch_size: Examples per step.
        warmup: Part of the steps in which the learning rate rises.
        weight_decay: Of AdamW.
        early_stopping_patience: Evaluations without a better F1 after which the run ends; None never ends it early.
            The weights of the best F1 are kept either way.
        evaluate_every: Steps between two evaluations; None evaluates after each epoch.
        bfloat16: Whether networks compute in bfloat16 (weights stay in float32).
        holdout: Part of the questions that is held out, where ``held_out`` is None.
        sources: Where the examples come from.
        held_out: Examples to watch the run with; with ``holdout`` 0.
    """

    name: str = key(NAME)
    seed: int = key(NUMBER, 0)
    family: str = key(_FAMILY, "network")
    pairs: tuple[str, ...] = key(NAMES, ("r-qt", "t-qr"))
    encoders: str = key(TEXT, "own")
    peer_attention: bool = key(FLAG, False)
    adapter_rank: int = key(COUNT, 8)
    adapter_alpha: float = key(POSITIVE, 16.0)
    base: str = key(TEXT, "FacebookAI/roberta-base")
    max_length: int = key(LENGTH, 256)
    dropout: float = key(PART, 0.1)
    epochs: int = key(COUNT, 3)
    learning_rate: float = key(POSITIVE, 1e-6)
    batch_size: int = key(COUNT, 32)
    warmup: float = key(PART, 0.1)
    weight_decay: float = key(NOT_NEGATIVE, 0.01)
    early_stopping_patience: int | None = key(COUNT, None)
    evaluate_every: int | None = key(COUNT, None)
    bfloat16: bool = key(FLAG, False)
    holdout: float = key(PART, 0.05)
    sources: tuple[Source, ...] = ()
    held_out: Source | None = None


_OF_NETWORKS = (
    *("pairs", "encoders", "peer_attention", "adapter_rank", "adapter_alpha", "base", "max_length", "dropout"),
    *("epochs", "learning_rate", "batch_size", "warmup", "weight_decay", "early_stopping_patience"),
    *("evaluate_every", "bfloat16"),
)


def read_judge_config(path: str | Path) -> JudgeTrainingConfig:
    """Read a training run's configuration.

    Args:
        path: A TOML file: the keys of ``JudgeTrainingConfig``, one ``[[sources]]`` table per source with its ``kind``
            and the keys of that kind, and with ``holdout = 0`` one such ``[held_out]`` table.

    Returns:
        The configuration, every value checked; ``base`` is an absolute path if there is such a folder.

    Raises:
        InputError: The file cannot be read, a key is unknown or lacking, a value is not what it must be, or nothing is
            held out.
    """
    path = Path(path)
    table = read_toml(path)
    sources = read_sources(table.pop("sources", None), str(path))
    held_out = read_held_out(table.pop("held_out"), str(path)) if "held_out" in table else None
    config = JudgeTrainingConfig(**checked(JudgeTrainingConfig, table, str(path)), sources=sources, held_out=held_out)
    if held_out is None and not config.holdout:
        raise InputError(f"{path}: nothing is held out; expected a holdout above 0 or a [held_out] table.")
    if config.family == "linear":
        surplus = [name for name in _OF_NETWORKS if name in table]
        if surplus:
            raise InputError(f"{path}, {surplus[0]}: family = 'linear' has no such setting; networks have.")
    else:
        check_family(config.pairs, config.encoders, config.peer_attention, config.adapter_rank)
    folder = path.parent / config.base
    return replace(config, base=str(folder.resolve())) if folder.is_dir() else config


def judge_config_facts(config: JudgeTrainingConfig) -> dict[str, Any]:
    """Return a configuration as plain values, defaults included.

    Args:
        config: The configuration.

    Returns:
        What JSON and TOML can hold; a value that is None, or that means nothing to the family, is left out.
    """
    facts = plain_values(replace(config, held_out=None))
    if config.family == "linear":
        facts = {name: value for name, value in facts.items() if name not in _OF_NETWORKS}
    facts["sources"] = [source_facts(source) for source in config.sources]
    return facts if config.held_out is None else {**facts, "held_out": source_facts(config.held_out)}


def judge_config_text(config: JudgeTrainingConfig) -> str:
    """Write a configuration as TOML, defaults included.

    Args:
        config: The configuration.

    Returns:
        Text that ``read_judge_config`` reads as the same configuration.

    Example:
        >>> from qa_scoring.judge.sources import JudgedAnswers
        >>> config = JudgeTrainingConfig(name="plain", family="linear", sources=(JudgedAnswers(path="a.jsonl"),))
        >>> print(judge_config_text(config))
        name = "plain"
        seed = 0
        family = "linear"
        holdout = 0.05
        <BLANKLINE>
        [[sources]]
        kind = "judged-answers"
        ...
    """
    facts = judge_config_facts(config)
    sources, held_out = facts.pop("sources"), facts.pop("held_out", None)
    parts = [assignments(facts), *("[[sources]]\n" + assignments(source) for source in sources)]
    return "\n".join(parts if held_out is None else [*parts, "[held_out]\n" + assignments(held_out)])
