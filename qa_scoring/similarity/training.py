"""Train the similarity model: a low-rank change of a base encoder, into a cross-encoder of answer pairs.

The run is fixed by its configuration: the pairs, their order, which side comes first and the model's random numbers
all follow from the seed. An interrupted run goes on from its last checkpoint as if it had not been interrupted.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from qa_scoring.errors import InputError, parameter_error, shorten
from qa_scoring.extras import distribution_version, require
from qa_scoring.similarity.base_model import BASE_MODEL, SHA256, base_model_folder, weights_digest
from qa_scoring.similarity.pairs import Pair, Progress, no_progress
from qa_scoring.similarity.training_config import TrainingConfig, config_facts, config_text
from qa_scoring.similarity.training_pairs import PairSets, TrainingPair, build_pairs, count_origins

LARGEST_ADAPTER = 5_000_000  # bytes; what may be committed
CHANGED_LAYERS = ("query", "key", "value", "dense")
_PAIRS_PER_BATCH = 128  # when scoring
_SORTED_BATCHES = 50  # pairs of like length are put together within this many batches


@dataclass(frozen=True)
class TrainingResult:
    """What a run leaves behind.

    Args:
        adapter: The low-rank matrices in float16, as ``load_embedded`` reads them.
        log: JSON Lines: one line of facts, then a line per ``log_every`` steps.
        config: The configuration as used, defaults included.
        model: The trained model in evaluation mode, with the very weights that are in the file.
        tokenizer: Its tokenizer.
    """

    adapter: Path
    log: Path
    config: Path
    model: Any
    tokenizer: Any


@dataclass(frozen=True)
class Step:
    """The pairs of one step: rows of the training list, and whether the second text comes first."""

    rows: list[int]
    swapped: list[bool]


def train(
    config: TrainingConfig,
    data: str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> TrainingResult:
    """Train a model and write it to a folder.

    Args:
        config: What to train, on what, and how.
        data: The folder that the sources' paths start from.
        out: Where the files go; made if it is not there.
        resume: Go on with the interrupted run in ``out``.
        device: ``"cpu"`` or another device of torch. Random numbers, hence the model, differ between devices.
        progress: Wraps the steps, for a progress bar.

    Returns:
        The files, and the model.

    Raises:
        InputError: The data or the base model is not what it must be, ``out`` holds another run, the device is not
            there, or the loss is no longer a number.
        MissingPackageError: peft or the base model is not installed.
    """
    target = _device(device)
    peft = require("peft", extra="train", purpose="Training")
    run = _Run(Path(out), config)
    pairs = build_pairs(config.sources, data, seed=config.seed, holdout=config.holdout)
    folder = base_model_folder(config.base, SHA256 if config.base is None else None)
    facts = {
        "base": BASE_MODEL if config.base is None else folder.name,
        "base_sha256": weights_digest(folder),
    }
    plan = plan_steps(pairs.train, config)
    model, tokenizer = _low_rank_model(peft, folder, config)
    model.to(target)
    optimizer, schedule = _optimizer(model, config, len(plan))
    done, seconds = run.start(
        resume,
        _Trainable(model, optimizer, schedule),
        {
            "config": config_facts(config),
            "pairs": count_origins(pairs.train),
            "held_out": count_origins(pairs.held_out),
            "steps": len(plan),
            **facts,
            "device": target.type,
            "threads": torch.get_num_threads(),
            "versions": {name: distribution_version(name) for name in ("torch", "transformers", "peft")},
        },
    )
    started = time.monotonic() - seconds
    losses: list[float] = []
    for number, step in enumerate(progress(plan[done:]), start=done + 1):
        model.train()
        batch = [pairs.train[row] for row in step.rows]
        losses.append(_learn(model, tokenizer, batch, step.swapped, optimizer, schedule, config.max_length))
        if not math.isfinite(losses[-1]):
            raise InputError(f"The loss is {losses[-1]} at step {number}; expected a number. Lower learning_rate.")
        if number % config.log_every == 0 or number == len(plan):
            if number == len(plan):
                round_weights(model)  # what is measured last is what is saved
            run.log(
                step=number,
                loss=round(sum(losses) / len(losses), 6),
                seconds=round(time.monotonic() - started, 1),
                pearson=measure(model, tokenizer, pairs, config.max_length),
            )
            losses.clear()
            run.save_checkpoint(_Trainable(model, optimizer, schedule), number, time.monotonic() - started)
    metadata = {"name": config.name, "scale": json.dumps(config.alpha / config.rank), **facts}
    adapter = run.finish(_low_rank_tensors(peft, model), metadata)
    return TrainingResult(adapter, run.log_path, run.config_path, model.eval(), tokenizer)


def plan_steps(pairs: Sequence[TrainingPair], config: TrainingConfig) -> list[Step]:
    """Decide which pairs every step sees, and which way round.

    Args:
        pairs: n pairs.
        config: Seed, batch size and epochs.

    Returns:
        ceil(n / batch_size) · epochs steps; pairs of like length are together, every pair once per epoch.

    Example:
        >>> from qa_scoring.similarity.training_config import TrainingConfig
        >>> pairs = [TrainingPair("a", "b" * n, 0.0, "rules") for n in range(5)]
        >>> steps = plan_steps(pairs, TrainingConfig(name="tiny", batch_size=2, epochs=1))
        >>> sorted(row for step in steps for row in step.rows)
        [0, 1, 2, 3, 4]
    """
    rng = random.Random(config.seed)
    count = int(math.ceil(len(pairs) / config.batch_size) * config.epochs)
    if count < 1:
        raise parameter_error("epochs", f"enough for one step over {len(pairs)} pairs", config.epochs)
    lengths = [len(pair.first) + len(pair.second) for pair in pairs]
    steps: list[Step] = []
    while len(steps) < count:
        steps += [Step(rows, [rng.random() < 0.5 for _ in rows]) for rows in _epoch(lengths, config.batch_size, rng)]
    return steps[:count]


def measure(model: Any, tokenizer: Any, pairs: PairSets, max_length: int) -> dict[str, float]:
    """Correlate the scores of the held-out pairs with their labels.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        pairs: The pairs; the held-out ones are used.
        max_length: Longest pair, in tokens.

    Returns:
        Pearson's r over all held-out pairs (``all``) and by origin, where there are two different labels or more.
    """
    held_out = pairs.held_out
    scores = predict(model, tokenizer, [(pair.first, pair.second) for pair in held_out], max_length)
    labels = np.array([pair.label for pair in held_out])
    origins = np.array([pair.origin for pair in held_out])
    found = {}
    for name in ["all", *count_origins(held_out)]:
        chosen = origins == name if name != "all" else np.ones(len(held_out), dtype=np.bool_)
        if len(set(labels[chosen])) > 1 and scores[chosen].std() > 0:
            found[name] = round(float(np.corrcoef(scores[chosen], labels[chosen])[0, 1]), 6)
    return found


def predict(
    model: Any, tokenizer: Any, pairs: Sequence[Pair], max_length: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Score pairs with a model that is being trained.

    Args:
        model: The model; it is left in evaluation mode.
        tokenizer: Its tokenizer.
        pairs: n pairs.
        max_length: Longest pair, in tokens.

    Returns:
        Shape (n,), from 0 to 1.
    """
    model.eval()
    scores = np.zeros(len(pairs))
    order = sorted(range(len(pairs)), key=lambda row: len(pairs[row][0]) + len(pairs[row][1]))
    with torch.inference_mode():
        for start in range(0, len(order), _PAIRS_PER_BATCH):
            rows = order[start : start + _PAIRS_PER_BATCH]
            logits = model(**_encode(model, tokenizer, [pairs[row] for row in rows], max_length)).logits
            scores[rows] = torch.sigmoid(logits.float()).squeeze(-1).cpu().numpy()
    return scores


def round_weights(model: Any) -> None:
    """Round the trained weights to what float16 holds.

    Args:
        model: The model; its weights stay float32.
    """
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight.copy_(weight.half().float())


@dataclass(frozen=True)
class _Trainable:
    """What changes while training, and can be saved and put back."""

    model: Any
    optimizer: Any
    schedule: Any

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return tensors by name, and plain values: what safetensors and JSON can hold."""
        optimizer = self.optimizer.state_dict()
        tensors = {f"weights.{name}": weight.detach() for name, weight in self.weights().items()}
        for index, moments in optimizer["state"].items():
            tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in moments.items()}
        tensors["random"] = torch.get_rng_state()
        if self.model.device.type == "cuda":
            tensors["device_random"] = torch.cuda.get_rng_state(self.model.device)
        return tensors, {"groups": optimizer["param_groups"], "schedule": self.schedule.state_dict()}

    def restore(self, tensors: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        moments: dict[int, dict[str, Any]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, index, moment = name.split(".")
                moments.setdefault(int(index), {})[moment] = tensor
        with torch.no_grad():
            for name, weight in self.weights().items():
                weight.copy_(tensors[f"weights.{name}"])
        self.optimizer.load_state_dict({"state": moments, "param_groups": values["groups"]})
        self.schedule.load_state_dict(values["schedule"])
        torch.set_rng_state(tensors["random"])
        if "device_random" in tensors:
            torch.cuda.set_rng_state(tensors["device_random"], self.model.device)

    def weights(self) -> dict[str, Any]:
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}


class _Run:
    """The folder of a run: its log, its checkpoint, and what comes out."""

    def __init__(self, folder: Path, config: TrainingConfig) -> None:
        self.folder = folder
        self.log_path = folder / "training_log.jsonl"
        self.config_path = folder / "config.toml"
        self._adapter = folder / "adapter.safetensors"
        self._checkpoint = folder / "checkpoint.safetensors"
        self._config = config

    def start(self, resume: bool, trainable: _Trainable, facts: dict[str, Any]) -> tuple[int, float]:
        """Begin the run, or put the interrupted one back.

        Returns:
            Steps done and seconds spent so far.
        """
        size = sum(weight.numel() for weight in trainable.weights().values()) * 2
        if size > LARGEST_ADAPTER:
            raise InputError(
                f"A change of rank {self._config.rank} would take {size:,} bytes; expected at most "
                f"{LARGEST_ADAPTER:,}. Lower 'rank'."
            )
        if resume:
            return self._resume(trainable, facts)
        if self.log_path.exists() or self._adapter.exists():
            raise InputError(f"{self.folder} holds a run already. Pass --resume to go on with it, or another folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config_path.write_text(config_text(self._config), encoding="utf-8")
        self._append(facts)
        return 0, 0.0

    def _resume(self, trainable: _Trainable, facts: dict[str, Any]) -> tuple[int, float]:
        if not self._checkpoint.is_file():
            state = "a finished run" if self._adapter.exists() else "no checkpoint"
            raise InputError(f"{self.folder} holds {state}; there is nothing to resume. Start without --resume.")
        lines = self.log_path.read_text(encoding="utf-8").splitlines()
        before = json.loads(lines[0])
        for name in ("config", "pairs", "held_out", "base_sha256", "device"):
            if before[name] != facts[name]:
                raise InputError(
                    f"{self.folder} holds another run: its {name} was {shorten(before[name], 200)}; this one's is "
                    f"{shorten(facts[name], 200)}."
                )
        with safe_open(self._checkpoint, framework="pt") as file:
            saved = json.loads(file.metadata()["values"])
            trainable.restore({name: file.get_tensor(name) for name in file.keys()}, saved)  # noqa: SIM118
        kept = [line for line in lines[1:] if json.loads(line)["step"] <= saved["step"]]
        self.log_path.write_text("".join(f"{line}\n" for line in (lines[0], *kept)), encoding="utf-8")
        return int(saved["step"]), float(saved["seconds"])

    def log(self, **values: Any) -> None:
        self._append(values)

    def save_checkpoint(self, trainable: _Trainable, step: int, seconds: float) -> None:
        """Save what is needed to go on; a run that is cut off here keeps the checkpoint before."""
        unfinished = self._checkpoint.with_suffix(".part")
        tensors, values = trainable.state()
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()},
            unfinished,
            metadata={"values": json.dumps({**values, "step": step, "seconds": seconds})},
        )
        unfinished.replace(self._checkpoint)

    def finish(self, tensors: dict[str, Any], metadata: dict[str, str]) -> Path:
        save_file(tensors, self._adapter, metadata={**metadata, "format": "pt"})
        self._checkpoint.unlink(missing_ok=True)
        return self._adapter

    def _append(self, values: dict[str, Any]) -> None:
        with self.log_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values, ensure_ascii=False) + "\n")


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:  # torch raises all of them
        raise parameter_error("device", "a device that is there, such as 'cpu'", name) from error
    return device


def _low_rank_model(peft: Any, folder: Path, config: TrainingConfig) -> tuple[Any, Any]:
    """Load the base as a classifier of one label, and put low-rank matrices beside its weights."""
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    base = AutoConfig.from_pretrained(folder)
    if config.max_length > getattr(base, "max_position_embeddings", config.max_length):
        raise parameter_error("max_length", f"at most {base.max_position_embeddings} for {folder}", config.max_length)
    if base.model_type != "bert":
        raise InputError(
            f"{folder} holds a model of type {base.model_type!r}; expected 'bert', which the embedded model is read as."
        )
    torch.manual_seed(config.seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, use_safetensors=True)
    change = peft.LoraConfig(
        task_type="SEQ_CLS",
        r=config.rank,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=list(CHANGED_LAYERS),
        modules_to_save=["classifier"],
    )
    return peft.get_peft_model(model, change), tokenizer


def _optimizer(model: Any, config: TrainingConfig, steps: int) -> tuple[Any, Any]:
    from transformers import get_linear_schedule_with_warmup

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=config.weight_decay)
    schedule = get_linear_schedule_with_warmup(  # type: ignore[no-untyped-call]
        optimizer, int(config.warmup * steps), steps
    )
    return optimizer, schedule


def _epoch(lengths: Sequence[int], batch_size: int, rng: random.Random) -> Iterator[list[int]]:
    """Give every row once, in batches of pairs of like length, in a random order."""
    rows = list(range(len(lengths)))
    rng.shuffle(rows)
    batches: list[list[int]] = []
    for start in range(0, len(rows), batch_size * _SORTED_BATCHES):
        chunk = sorted(rows[start : start + batch_size * _SORTED_BATCHES], key=lambda row: lengths[row])
        batches += [chunk[first : first + batch_size] for first in range(0, len(chunk), batch_size)]
    rng.shuffle(batches)
    yield from batches


def _encode(model: Any, tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> Any:
    return tokenizer(
        [first for first, _ in pairs],
        [second for _, second in pairs],
        truncation="longest_first",
        max_length=max_length,
        padding=True,
        return_tensors="pt",
    ).to(model.device)


def _learn(
    model: Any,
    tokenizer: Any,
    batch: Sequence[TrainingPair],
    swapped: Sequence[bool],
    optimizer: Any,
    schedule: Any,
    max_length: int,
) -> float:
    """Take one step; the loss is binary cross-entropy against labels from 0 to 1."""
    texts = [
        (pair.second, pair.first) if swap else (pair.first, pair.second)
        for pair, swap in zip(batch, swapped, strict=True)
    ]
    logits = model(**_encode(model, tokenizer, texts, max_length)).logits.squeeze(-1)
    labels = torch.tensor([pair.label for pair in batch], dtype=torch.float32, device=logits.device)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), labels)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_([weight for weight in model.parameters() if weight.requires_grad], 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    return float(loss.item())


def _low_rank_tensors(peft: Any, model: Any) -> dict[str, Any]:
    """Take the trained tensors out, by the names that ``load_embedded`` reads."""
    tensors = {}
    for name, tensor in peft.get_peft_model_state_dict(model, save_embedding_layers=False).items():
        name = name.removeprefix("base_model.model.").replace(".modules_to_save", "")
        for side in ("lora_A", "lora_B"):
            name = name.replace(f".{side}.weight", f".weight.{side}")
        tensors[name] = tensor.detach().to(device="cpu", dtype=torch.float16).contiguous()
    return tensors
