"""Questions a second of ``ExtractiveReader`` beside the question-answering pipeline of transformers 4.

Both run the model of ``train_reader.py``, one object in memory, over the same questions of SQuAD 2.0's development set:
all questions of every k-th paragraph, in the order of the file. (Every k-th question would put paragraphs of all
lengths into one batch, and the pipeline, which pads batches as they come, would compute a third more than over the
whole file.) Both take windows of 384 tokens that share 128, and give one answer of at most 15 tokens.

* **times**: the contestants run in one process, one after the other, over and over (A B C A B C ...), so that whatever
  else the machine does meets all of them; each answers a few questions first, untimed. Loading is not timed.
* **answers**: those of the reader are held against the pipeline's: the same characters of the context.

The reader also lists its best spans and the null odds, which the pipeline does not. Run it from the repository's root,
on an idle machine, with transformers 4.57 (version 5 has no such pipeline)::

    python -m benchmarks.bench_reader path/to/dev-v2.0.json --write-readme
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "reader.json"
README = HERE / "README.md"
TABLE_MARKERS = ("<!-- reader: begin -->\n", "<!-- reader: end -->")
TARGET = 1.5  # times the pipeline, in batches of 32
WARM_UP = 8  # questions
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
OURS, PIPELINE = "ExtractiveReader", "transformers pipeline"
PAIRS = {  # what is compared: our batch size (None fills batches by tokens) and the pipeline's
    "batches of 1": (1, 1),
    "batches of 32": (32, 32),
    "each its default: by tokens; 1": (None, 1),
}

Spans = list[tuple[int, int]]
Contestant = Callable[[int], Spans]
"""Answers the first n questions."""


def read_rows(data_file: Path, count: int) -> list[dict[str, Any]]:
    """Return about so many questions: all those of paragraphs at even distances, in the order of the file."""
    from qa_scoring.records import squad_questions

    rows = list(squad_questions(json.loads(data_file.read_text(encoding="utf-8"))))
    paragraphs = [list(group) for _, group in groupby(rows, key=lambda row: row["context"])]
    return [row for paragraph in paragraphs[:: max(1, len(rows) // count)] for row in paragraph]


def contestants(model: Any, tokenizer: Any, rows: list[dict[str, Any]]) -> dict[str, Contestant]:
    """Return what is timed; ours and the pipeline take turns."""
    from transformers import pipeline

    from qa_scoring.extractive.reader import ExtractiveReader

    questions, contexts = ([row[name] for row in rows] for name in ("question", "context"))
    reader = ExtractiveReader(model, tokenizer)
    pipe = pipeline("question-answering", model=model, tokenizer=tokenizer, device=-1)
    lengths = {"max_seq_len": 384, "doc_stride": 128}

    def ours(batch_size: int | None) -> Contestant:
        def run(count: int) -> Spans:
            readings = reader.read(questions[:count], contexts[:count], batch_size=batch_size, **lengths)
            return [(reading.answers[0].start, reading.answers[0].end) for reading in readings]

        return run

    def theirs(batch_size: int) -> Contestant:
        def run(count: int) -> Spans:
            answers = pipe(
                question=questions[:count], context=contexts[:count], batch_size=batch_size,
                top_k=1, max_answer_len=15, **lengths,
            )  # fmt: skip
            return [(answer["start"], answer["end"]) for answer in answers]

        return run

    found: dict[str, Contestant] = {}
    for our_size, their_size in PAIRS.values():
        found[f"{OURS}, {our_size}"] = ours(our_size)
        found[f"{PIPELINE}, {their_size}"] = theirs(their_size)
    return found


def measure(data_file: Path, adapter: Path, questions: int, rounds: int, processor_time: bool) -> dict[str, Any]:
    """Run everything."""
    import torch

    from benchmarks.train_reader import load_reader_model

    now = time.process_time if processor_time else time.perf_counter
    busy = round(os.getloadavg()[0], 1)
    rows = read_rows(data_file, questions)
    model, tokenizer = load_reader_model(adapter)
    runs = contestants(model, tokenizer, rows)
    for run in runs.values():
        run(WARM_UP)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    spans: dict[str, Spans] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            began = now()
            spans[name] = run(len(rows))
            seconds[name].append(round(now() - began, 2))
            click.echo(f"{name}: {seconds[name][-1]} s", err=True)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    compared = {}
    for what, (our_size, their_size) in PAIRS.items():
        own, other = f"{OURS}, {our_size}", f"{PIPELINE}, {their_size}"
        same = sum(span == peer for span, peer in zip(spans[own], spans[other], strict=True))
        compared[what] = {
            "ours": own,
            "peer": other,
            "ratio": round(medians[other] / medians[own], 2),
            "same_answers": same,
        }
    return {
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "load_average_before": busy,
        },
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "weights": sum(weight.numel() for weight in model.parameters()),
        "questions": len(rows),
        "articles": len({row["title"] for row in rows}),
        "rounds": rounds,
        "time": "of the processor" if processor_time else "on the clock",
        "contestants": {
            name: {
                "seconds": values,
                "median_s": round(medians[name], 2),
                "min_s": min(values),
                "questions_per_second": round(len(rows) / medians[name], 1),
            }
            for name, values in seconds.items()
        },
        "compared": compared,
    }


def table(report: dict[str, Any]) -> str:
    """Write the report as the table of the README."""
    lines = ["| questions a second | reader | pipeline | ratio | same answer |", "|---|--:|--:|--:|--:|"]
    for what, pair in report["compared"].items():
        speeds = []
        for name in (pair["ours"], pair["peer"]):
            figures = report["contestants"][name]
            best = report["questions"] / figures["min_s"]
            speeds.append(f"{figures['questions_per_second']:.1f} ({best:.1f})")
        same = pair["same_answers"] / report["questions"]
        lines.append(f"| {what} | {speeds[0]} | {speeds[1]} | {pair['ratio']:.2f} | {same:.1%} |")
    reached = report["compared"]["batches of 32"]["ratio"]
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    met = "met" if reached >= TARGET else "**missed**"
    lines += [
        "",
        f"Target in batches of 32: at least {TARGET} times the pipeline; {met}.",
        "",
        f"{report['questions']:,} questions of {report['articles']} articles, {report['weights'] / 1e6:.1f} million "
        f"weights in float32. Median (best) of {report['rounds']} runs, time {report['time']}; ratios are of medians. "
        f"{machine['system']} on {machine['architecture']}, {machine['cores']} cores, {machine['threads']} threads, "
        f"load average before: {machine['load_average_before']}; {versions}.",
    ]
    return "\n".join(lines) + "\n"


def readme_with_table(text: str, report: dict[str, Any]) -> str:
    """Put the table of a report between its markers."""
    begin, end = TABLE_MARKERS
    start, stop = text.index(begin) + len(begin), text.index(end)
    return text[:start] + table(report) + text[stop:]


@click.command()
@click.argument("data_file", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--adapter", type=click.Path(exists=True, path_type=Path), default=HERE / "reader", help="Of the model.")
@click.option("--questions", type=click.IntRange(min=WARM_UP), default=300, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--processor-time", is_flag=True, help="For one thread on a busy machine.")
@click.option("--write-readme", is_flag=True, help="Put the table of the committed report into the README.")
def main(
    data_file: Path | None,
    adapter: Path,
    questions: int,
    rounds: int,
    out: Path,
    processor_time: bool,
    write_readme: bool,
) -> None:
    """Measure on DATA_FILE, SQuAD 2.0's dev-v2.0.json; without it, only write the README."""
    if data_file is not None:
        report = measure(data_file, adapter, questions, rounds, processor_time)
        out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        click.echo(table(report))
    if write_readme:
        report = json.loads(RESULTS.read_text(encoding="utf-8"))
        README.write_text(readme_with_table(README.read_text(encoding="utf-8"), report), encoding="utf-8")


if __name__ == "__main__":
    main()
