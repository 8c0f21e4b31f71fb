"""Train a judge that is a network, with the Trainer of transformers."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler
from transformers import (
    AutoTokenizer,
    EarlyStoppingCallback,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from qa_scoring.encoders.base_model import BASE_MODEL, base_model_folder
from qa_scoring.encoders.devices import choose_device
from qa_scoring.encoders.hub import cannot_load, check_usable
from qa_scoring.encoders.scorers import Progress
from qa_scoring.errors import InputError
from qa_scoring.extras import distribution_version
from qa_scoring.judge.examples import ExampleSets, JudgedExample
from qa_scoring.judge.inputs import Assembled, Triple, assemble, longest_pairs, pad
from qa_scoring.judge.modeling import JudgeModel, save_judge
from qa_scoring.judge.training_config import JudgeTrainingConfig
from qa_scoring.judge.training_log import append_line, held_out_figures

_SORTED_BATCHES = 40  # examples of like length are put together within this many batches
_VERSIONS = ("torch", "transformers", "accelerate", "tokenizers")

Row = dict[str, Any]


class AssembledExamples(Dataset[Row]):
    """Examples as tokens.

    Args:
        examples: n examples.
        tokenizer: Of the base.
        pairs: Names of ``PAIRS``.
        max_length: Longest pair, in tokens.
    """

    def __init__(
        self, examples: Sequence[JudgedExample], tokenizer: Any, pairs: Sequence[str], max_length: int
    ) -> None:
        triples = [Triple(row.question, row.reference, row.answer) for row in examples]
        self._examples = examples
        self._tokens = assemble(tokenizer, pairs, triples, max_length)
        self.lengths = longest_pairs(self._tokens)
        self.truncated = sum(self._tokens.truncated)

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, row: int) -> Row:
        pairs = [{name: values[row] for name, values in pair.items()} for pair in self._tokens.pairs]
        return {"pairs": pairs, "label": self._examples[row].correct, "weight": self._examples[row].weight}


class Collator:
    """Puts examples together as a batch: what ``NetworkJudge`` feeds, and labels and weights.

    Args:
        tokenizer: The one that assembled them.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, rows: Sequence[Row]) -> dict[str, torch.Tensor]:
        """Return the tensors that ``JudgeModel`` takes."""
        pairs = [
            {name: [row["pairs"][number][name] for row in rows] for name in pair}
            for number, pair in enumerate(rows[0]["pairs"])
        ]
        return {
            **pad(self._tokenizer, Assembled(pairs, []), range(len(rows))),
            "labels": torch.tensor([float(row["label"]) for row in rows]),
            "weights": torch.tensor([float(row["weight"]) for row in rows]),
        }


class NetworkTraining:
    """One run, ready to start.

    Args:
        config: What to train, and how.
        sets: The examples.
        device: Of torch; None takes what is there.

    Raises:
        InputError: The base cannot be loaded or used, or the device is not there.
    """

    def __init__(self, config: JudgeTrainingConfig, sets: ExampleSets, device: str | None) -> None:
        self._config = config
        self._device = choose_device(device)
        if ":" in self._device:
            raise InputError(f"Training takes the first card it sees; set CUDA_VISIBLE_DEVICES in place of {device!r}.")
        source = str(base_model_folder()) if config.base == BASE_MODEL else config.base
        torch.manual_seed(config.seed)
        self._model = JudgeModel.from_base(
            source,
            pairs=config.pairs,
            encoders=config.encoders,
            peer_attention=config.peer_attention,
            adapter_rank=config.adapter_rank,
            adapter_alpha=config.adapter_alpha,
            max_tokens=config.max_length,
            dropout=config.dropout,
        )
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise cannot_load(source, None, error) from error
        check_usable(source, self._model, self._tokenizer, config.max_length)
        self._train, self._held_out = (
            AssembledExamples(examples, self._tokenizer, config.pairs, config.max_length)
            for examples in (sets.train, sets.held_out)
        )
        self.facts = {
            "truncated": {"examples": self._train.truncated, "held_out": self._held_out.truncated},
            "weights": {
                "all": sum(weight.numel() for weight in self._model.parameters()),
                "trained": sum(weight.numel() for weight in self._model.parameters() if weight.requires_grad),
            },
            "device": self._device,
            "threads": torch.get_num_threads(),
            "versions": {name: distribution_version(name) for name in _VERSIONS},
        }

    def run(self, out: Path, checkpoints: Path, log: Path, *, resume: bool, progress: Progress) -> None:
        """Train, and write the weights of the best F1.

        Args:
            out: Where the judge goes.
            checkpoints: Where the Trainer keeps what a run needs to go on.
            log: Gets a line per evaluation.
            resume: Whether to go on from the last checkpoint.
            progress: Wraps the steps.
        """
        config = self._config
        callbacks: list[TrainerCallback] = [_ShowProgress(progress)]
        if config.early_stopping_patience is not None:
            callbacks.append(EarlyStoppingCallback(early_stopping_patience=config.early_stopping_patience))
        trainer = _LoggingTrainer(
            model=self._model,
            args=self._arguments(checkpoints),
            data_collator=Collator(self._tokenizer),
            train_dataset=self._train,
            eval_dataset=self._held_out,
            compute_metrics=_figures,
            callbacks=callbacks,
        )
        trainer.log_path = log
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        trainer.train(resume_from_checkpoint=True if resume else None)
        model: Any = self._model
        save_judge(model.to("cpu"), self._tokenizer, out)

    def _arguments(self, checkpoints: Path) -> TrainingArguments:
        config = self._config
        steps = config.epochs * math.ceil(len(self._train) / config.batch_size)
        when: dict[str, Any] = {"eval_strategy": "epoch", "save_strategy": "epoch"}
        if config.evaluate_every is not None:
            every = min(config.evaluate_every, steps)
            when = {"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": every, "save_steps": every}
        return TrainingArguments(
            output_dir=str(checkpoints),
            **when,
            num_train_epochs=config.epochs,
            per_device_train_batch_size=config.batch_size,
            per_device_eval_batch_size=config.batch_size,
            learning_rate=config.learning_rate,
            warmup_steps=round(config.warmup * steps),
            weight_decay=config.weight_decay,
            load_best_model_at_end=True,
            metric_for_best_model="f1",
            greater_is_better=True,
            save_total_limit=2,
            restore_callback_states_from_checkpoint=True,
            bf16=config.bfloat16,
            use_cpu=self._device == "cpu",
            seed=config.seed,
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["labels"],
            dataloader_pin_memory=self._device == "cuda",
        )


class LengthGrouped(Sampler[int]):
    """Puts examples of like length together, in an order that seed and epoch give.

    Args:
        lengths: Of n examples, in tokens.
        batch_size: Examples per step.
        seed: The seed.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        self._lengths = lengths
        self._size = batch_size
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Say which pass over the examples comes next."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng((self._seed, self._epoch))
        order = rng.permutation(len(self._lengths)).tolist()
        batches: list[list[int]] = []
        for start in range(0, len(order), self._size * _SORTED_BATCHES):
            part = sorted(order[start : start + self._size * _SORTED_BATCHES], key=lambda row: -self._lengths[row])
            batches += [part[first : first + self._size] for first in range(0, len(part), self._size)]
        rest = [batches.pop()] if len(batches[-1]) < self._size else []  # only the last batch may be short
        for place in rng.permutation(len(batches)).tolist():
            yield from batches[place]
        for batch in rest:
            yield from batch


class _LoggingTrainer(Trainer):
    """The Trainer with a loss that must be a number, our order of examples, and our log."""

    log_path: Path

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._losses: list[float] = []
        self._started = time.monotonic()

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        found: Any = self.train_dataset if train_dataset is None else train_dataset
        return LengthGrouped(found.lengths, self.args.per_device_train_batch_size, self.args.seed)

    def compute_loss(self, model: Any, inputs: Any, *rest: Any, **options: Any) -> Any:
        found = super().compute_loss(model, inputs, *rest, **options)
        if model.training:
            loss = float((found[0] if isinstance(found, tuple) else found).detach())
            if not math.isfinite(loss):
                raise InputError(
                    f"The loss is {loss} in step {self.state.global_step + 1}; expected a number. Lower learning_rate."
                )
            self._losses.append(loss)
        return found

    def evaluate(self, *arguments: Any, **options: Any) -> dict[str, float]:
        figures: dict[str, float] = super().evaluate(*arguments, **options)
        line: dict[str, Any] = {"step": self.state.global_step, "epoch": round(float(self.state.epoch or 0), 3)}
        if self._losses:
            line["loss"] = round(float(np.mean(self._losses)), 6)
        names = {"eval_loss": "held_out_loss", "eval_f1": "f1", "eval_accuracy": "accuracy"}
        line |= {ours: round(figures[theirs], 6) for theirs, ours in names.items()}
        append_line(self.log_path, {**line, "seconds": round(time.monotonic() - self._started, 1)})
        self._losses = []
        return figures


class _ShowProgress(TrainerCallback):
    """Goes through a progress bar, step by step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: Iterator[Any] = iter(())

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self._steps = iter(self._progress(range(state.max_steps - state.global_step)))

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        next(self._steps, None)

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        for _ in self._steps:
            pass


def _figures(evaluated: Any) -> dict[str, float]:
    """Compare verdicts with labels; a logit of 0 is a probability of a half."""
    return held_out_figures(evaluated.label_ids > 0.5, evaluated.predictions >= 0)
