"""Time of ``ava_metric``'s networks beside *CrossEncoder.predict* of sentence-transformers, on the same weights.

The answers of one real system (``danaliu67``, SQuAD 2 dev) to questions drawn by a seed, each against all gold answers
as annotators gave them: more than half of the pairs are repeated. Both contestants run the same network (A1, one pair:
reference with question and answer; made from the base with a fixed seed, since its weights do not change its speed)
over the same pairs:

* ``ava_metric``'s judge, through ``score_distinct`` as ``compute`` calls it;
* *CrossEncoder.predict* over all pairs, as it comes (batches of 32).

They run in one process, turn by turn. Loading is not timed. Every score is held against *predict*'s.

Run it from the repository's root, on an idle machine::

    python benchmarks/bench_ava.py SQUAD --out benchmarks/results/ava.json
    python benchmarks/bench_ava.py --write-readme
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "ava.json"
README = HERE / "README.md"
TABLE_MARKERS = ("<!-- ava: begin -->\n", "<!-- ava: end -->")
SYSTEM = "predictions/danaliu67_albert-large.predictions.json"
SEED = 20
REPEATS = 3
PACKAGES = ("torch", "transformers", "sentence-transformers", "numpy")


def make_judge(folder: Path) -> None:
    """Write an A1 judge with one pair, from the base."""
    import torch

    from qa_scoring.encoders.base_model import base_model_folder
    from qa_scoring.judge.modeling import JudgeModel, save_judge

    torch.manual_seed(0)
    base = base_model_folder()
    model = JudgeModel.from_base(str(base), pairs=("r-qt",), encoders="shared", max_tokens=128)
    from transformers import AutoTokenizer

    save_judge(model, AutoTokenizer.from_pretrained(base), folder)


def cross_encoder(judge: Any, tokenizer: Any) -> Any:
    """Put the judge's network into sentence-transformers' CrossEncoder."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification
    from transformers.modeling_outputs import SequenceClassifierOutput

    class AsClassifier(torch.nn.Module):
        def __init__(self, network: Any) -> None:
            super().__init__()
            self.network = network
            self.config = network.config

        def forward(self, **inputs: Any) -> SequenceClassifierOutput:
            named = {f"pair_0_{name}": value for name, value in inputs.items() if name != "return_dict"}
            return SequenceClassifierOutput(logits=self.network(**named).logits[:, None])

    with tempfile.TemporaryDirectory() as folder:  # CrossEncoder loads only what transformers knows as a classifier
        tiny = BertConfig(
            vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
            num_labels=1,
        )  # fmt: skip
        BertForSequenceClassification(tiny).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        encoder = CrossEncoder(folder, device="cpu", max_length=128)
    module = next(part for part in encoder.modules() if isinstance(part, BertForSequenceClassification))
    for parent in encoder.modules():
        for name, child in parent.named_children():
            if child is module:
                setattr(parent, name, AsClassifier(judge.model))
                return encoder
    raise RuntimeError("CrossEncoder holds no classifier")


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = run()
    return time.perf_counter() - started, found


def read_answers(squad: Path, count: int) -> list[tuple[str, str, list[str]]]:
    """Read questions, answers and gold answers, none of them blank."""
    from qa_scoring.records import squad_questions

    questions = squad_questions(json.loads((squad / "dev-v2.0.json").read_text(encoding="utf-8")))
    given = json.loads((squad / SYSTEM).read_text(encoding="utf-8"))
    rows = [
        (question["question"], given[question["id"]], [gold["text"] for gold in question["answers"]])
        for question in questions
        if question["answers"] and given[question["id"]].strip()
    ]
    return random.Random(SEED).sample(rows, count)


def measure(data: Path, answers: int, repeats: int) -> dict[str, Any]:
    import numpy as np
    import torch

    from qa_scoring.encoders.scorers import score_distinct
    from qa_scoring.judge.inputs import item
    from qa_scoring.judge.network_judge import load_network_judge

    rows = read_answers(data, answers)
    items = [item(question, answer, [text]) for question, answer, references in rows for text in references]
    with tempfile.TemporaryDirectory() as folder:
        make_judge(Path(folder))
        judge = load_network_judge(folder, device="cpu")
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)
    encoder = cross_encoder(judge, tokenizer)
    separator = f" {tokenizer.sep_token} "
    pairs = [(reference, f"{question}{separator}{answer}") for question, answer, reference in items]
    contestants: dict[str, Callable[[], Any]] = {
        "ava_metric": lambda: score_distinct(judge, items).scores,
        "CrossEncoder.predict": lambda: encoder.predict(pairs, activation_fn=torch.nn.Sigmoid()),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    scores: dict[str, Any] = {}
    for _ in range(repeats):
        for name, run in contestants.items():
            seconds, scores[name] = timed(run)
            times[name].append(round(seconds, 2))
    mean = {name: statistics.median(values) for name, values in times.items()}
    return {
        "command": f"python benchmarks/bench_ava.py SQUAD --answers {answers} --repeats {repeats}",
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "threads": torch.get_num_threads(),
        "answers": len(rows),
        "pairs": len(items),
        "distinct": len(set(items)),
        "seconds": times,
        "pairs_per_second": {name: round(len(items) / seconds, 1) for name, seconds in mean.items()},
        "ratio": round(mean["CrossEncoder.predict"] / mean["ava_metric"], 2),
        "largest_change": float(np.abs(scores["ava_metric"] - scores["CrossEncoder.predict"]).max()),
    }


def table(report: dict[str, Any]) -> str:
    lines = ["| | pairs a second | ratio |", "|---|--:|--:|"]
    base = report["pairs_per_second"]["CrossEncoder.predict"]
    lines += [f"| {name} | {speed:,.0f} | {speed / base:.2f} |" for name, speed in report["pairs_per_second"].items()]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    lines += [
        "",
        f"{report['pairs']:,} pairs of {report['answers']:,} answers, {report['distinct']:,} of them distinct; largest "
        f"difference of two scores {report['largest_change']:.0e}. {report['threads']} threads; {versions}.",
    ]
    return "\n".join(lines) + "\n"


def readme_with_table(text: str, report: dict[str, Any]) -> str:
    """Put the table of a report between its markers."""
    begin, end = TABLE_MARKERS
    start, stop = text.index(begin) + len(begin), text.index(end)
    return text[:start] + table(report) + text[stop:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("squad", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--write-readme", action="store_true")
    options = parser.parse_args()
    if options.squad is not None:
        report = measure(options.squad, options.answers, options.repeats)
        options.out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(table(report))
    if options.write_readme:
        report = json.loads(RESULTS.read_text(encoding="utf-8"))
        text = README.read_text(encoding="utf-8")
        README.write_text(readme_with_table(text, report), encoding="utf-8")


if __name__ == "__main__":
    main()
