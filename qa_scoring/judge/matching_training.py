"""Training of the matching judge: the encoder stays as it is, features are read once, and a head is fitted to them."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from qa_scoring.config_files import (
    COUNT,
    LENGTH,
    NAME,
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
from qa_scoring.encoders.base_model import BASE_MODEL, SHA256, base_model_folder, load_encoder, weights_digest
from qa_scoring.encoders.devices import choose_device
from qa_scoring.encoders.nearest import nearest_texts
from qa_scoring.encoders.reading import TextReader
from qa_scoring.encoders.scorers import Progress, no_progress
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version
from qa_scoring.judge.inputs import item
from qa_scoring.judge.matching import ItemReader, MatchingHead, best_of
from qa_scoring.judge.matching_examples import Item, build_items
from qa_scoring.judge.matching_judge import HEAD, write_head
from qa_scoring.judge.sources import Source, read_sources, source_facts
from qa_scoring.judge.training_log import append_line, held_out_figures

FAMILY = "matching"
_FAMILY: Rule = (repr(FAMILY), lambda value: value == FAMILY)


@dataclass(frozen=True, kw_only=True)
class MatchingTrainingConfig:
    """One training run of a matching judge.

    Args:
        name: Name of the judge that comes out.
        family: ``"matching"``.
        seed: Seed of what is made, of the order and of the weights.
        holdout: Part of the questions that is kept for watching the run.
        base: Folder of the base, relative to the configuration file; None is the base of the embedded models.
        max_length: Longest text, in tokens.
        made: So many answers are made by rules of every question to learn from.
        made_weight: Weight of each.
        heads: So many heads are fitted, under the seeds ``seed``, ``seed`` + 1 …; their mean is one head.
        hidden: Size of each head's hidden layer.
        dropout: Part of the features and of the hidden layer that is dropped while training.
        references_dropped: Part of the items of which, at each step, one reference drawn by chance is read alone.
        learning_rate: At the start; it falls to 0.
        weight_decay: Of AdamW.
        epochs: Passes over the items.
        batch_size: Items per step.
        sources: Judged and student answers; probabilities are on the scale of the first.
    """

    name: str = key(NAME)
    family: str = key(_FAMILY, FAMILY)
    seed: int = key(NUMBER, 0)
    holdout: float = key(PART, 0.05)
    base: str | None = key(TEXT, None)
    max_length: int = key(LENGTH, 128)
    made: int = key(NUMBER, 3)
    made_weight: float = key(POSITIVE, 0.5)
    heads: int = key(COUNT, 1)
    hidden: int = key(COUNT, 32)
    dropout: float = key(PART, 0.2)
    references_dropped: float = key(PART, 0.3)
    learning_rate: float = key(POSITIVE, 2e-3)
    weight_decay: float = key(NOT_NEGATIVE, 0.01)
    epochs: int = key(COUNT, 6)
    batch_size: int = key(COUNT, 64)
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class MatchingTrainingResult:
    """What a run leaves behind.

    Args:
        folder: The judge.
        log: JSON Lines: a line of facts, then a line per epoch.
        config: The configuration as used, defaults included.
    """

    folder: Path
    log: Path
    config: Path


def read_matching_config(path: str | Path) -> MatchingTrainingConfig:
    """Read a training run's configuration.

    Args:
        path: A TOML file: the keys of ``MatchingTrainingConfig``, and one ``[[sources]]`` table per source.

    Returns:
        The configuration, every value checked, ``base`` as an absolute path.

    Raises:
        InputError: The file cannot be read, a key is unknown or lacking, or a value is not what it must be.
    """
    path = Path(path)
    table = read_toml(path)
    sources = read_sources(table.pop("sources", None), str(path))
    config = MatchingTrainingConfig(**checked(MatchingTrainingConfig, table, str(path)), sources=sources)
    return config if config.base is None else replace(config, base=str((path.parent / config.base).resolve()))


def matching_config_text(config: MatchingTrainingConfig) -> str:
    """Write a configuration as TOML, defaults included.

    Args:
        config: The configuration.

    Returns:
        Text that ``read_matching_config`` reads as the same configuration.
    """
    sources = ("[[sources]]\n" + assignments(source_facts(source)) for source in config.sources)
    return "\n".join([assignments(plain_values(config)), *sources])


class _Read:
    """Items as tensors: the features of their pairs, read once."""

    def __init__(self, items: Sequence[Item], reader: ItemReader, progress: Progress) -> None:
        self.pairs: list[list[int]] = [[] for _ in items]
        parts: list[Tensor] = []
        count = 0
        texts = [item(one.question, one.answer, one.references) for one in items]
        for reading in reader.read(texts, progress):
            parts.append(reading.features)
            for row, _ in reading.pairs:
                self.pairs[row].append(count)
                count += 1
        self.features = torch.cat(parts) if parts else torch.empty(0, reader.size)
        self.correct = torch.tensor([float(one.correct) for one in items])

    def logits(self, head: MatchingHead, rows: Sequence[int], alone: Tensor | None = None) -> Tensor:
        """Return the items' logits; of items that stand ``alone`` one reference drawn by chance is read."""
        chosen = [self.pairs[row] for row in rows]
        if alone is not None:
            drawn = torch.rand(len(rows)).tolist()
            chosen = [
                [pairs[int(part * len(pairs))]] if one else pairs
                for pairs, one, part in zip(chosen, alone.tolist(), drawn, strict=True)
            ]
        places = [place for pairs in chosen for place in pairs]
        owners = torch.tensor([number for number, pairs in enumerate(chosen) for _ in pairs])
        return best_of(head(self.features[places]), owners, len(rows))


class _Scales(nn.Module):
    """What a logit means to each kind of item: verdicts of different kinds are not equally strict.

    A logit z becomes exp(slope_k) · z + offset_k; the first kind's logits stay as they are.
    """

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.zeros(kinds))
        self.offset = nn.Parameter(torch.zeros(kinds))

    def forward(self, logits: Tensor, kinds: Tensor) -> Tensor:
        other = (kinds > 0).float()
        return logits * (self.slope[kinds] * other).exp() + self.offset[kinds] * other


def train_matching(
    config: MatchingTrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    device: str | None = None,
    progress: Progress = no_progress,
) -> MatchingTrainingResult:
    """Train a matching judge and write it to a folder.

    Args:
        config: What to train, on what, and how.
        data: The folder that the sources' paths start from.
        out: Where the files go; made if it is not there.
        device: Where the encoder runs; the head is fitted on the CPU.
        progress: Wraps the reading and the epochs, for a progress bar.

    Returns:
        The files.

    Raises:
        InputError: The data or the base is not what it must be, ``out`` holds another run, or the loss is no number.
        MissingPackageError: The base model is not installed.
    """
    out = Path(out)
    result = MatchingTrainingResult(out, out / "training_log.jsonl", out / "config.toml")
    if result.log.exists() or (out / HEAD).exists():
        raise InputError(f"{out} holds a run already; pass another folder.")
    started = time.monotonic()
    folder = base_model_folder(config.base, SHA256 if config.base is None else None)
    encoder, tokenizer = load_encoder(folder)
    if config.max_length > encoder.config.max_position_embeddings:
        most = encoder.config.max_position_embeddings
        raise parameter_error("max_length", f"at most {most} for {folder}", config.max_length)
    texts = TextReader(encoder.to(choose_device(device)), tokenizer, max_length=config.max_length)
    sets = build_items(
        config.sources,
        data,
        seed=config.seed,
        holdout=config.holdout,
        made=config.made,
        made_weight=config.made_weight,
        nearest=lambda texts_of_pool: nearest_texts(texts, texts_of_pool, progress),
    )
    reader = ItemReader(texts)
    learnt, watched = (_Read(items, reader, progress) for items in sets)
    out.mkdir(parents=True, exist_ok=True)
    result.config.write_text(matching_config_text(config), encoding="utf-8")
    facts = {"base": BASE_MODEL if config.base is None else folder.name, "base_sha256": weights_digest(folder)}
    append_line(
        result.log,
        {
            **facts,
            "items": dict(Counter(one.origin for one in sets.train)),
            "held_out": len(sets.held_out),
            "reading_seconds": round(time.monotonic() - started, 1),
            "versions": {name: distribution_version(name) for name in ("torch", "transformers")},
        },
    )
    heads = [
        _fit(replace(config, seed=config.seed + number), sets.train, learnt, watched, result.log, progress)
        for number in range(config.heads)
    ]
    head = mean_head(heads)
    append_line(result.log, {"heads": config.heads, **_figures(head, watched)})
    stored = {"name": config.name, "max_length": config.max_length, **facts, "threshold": 0.5, "temperature": 1.0}
    write_head(out / HEAD, head.state_dict(), stored)
    return result


def _fit(
    config: MatchingTrainingConfig, items: Sequence[Item], learnt: _Read, watched: _Read, log: Path, progress: Progress
) -> MatchingHead:
    torch.manual_seed(config.seed)
    head = MatchingHead(learnt.features.shape[1], hidden=config.hidden, dropout=config.dropout)
    head.mean.copy_(learnt.features.mean(0))
    head.deviation.copy_(learnt.features.std(0).clamp(min=1e-3))
    origins = list(dict.fromkeys(one.origin for one in items))
    scales = _Scales(len(origins))
    kinds = torch.tensor([origins.index(one.origin) for one in items])
    weights = torch.tensor([one.weight for one in items])
    optimizer = torch.optim.AdamW(
        [*head.parameters(), *scales.parameters()], lr=config.learning_rate, weight_decay=config.weight_decay
    )
    steps = config.epochs * math.ceil(len(items) / config.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / steps)
    for epoch in range(1, config.epochs + 1):
        head.train()
        total = 0.0
        for rows in progress(torch.split(torch.randperm(len(items)), config.batch_size)):
            alone = torch.rand(len(rows)) < config.references_dropped
            logits = scales(learnt.logits(head, rows.tolist(), alone), kinds[rows])
            losses = nn.functional.binary_cross_entropy_with_logits(logits, learnt.correct[rows], reduction="none")
            loss = (losses * weights[rows]).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            total += float(loss.item()) * len(rows)
        mean = total / len(items)
        if not math.isfinite(mean):
            raise InputError(f"The loss is {mean} in epoch {epoch}; expected a number. Lower learning_rate.")
        append_line(
            log, {"seed": config.seed, "epoch": epoch, "loss": round(mean, 6), **_figures(head.eval(), watched)}
        )
    return head


def mean_head(heads: Sequence[MatchingHead]) -> MatchingHead:
    """Put heads together into one that gives the mean of their logits.

    Args:
        heads: Heads over the same features, standardised alike.

    Returns:
        One head, in evaluation mode, with the hidden units of all.
    """
    count = len(heads)
    together = MatchingHead(heads[0].mean.numel(), hidden=sum(head.hidden.out_features for head in heads))
    with torch.no_grad():
        together.mean.copy_(heads[0].mean)
        together.deviation.copy_(heads[0].deviation)
        together.linear.weight.copy_(torch.stack([head.linear.weight for head in heads]).mean(0))
        together.linear.bias.copy_(torch.stack([head.linear.bias for head in heads]).mean(0))
        together.hidden.weight.copy_(torch.cat([head.hidden.weight for head in heads]))
        together.hidden.bias.copy_(torch.cat([head.hidden.bias for head in heads]))
        together.output.weight.copy_(torch.cat([head.output.weight for head in heads], dim=1) / count)
        together.output.bias.copy_(torch.stack([head.output.bias for head in heads]).mean(0))
    return together.eval()


def _figures(head: MatchingHead, watched: _Read) -> dict[str, Any]:
    if not watched.pairs:
        return {}
    with torch.inference_mode():
        logits = watched.logits(head, range(len(watched.pairs)))
    return held_out_figures(watched.correct.bool().tolist(), (logits >= 0).numpy())
