"""Train the extractive model of the tests and benchmarks: a LoRA adapter over the embedded models' base.

SQuAD 2.0's development set is split by article: the model learns from most, the others are held out. It is a test
object, far too small a training set for use.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import click
import torch

from qa_scoring.encoders.base_model import BASE_MODEL, base_model_folder
from qa_scoring.extractive.windows import Window, WindowMaker
from qa_scoring.records import squad_questions

HERE = Path(__file__).resolve().parent
ADAPTER = HERE / "reader"
TUNING = ("Black_Death", "European_Union_law", "Geology", "Oxygen", "Private_school", "Warsaw")
TESTING = ("Amazon_rainforest", "Civil_disobedience", "Huguenot", "Packet_switching", "Prime_number", "Normans")


def load_reader_model(adapter: Path = ADAPTER) -> tuple[Any, Any]:
    """Return the trained model, its adapter merged, and its tokenizer."""
    from peft import PeftModel

    model, tokenizer = _base()
    merged = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    return merged.float().eval(), tokenizer


def questions_of(data_file: Path, titles: tuple[str, ...] | None) -> list[dict[str, Any]]:
    """Return the questions of some articles, or of those that are not held out."""
    data = json.loads(data_file.read_text(encoding="utf-8"))
    rows = squad_questions(data)
    if titles is None:
        return [row for row in rows if row["title"] not in (*TUNING, *TESTING)]
    return [row for row in rows if row["title"] in titles]


def _base() -> tuple[Any, Any]:
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    folder = base_model_folder()
    torch.manual_seed(0)  # of the new layer
    model = AutoModelForQuestionAnswering.from_pretrained(folder, dtype=torch.float32)
    return model, AutoTokenizer.from_pretrained(folder)


def _labels(window: Window, answer: tuple[int, int] | None) -> tuple[int, int]:
    """Return the first and last token of an answer; [CLS] twice where the window does not hold it."""
    if answer is not None:
        places = range(window.first, window.first + window.tokens)
        offsets = window.offsets
        inside = [place for place in places if offsets[place][0] < answer[1] and offsets[place][1] > answer[0]]
        if inside and offsets[inside[0]][0] <= answer[0] and offsets[inside[-1]][1] >= answer[1]:
            return inside[0], inside[-1]
    return window.null, window.null


def _examples(rows: list[dict[str, Any]], tokenizer: Any) -> list[tuple[dict[str, list[int]], tuple[int, int]]]:
    maker = WindowMaker(tokenizer, max_seq_len=384, doc_stride=128, max_question_len=64)
    made = maker.make([row["question"] for row in rows], [row["context"] for row in rows])
    examples = []
    for row, windows in zip(rows, made, strict=True):
        spans = {(answer["answer_start"], answer["answer_start"] + len(answer["text"])) for answer in row["answers"]}
        for answer in sorted(spans, key=lambda span: span[1] - span[0])[:1] or [None]:
            examples += [(window.inputs, _labels(window, answer)) for window in windows]
    return examples


@click.command()
@click.argument("data_file", type=click.Path(exists=True, path_type=Path))
@click.option("--epochs", default=3, show_default=True)
@click.option("--batch-size", default=16, show_default=True)
@click.option("--learning-rate", default=1e-3, show_default=True)
@click.option("--rank", default=32, show_default=True, help="Of the adapter.")
@click.option("--output-dir", type=click.Path(path_type=Path), default=ADAPTER, show_default=True)
def main(data_file: Path, epochs: int, batch_size: int, learning_rate: float, rank: int, output_dir: Path) -> None:
    """Train on the articles of DATA_FILE (SQuAD 2.0's dev-v2.0.json) that are not held out."""
    from peft import LoraConfig, get_peft_model
    from transformers import get_linear_schedule_with_warmup

    base, tokenizer = _base()
    examples = _examples(questions_of(data_file, None), tokenizer)
    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules=["query", "key", "value", "dense"], modules_to_save=["qa_outputs"]
    )
    model = get_peft_model(base, config)
    model.peft_config["default"].base_model_name_or_path = BASE_MODEL  # not the folder of this machine
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.01)
    steps = epochs * -(-len(examples) // batch_size)
    schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    shuffle = random.Random(0)
    model.train()
    done, began = 0, time.monotonic()
    for epoch in range(epochs):
        shuffle.shuffle(examples)
        # batches of similar length, in random order
        chunks = [examples[at : at + 50 * batch_size] for at in range(0, len(examples), 50 * batch_size)]
        ordered = [example for chunk in chunks for example in sorted(chunk, key=lambda item: len(item[0]["input_ids"]))]
        batches = [ordered[at : at + batch_size] for at in range(0, len(ordered), batch_size)]
        shuffle.shuffle(batches)
        total = 0.0
        for batch in batches:
            inputs = {
                name: torch.nn.utils.rnn.pad_sequence([torch.tensor(item[0][name]) for item in batch], batch_first=True)
                for name in batch[0][0]
            }
            starts, ends = torch.tensor([item[1] for item in batch]).T
            loss = model(**inputs, start_positions=starts, end_positions=ends).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            done, total = done + 1, total + loss.item()
            if done % 25 == 0:
                click.echo(f"epoch {epoch} step {done}/{steps} loss {loss.item():.3f} {time.monotonic() - began:.0f} s")
        click.echo(f"epoch {epoch} mean loss {total / len(batches):.3f}")
        model.half().save_pretrained(output_dir)
        (output_dir / "README.md").unlink(missing_ok=True)  # peft's empty form
        model.float()  # trained on from the rounded weights


if __name__ == "__main__":
    main()
