"""Coverage of the interval that ``human_labels`` gives, over samples of labelled answers.

The judge judges all answers of a file once; then 5 % of them are drawn as labelled, over and over, and the interval of
each draw is held against the accuracy of all of them by people. Beside it: the interval of the labels alone.

    python benchmarks/ppi_coverage.py ANSWERS.jsonl --out benchmarks/results/ppi.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from qa_scoring.ava import score_ava
from qa_scoring.judgements import read_judged_answers
from qa_scoring.statistics.prediction_powered import prediction_powered_mean

SEED = 20


def simulate(labels: Any, judged: Any, samples: int, part: float) -> dict[str, Any]:
    generator = np.random.default_rng(SEED)
    count = round(part * len(labels))
    truth = float(labels.mean())
    covered, covered_alone, widths, widths_alone, narrower = 0, 0, [], [], 0
    for _ in range(samples):
        known = np.zeros(len(labels), dtype=bool)
        known[generator.choice(len(labels), count, replace=False)] = True
        found = prediction_powered_mean(labels[known], judged[known], judged[~known], confidence_level=0.95)
        alone = found.labels_only
        covered += found.low <= truth <= found.high
        covered_alone += alone.low <= truth <= alone.high
        widths.append(found.high - found.low)
        widths_alone.append(alone.high - alone.low)
        narrower += widths[-1] < widths_alone[-1]
    return {
        "samples": samples,
        "labelled": count,
        "covered": round(covered / samples, 4),
        "labels_alone_covered": round(covered_alone / samples, 4),
        "mean_width": round(float(np.mean(widths)), 4),
        "labels_alone_mean_width": round(float(np.mean(widths_alone)), 4),
        "narrower": round(narrower / samples, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("answers", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", type=float, default=0.05)
    options = parser.parse_args()
    rows = list(read_judged_answers(options.answers))
    scored = score_ava(
        [row.answer for row in rows], [list(row.references) for row in rows], questions=[row.question for row in rows]
    )
    labels = np.array([float(row.correct) for row in rows])
    report = {
        "command": "python benchmarks/ppi_coverage.py evouna_dev.jsonl",
        "answers": len(rows),
        "accuracy": round(float(labels.mean()), 4),
        "judged_accuracy": round(float(scored.rows.scores["ava_accuracy"].mean()), 4),
        "signature": str(scored.signature),
        "runs": {
            f"{samples} samples, {name}": simulate(labels, scored.rows.scores[name], samples, options.part)
            for samples in (500, 20_000)
            for name in ("ava_accuracy", "ava_score")
        },
    }
    text = json.dumps(report, indent=2) + "\n"
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
