"""Train the similarity model: a head over what an encoder, which stays as it is, reads of answer pairs.

Every pair is read once; the head is then trained on what was read. Pairs, their order and the first weights all follow
from the seed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from qa_scoring.encoders.base_model import BASE_MODEL, SHA256, base_model_folder, load_encoder, weights_digest
from qa_scoring.encoders.devices import choose_device
from qa_scoring.encoders.nearest import nearest_texts
from qa_scoring.encoders.reading import TextReader, TextStates, Tokens, pad
from qa_scoring.encoders.scorers import Progress, no_progress
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version
from qa_scoring.similarity.embedded import HEAD
from qa_scoring.similarity.interaction import Head, PairReader
from qa_scoring.similarity.training_config import TrainingConfig, config_facts, config_text
from qa_scoring.similarity.training_pairs import TrainingPair, build_pairs, count_origins

_PAIRS_AT_ONCE = 256
_SORTED_BATCHES = 40  # pairs of like length are put together within this many batches


@dataclass(frozen=True)
class TrainingResult:
    """What a run leaves behind.

    Args:
        head: The trained head, as ``load_embedded`` reads it.
        log: JSON Lines: one line of facts, then a line per ``log_every`` epochs.
        config: The configuration as used, defaults included.
    """

    head: Path
    log: Path
    config: Path


class _Read:
    """What the encoder reads of pairs, kept for all epochs."""

    def __init__(
        self, pairs: Sequence[TrainingPair], reader: PairReader, layers: Sequence[int], progress: Progress
    ) -> None:
        texts = [(pair.first, pair.second) for pair in pairs]
        self._features = torch.empty(len(pairs), reader.size)
        self._pairs = texts
        self._states: dict[str, TextStates] = {}
        chosen = list(layers)
        for rows, features, first, second in reader.read(texts, progress):
            self._features[rows] = features
            for side, states in ((0, first), (1, second)):
                for row, text in zip(rows, states, strict=True):
                    name = texts[row][side]
                    if name not in self._states:
                        self._states[name] = text._replace(tokens=text.tokens[chosen].half().cpu())

    def tensors(self, rows: Sequence[int]) -> tuple[Tensor, Tokens, Tokens]:
        """Return what the head reads."""
        first, second = (pad([self._states[self._pairs[row][side]] for row in rows]) for side in (0, 1))
        return (
            self._features[rows],
            Tokens(first.values.float(), first.own),
            Tokens(second.values.float(), second.own),
        )

    def batches(self, size: int) -> list[list[int]]:
        """Put pairs of like length together, in a random order."""
        order = torch.randperm(len(self._pairs)).tolist()
        lengths = [max(self._states[text].tokens.shape[1] for text in pair) for pair in self._pairs]
        batches: list[list[int]] = []
        for start in range(0, len(order), size * _SORTED_BATCHES):
            part = sorted(order[start : start + size * _SORTED_BATCHES], key=lambda row: lengths[row])
            batches += [part[first : first + size] for first in range(0, len(part), size)]
        return [batches[place] for place in torch.randperm(len(batches)).tolist()]

    def scores(self, head: Head) -> NDArray[np.float64]:
        """Return every pair's logit."""
        return self._in_parts(head, head).double().numpy()

    def all_features(self, head: Head) -> Tensor:
        """Return the features of every pair, the head's own included."""

        def features(read: Tensor, first: Tokens, second: Tokens) -> Tensor:
            return torch.cat([read, head.rematch(first, second)], dim=1)

        return self._in_parts(head, features)

    def _in_parts(self, head: Head, figures: Callable[[Tensor, Tokens, Tokens], Tensor]) -> Tensor:
        """Put together what comes out for some pairs at a time, without learning from them."""
        head.eval()
        rows = range(len(self._pairs))
        with torch.inference_mode():
            parts = [figures(*self.tensors(rows[start : start + _PAIRS_AT_ONCE])) for start in rows[::_PAIRS_AT_ONCE]]
        return torch.cat(parts) if parts else torch.empty(0)


class _Scales(nn.Module):
    """What a logit means to each kind of pair: labels of different kinds are not on one scale.

    A logit z becomes the logit of a label of kind k as exp(slope_k) · z + offset_k.
    """

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.zeros(kinds))
        self.offset = nn.Parameter(torch.zeros(kinds))

    def forward(self, logits: Tensor, kinds: Tensor) -> Tensor:
        return logits * self.slope[kinds].exp() + self.offset[kinds]


def train(
    config: TrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> TrainingResult:
    """Train a model and write it to a folder.

    Args:
        config: What to train, on what, and how.
        data: The folder that the sources' paths start from.
        out: Where the files go; made if it is not there.
        device: Where the encoder runs: ``"cpu"`` or another device of torch. The head is trained on the CPU.
        progress: Wraps the reading and the epochs, for a progress bar.

    Returns:
        The files.

    Raises:
        InputError: The data or the base model is not what it must be, ``out`` holds another run, the device is not
            there, or the loss is no longer a number.
        MissingPackageError: The base model is not installed.
    """
    target, out = torch.device(choose_device(device)), Path(out)
    result = TrainingResult(out / HEAD, out / "training_log.jsonl", out / "config.toml")
    if result.log.exists() or result.head.exists():
        raise InputError(f"{out} holds a run already; pass another folder.")
    started = time.monotonic()
    folder = base_model_folder(config.base, SHA256 if config.base is None else None)
    encoder, tokenizer = load_encoder(folder)
    positions = encoder.config.max_position_embeddings
    if config.max_length > positions:
        raise parameter_error("max_length", f"at most {positions} for {folder}", config.max_length)
    reader = PairReader(TextReader(encoder.to(target), tokenizer, max_length=config.max_length))
    sets = build_pairs(
        config.sources,
        data,
        seed=config.seed,
        holdout=config.holdout,
        nearest=lambda texts: nearest_texts(reader.texts, texts, progress),
    )
    layers = encoder.config.num_hidden_layers
    if any(layer > layers for layer in config.layers):
        raise parameter_error("layers", f"numbers from 0 to {layers} for {folder}", list(config.layers))
    origins = [*count_origins(sets.train)]
    if config.scale_of is not None and config.scale_of not in origins:
        raise parameter_error("scale_of", f"one of the kinds of pairs, {', '.join(origins)}", config.scale_of)
    learnt = _Read(sets.train, reader, config.layers, progress)
    watched = _Read(sets.held_out, reader, config.layers, progress)
    out.mkdir(parents=True, exist_ok=True)
    result.config.write_text(config_text(config), encoding="utf-8")
    facts = {
        "base": BASE_MODEL if config.base is None else folder.name,
        "base_sha256": weights_digest(folder),
    }
    _append(
        result.log,
        {
            "config": config_facts(config),
            "pairs": count_origins(sets.train),
            "held_out": count_origins(sets.held_out),
            **facts,
            "device": target.type,
            "threads": torch.get_num_threads(),
            "seconds": round(time.monotonic() - started, 1),
            "versions": {name: distribution_version(name) for name in ("torch", "transformers")},
        },
    )

    torch.manual_seed(config.seed)
    head = Head(
        reader.size,
        encoder.config.hidden_size,
        layers=config.layers,
        rank=config.rank,
        hidden=config.hidden,
        dropout=config.dropout,
    )
    _standardise(head, learnt)
    scales = _Scales(len(origins))
    labels = torch.tensor([pair.label for pair in sets.train])
    kinds = torch.tensor([origins.index(pair.origin) for pair in sets.train])
    space = [head.down, head.up]
    rest = [weight for weight in head.parameters() if all(weight is not other for other in space)]
    groups: list[dict[str, Any]] = [
        {"params": space, "lr": config.learning_rate / 2},
        {"params": [*rest, *scales.parameters()]},
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate, weight_decay=config.weight_decay)
    steps = config.epochs * math.ceil(len(labels) / config.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / steps)
    for epoch in range(1, config.epochs + 1):
        losses: list[float] = []
        head.train()
        for rows in progress(learnt.batches(config.batch_size)):
            logits = scales(head(*learnt.tensors(rows)), kinds[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.item()))
        mean = float(np.mean(losses))
        if not math.isfinite(mean):
            raise InputError(f"The loss is {mean} in epoch {epoch}; expected a number. Lower learning_rate.")
        if epoch % config.log_every == 0 or epoch == config.epochs:
            scores = watched.scores(head)
            _append(
                result.log,
                {
                    "epoch": epoch,
                    "loss": round(mean, 6),
                    "seconds": round(time.monotonic() - started, 1),
                    "pearson": correlations(sets.held_out, scores),
                },
            )
    if config.scale_of is not None:
        _take_scale(head, scales, origins.index(config.scale_of))
    save_file(
        {name: tensor.detach().contiguous() for name, tensor in head.state_dict().items()},
        result.head,
        metadata={"name": config.name, "max_length": str(config.max_length), **facts, "format": "pt"},
    )
    return result


def correlations(pairs: Sequence[TrainingPair], scores: NDArray[Any]) -> dict[str, float]:
    """Correlate scores with labels.

    Args:
        pairs: n pairs.
        scores: Shape (n,).

    Returns:
        Pearson's r by origin, where there are two different labels or more.

    Example:
        >>> pairs = [TrainingPair("a", "b", 0.0, "rules"), TrainingPair("a", "a", 1.0, "rules")]
        >>> correlations(pairs, np.array([-1.0, 3.0]))
        {'rules': 1.0}
    """
    labels = np.array([pair.label for pair in pairs])
    origins = np.array([pair.origin for pair in pairs])
    found = {}
    for name in count_origins(pairs):
        chosen = origins == name
        if len(set(labels[chosen])) > 1 and scores[chosen].std() > 0:
            found[name] = round(float(np.corrcoef(scores[chosen], labels[chosen])[0, 1]), 6)
    return found


def _standardise(head: Head, read: _Read) -> None:
    """Measure mean and deviation of the features before training; the learnt space starts as it is."""
    features = read.all_features(head)
    head.mean.copy_(features.mean(0))
    head.deviation.copy_(features.std(0).clamp(min=1e-3))


def _take_scale(head: Head, scales: _Scales, kind: int) -> None:
    """Put the scale of one kind of pair into the head's last layers."""
    with torch.no_grad():
        slope, offset = scales.slope[kind].exp(), scales.offset[kind]
        head.linear.weight.mul_(slope)
        head.output.weight.mul_(slope)
        head.linear.bias.mul_(slope).add_(offset)
        head.output.bias.mul_(slope)


def _append(path: Path, values: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(values, ensure_ascii=False) + "\n")
