"""Train every model family of AVA on the same answers and compare them (the order of the paper's table 4).

    python benchmarks/judge_families.py DATA --out benchmarks/results/judge_families.json

DATA is the folder with ``judgements/evouna_train.jsonl`` and ``judgements/evouna_dev.jsonl``. Answers below 80
characters are used, each with the one reference it shares most words with; every family sees the same examples in the
same number of steps, from the same base, under the same seed. Families that are in the file already are not trained
again.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.judge.examples import read_source
from qa_scoring.judge.families import FAMILIES
from qa_scoring.judge.inputs import item
from qa_scoring.judge.loading import load_judge
from qa_scoring.judge.sources import JudgedAnswers
from qa_scoring.judge.training import train_judge
from qa_scoring.judge.training_config import JudgeTrainingConfig
from qa_scoring.judgements import read_judged_answers
from qa_scoring.statistics.classification import classification_figures

BASE = "sentence-transformers/all-MiniLM-L6-v2"
LONGEST = 80  # characters
SOURCE = {"references_per_answer": 1, "references_by": "overlap"}
NETWORK = {
    "base": BASE, "epochs": 1, "learning_rate": 2e-4, "batch_size": 8, "max_length": 96, "warmup": 0.1,
}  # fmt: skip


def short_answers(path: Path, out: Path, most: int | None, seed: int) -> Path:
    """Write the short answers of a file of judged answers, at most so many."""
    rows = [row for row in read_judged_answers(path) if len(row.answer.strip()) > 0 and len(row.answer) < LONGEST]
    if most is not None:
        rows = random.Random(seed).sample(rows, most)
    with out.open("w", encoding="utf-8") as file:
        for row in rows:
            values = {**row._asdict(), "references": list(row.references)}
            file.write(json.dumps(values, ensure_ascii=False) + "\n")
    return out


def measure(folder: Path, judged: Path) -> dict[str, object]:
    examples = read_source(JudgedAnswers(path=judged.name, **SOURCE), judged).examples
    judge = load_judge(str(folder), device="cpu")
    started = time.perf_counter()
    scores = score_distinct(judge, [item(one.question, one.answer, [one.reference]) for one in examples]).scores
    seconds = time.perf_counter() - started
    labels = np.array([float(one.correct) for one in examples])
    figures = classification_figures(labels, scores, 0.5, confidence_level=0.95, n_resamples=2000, seed=0)
    return {**asdict(figures), "seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.is_file() else {}
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        short_answers(
            options.data / "judgements/evouna_train.jsonl", data / "train.jsonl", options.examples, options.seed
        )
        judged = short_answers(options.data / "judgements/evouna_dev.jsonl", data / "judged.jsonl", None, options.seed)
        sources = (JudgedAnswers(path="train.jsonl", **SOURCE),)
        shared = {"seed": options.seed, "holdout": 0.02, "sources": sources}
        configs = {"linear": JudgeTrainingConfig(name="linear", family="linear", **shared)}
        for name, family in FAMILIES.items():
            settings = {"pairs": family.pairs, "peer_attention": family.peer_attention, **NETWORK}
            configs[name] = JudgeTrainingConfig(name="network", **settings, **shared)
        for number, (name, config) in enumerate(configs.items()):
            if name in results:
                continue
            started = time.perf_counter()
            folder = data / f"judge-{number}"
            train_judge(config, data, folder, device="cpu")
            trained = time.perf_counter() - started
            results[name] = {"training_seconds": round(trained, 1), **measure(folder, judged)}
            options.out.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
            print(name, round(trained), {key: results[name][key] for key in ("auroc", "accuracy", "f1")}, flush=True)


if __name__ == "__main__":
    main()
