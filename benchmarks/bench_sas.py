"""Time, score changes and memory of ``sas_metric``, through ``evaluate.load(...).compute(...)``, beside other scorers.

The answers of one real system (``danaliu67``, SQuAD 2 dev) against all gold answers, as annotators gave them: of the
pairs more than half are repeated. All contestants read the same model from the same folder:

* ``sas_metric`` in float32, in ONNX Runtime (float32 and int8), and over answers that it has scored before;
* *CrossEncoder.predict* of sentence-transformers over all pairs, and *SASEvaluator* of haystack-ai, both as they come.

Peers that are not installed are left out, and the report says so.

* **times**: contestants run in one process, one after the other, over and over (A B C A B C ...), so that whatever else
  the machine does meets all of them. Loading the model is not timed; looking up and hashing for the cache is.
* **changes**: every score is held against *predict*'s.
* **memory**: peak of a process that does nothing but load one contestant and run it once.
* **targets**: the limits that this project sets itself; the table says which are met.

Run it from the repository's root, on an idle machine::

    python benchmarks/bench_sas.py --model path/to/a/cross-encoder --out benchmarks/results/sas.json
    python benchmarks/bench_sas.py --write-readme
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "sas.json"
README = HERE / "README.md"
TABLE_MARKERS = ("<!-- sas: begin -->\n", "<!-- sas: end -->")
SQUAD = HERE.parent.parent / "shared" / "data" / "squad"
SYSTEM = "predictions/danaliu67_albert-large.predictions.json"

SEED = 20
REPEATS = 3
PACKAGES = ("evaluate", "torch", "transformers", "sentence-transformers", "onnxruntime", "haystack-ai", "numpy")

Figures = dict[str, Any]
Pair = tuple[str, str]


# ---------------------------------------------------------------------------------------- pairs


@dataclass(frozen=True)
class Examples:
    """n questions with a predicted answer and one or more gold answers, none of them blank."""

    predictions: list[str]
    references: list[list[str]]

    def pairs(self) -> list[Pair]:
        """Return every prediction with each of its references."""
        return [
            (prediction, answer)
            for prediction, answers in zip(self.predictions, self.references, strict=True)
            for answer in answers
        ]


def read_examples(squad: Path, questions: int | None) -> Examples:
    """Read the questions whose pairs reach a model.

    Args:
        squad: Folder with ``dev-v2.0.json`` and the system's predictions.
        questions: How many, drawn with a seed; None for all.

    Returns:
        The same rows every time.
    """
    predicted = json.loads((squad / SYSTEM).read_text(encoding="utf-8"))
    articles = json.loads((squad / "dev-v2.0.json").read_text(encoding="utf-8"))["data"]
    rows = [
        (predicted[question["id"]], [answer["text"] for answer in question["answers"]])
        for article in articles
        for part in article["paragraphs"]
        for question in part["qas"]
        if question["answers"] and predicted[question["id"]].strip()
    ]
    if questions is not None and questions < len(rows):
        rows = random.Random(SEED).sample(rows, questions)
    return Examples([prediction for prediction, _ in rows], [answers for _, answers in rows])


# ---------------------------------------------------------------------------------- contestants

Prepare = Callable[[Examples], Callable[[], list[float]]]
"""Bring rows into a scorer's form (not timed), and return the call that scores all pairs (timed)."""


def ours(model: str, **options: Any) -> Prepare:
    """Return the metric with these options for ``compute``."""
    import evaluate

    import qa_scoring

    metric = evaluate.load(qa_scoring.metric_path("sas_metric"))

    def prepare(rows: Examples) -> Callable[[], list[float]]:
        def call() -> list[float]:
            result = metric.compute(
                predictions=rows.predictions,
                references=rows.references,
                model=model,
                device="cpu",
                details=True,
                **options,
            )
            return [score for row in result["details"] for score in row["reference_scores"]]

        metric.compute(predictions=["a"], references=["b"], model=model, device="cpu", **options)  # loads the model
        return call

    return prepare


def ours_again(model: str, cache_dir: str) -> Prepare:
    """Return the metric over answers that it has scored before."""

    def prepare(rows: Examples) -> Callable[[], list[float]]:
        call = ours(model, cache_dir=cache_dir)(rows)
        call()
        return call

    return prepare


def predict(model: str) -> Prepare:
    """Return sentence-transformers' cross-encoder."""
    from sentence_transformers import CrossEncoder

    encoder = CrossEncoder(model, device="cpu")

    def prepare(rows: Examples) -> Callable[[], list[float]]:
        pairs = rows.pairs()
        encoder.predict(pairs[:2])
        return lambda: [float(score) for score in encoder.predict(pairs, show_progress_bar=False)]

    return prepare


def haystack(model: str) -> Prepare:
    """Return haystack's evaluator."""
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    from haystack.components.evaluators.sas_evaluator import SASEvaluator
    from haystack.utils import ComponentDevice

    evaluator = SASEvaluator(model=model, device=ComponentDevice.from_str("cpu"))
    evaluator.warm_up()

    def prepare(rows: Examples) -> Callable[[], list[float]]:
        predicted, gold = (list(side) for side in zip(*rows.pairs(), strict=True))
        evaluator.run(ground_truth_answers=gold[:2], predicted_answers=predicted[:2])

        def call() -> list[float]:
            scores: list[float] = evaluator.run(ground_truth_answers=gold, predicted_answers=predicted)[
                "individual_scores"
            ]
            return scores

        return call

    return prepare


FLOAT32, ONNX, INT8 = "float32", 'backend="onnx"', 'backend="onnx", dtype="int8"'
AGAIN = "cache_dir, second run"
PREDICT, HAYSTACK = "CrossEncoder.predict", "haystack SASEvaluator"
PEERS = (PREDICT, HAYSTACK)


def contestants(model: str, cache_dir: str) -> dict[str, Callable[[], Prepare]]:
    """Return what is timed, each loaded on use."""
    return {
        PREDICT: lambda: predict(model),
        HAYSTACK: lambda: haystack(model),
        FLOAT32: lambda: ours(model),
        ONNX: lambda: ours(model, backend="onnx"),
        INT8: lambda: ours(model, backend="onnx", dtype="int8"),
        AGAIN: lambda: ours_again(model, cache_dir),
    }


# --------------------------------------------------------------------------------------- timing


def time_interleaved(
    calls: dict[str, Callable[[], list[float]]], repeats: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Run all calls in turn, several times; return the seconds of each run on the clock, and the scores of the last."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    scores: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, call in calls.items():
            gc.collect()
            start = time.perf_counter()
            scores[name] = call()
            seconds[name].append(time.perf_counter() - start)
            print(f"{name}: {seconds[name][-1]:.2f} s", file=sys.stderr)
    return seconds, scores


def change(scores: Sequence[float], expected: Sequence[float]) -> Figures:
    """Compare the scores of all pairs."""
    changes = [abs(score - other) for score, other in zip(scores, expected, strict=True)]
    return {"largest": max(changes), "mean": statistics.fmean(changes)}


def ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """Compare two contestants run by run: neighbours in time meet the same noise."""
    return round(statistics.median(a / b for a, b in zip(slow, fast, strict=True)), 2)


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process in MB (10^6 bytes)."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count the parent, which has all contestants loaded
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return round(int(line.split()[1]) * 1024 / 1e6, 1)
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def measure_alone(args: argparse.Namespace) -> Figures:
    """Load one contestant in this process, which does nothing else, and run it once."""
    rows = read_examples(args.squad, args.questions)
    contestants(str(args.model), str(args.cache_dir))[args.alone]()(rows)()
    return {"peak_mb": peak_memory_mb()}


def memory_of(name: str, model: Path, cache_dir: Path, args: argparse.Namespace) -> Figures:
    """Run ``measure_alone`` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--alone", name, "--model", str(model)]
    command += ["--cache-dir", str(cache_dir), "--squad", str(args.squad)]
    if args.questions is not None:
        command += ["--questions", str(args.questions)]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(finished.stdout.splitlines()[-1])
    return figures


# --------------------------------------------------------------------------------------- report


def machine() -> Figures:
    import torch

    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "cpu_count": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "qa-scoring": importlib.metadata.version("qa-scoring"),
        **versions,
    }


def measure(args: argparse.Namespace) -> Figures:
    """Run everything."""
    busy = round(os.getloadavg()[0], 1)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rows = read_examples(args.squad, args.questions)
        left_out: dict[str, str] = {}
        calls: dict[str, Callable[[], list[float]]] = {}
        for name, load in contestants(str(args.model), str(scratch / "cache")).items():
            try:
                calls[name] = load()(rows)
            except ImportError as error:
                left_out[name] = f"{type(error).__name__}: {error}"
        seconds, scores = time_interleaved(calls, args.repeats)
        changes = {name: change(found, scores[PREDICT]) for name, found in scores.items()}
        memory = {name: memory_of(name, args.model, scratch / "cache", args)["peak_mb"] for name in calls}
    pairs = rows.pairs()
    return {
        "machine": machine(),
        "model": args.model_name or args.model.name,
        "questions": len(rows.predictions),
        "sample": args.questions is not None,
        "pairs": len(pairs),
        "distinct_pairs": len(set(pairs)),
        "repeats": args.repeats,
        "load_average_before": busy,
        "peers_left_out": left_out,
        "contestants": {
            name: {
                "median_s": round(statistics.median(values), 3),
                "min_s": round(min(values), 3),
                "beside": {other: ratio(seconds[other], values) for other in (*PEERS, FLOAT32) if other in seconds},
                "change": changes[name],
                "peak_mb": memory[name],
            }
            for name, values in seconds.items()
        },
    }


@dataclass(frozen=True)
class Target:
    """A limit for one figure of the report; the figure is None where its peer was left out."""

    what: str
    limit: float
    unit: str
    figure: Callable[[Figures], float | None]
    at_least: bool = False

    def row(self, report: Figures) -> str:
        """Return the line of the table."""
        limit = f"{'≥' if self.at_least else '≤'} {self.limit:g}{self.unit}"
        value = self.figure(report)
        if value is None:
            return f"| {self.what} | {limit} | not measured | |"
        met = value >= self.limit if self.at_least else value <= self.limit
        return f"| {self.what} | {limit} | {value:,.3g}{self.unit} | {'met' if met else '**missed**'} |"


def _speedup(name: str, other: str) -> Callable[[Figures], float | None]:
    def figure(report: Figures) -> float | None:
        found = report["contestants"].get(name, {"beside": {}})["beside"].get(other)
        return None if found is None else float(found)

    return figure


def _change(name: str, which: str) -> Callable[[Figures], float | None]:
    def figure(report: Figures) -> float | None:
        found = report["contestants"].get(name)
        return None if found is None else float(found["change"][which])

    return figure


TARGETS = (
    Target(f"`{FLOAT32}` beside {HAYSTACK}", 2.0, " ×", _speedup(FLOAT32, HAYSTACK), at_least=True),
    Target(f"`{FLOAT32}` beside {PREDICT}", 2.0, " ×", _speedup(FLOAT32, PREDICT), at_least=True),
    Target(f"`{FLOAT32}`, largest change", 1e-5, "", _change(FLOAT32, "largest")),
    Target(f"`{INT8}` beside {HAYSTACK}", 4.0, " ×", _speedup(INT8, HAYSTACK), at_least=True),
    Target(f"`{INT8}`, largest change", 0.02, "", _change(INT8, "largest")),
    Target(f"`{INT8}`, mean change", 0.005, "", _change(INT8, "mean")),
    Target(f"`{AGAIN}` beside `{FLOAT32}`", 50.0, " ×", _speedup(AGAIN, FLOAT32), at_least=True),
)


def markdown_table(report: Figures) -> str:
    """Write the report as the tables of the README."""
    return "\n\n".join((_facts(report), _target_table(report), _contestant_table(report))) + "\n"


def _facts(report: Figures) -> str:
    facts = dict(report["machine"])
    cpus, threads = facts.pop("cpu_count"), facts.pop("threads")
    architecture, system = facts.pop("architecture"), facts.pop("system")
    versions = ", ".join(f"{name} {version}" for name, version in facts.items() if version)
    left_out = "".join(f" Left out: {name} ({why})." for name, why in report["peers_left_out"].items())
    sample = "**A sample, not the whole set:** " if report["sample"] else ""
    return (
        f"{sample}{report['questions']:,} questions, {report['pairs']:,} pairs, {report['distinct_pairs']:,} of them "
        f"distinct; model {report['model']}. {system} on {architecture}, {cpus} cores, {threads} threads; {versions}. "
        f"Times are seconds on the clock, the median (minimum) of {report['repeats']} runs; ratios are medians over "
        f"the runs. Load average before: {report['load_average_before']}.{left_out}"
    )


def _target_table(report: Figures) -> str:
    lines = ["| target | limit | measured | |", "|---|---:|---:|---|"]
    return "\n".join(lines + [target.row(report) for target in TARGETS])


def _contestant_table(report: Figures) -> str:
    peers = [name for name in PEERS if name in report["contestants"]]
    lines = [
        "| | seconds | " + " | ".join(f"× {name}" for name in peers) + " | largest, mean change | peak memory, MB |",
        "|---|---:|" + "---:|" * len(peers) + "---:|---:|",
    ]
    for name, figures in report["contestants"].items():
        cells = [
            f"*{name}*" if name in PEERS else f"`{name}`",
            f"{figures['median_s']:.2f} ({figures['min_s']:.2f})",
            *(f"{figures['beside'][peer]:.1f}" for peer in peers),
            f"{figures['change']['largest']:.1g}, {figures['change']['mean']:.1g}",
            f"{figures['peak_mb']:,.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def readme_with_table(readme: str, report: Figures) -> str:
    """Return the README's text with the table between its markers replaced."""
    begin, end = TABLE_MARKERS
    head, _, rest = readme.partition(begin)
    _, _, tail = rest.partition(end)
    return head + begin + markdown_table(report) + end + tail


# ----------------------------------------------------------------------------------------- main


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time, score changes and memory of sas_metric.")
    parser.add_argument("--model", type=Path, help="folder of a cross-encoder, or one that 'similarity train' made")
    parser.add_argument("--model-name", help="what the report calls it; default: the folder's name")
    parser.add_argument("--squad", type=Path, default=SQUAD, help="folder with SQuAD 2 dev and the system's answers")
    parser.add_argument("--questions", type=int, help="a sample of so many questions, for a quick look")
    parser.add_argument("--out", type=Path, help="write the report to this JSON file")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs of each call (default %(default)s)")
    parser.add_argument("--table", action="store_true", help="print the tables of the committed report, and stop")
    parser.add_argument("--write-readme", action="store_true", help="put the same tables into the README, and stop")
    parser.add_argument("--alone", help="run this contestant in this process, print one line of JSON")
    parser.add_argument("--cache-dir", type=Path, help="of --alone")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    if args.table or args.write_readme:
        report = json.loads(RESULTS.read_text(encoding="utf-8"))
        if args.table:
            print(markdown_table(report), end="")
        else:
            README.write_text(readme_with_table(README.read_text(encoding="utf-8"), report), encoding="utf-8")
        return
    if args.model is None:
        raise SystemExit("Give --model: a folder that all contestants can load.")
    if args.alone:
        print(json.dumps(measure_alone(args)))
        return
    text = json.dumps(measure(args), indent=2, ensure_ascii=False) + "\n"
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
