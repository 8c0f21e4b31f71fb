"""Time and memory of ``m2qa_squad_v2``, through ``evaluate.load(...).compute(...)``, beside other scorers.

Three things are measured, over seeded synthetic rows (half of the questions unanswerable, the others with one to six
references, as in SQuAD often the same string again):

* **rounds**: every contestant scores the same rows in one process, one after the other, over and over (A B C A B C
  ...), so that whatever else the machine does meets all of them. Peers: ``evaluate``'s ``squad_v2`` (with
  ``--squad-v2``, as it is not on PyPI), ``squad_evaluate`` of transformers below version 5 (the same algorithm
  without Arrow) and ``squad`` of torchmetrics (SQuAD 1, so on the answerable rows only). Peers that are not
  installed are left out, and the report says so. Before anything is timed, the results must agree.
* **growth**: the metric alone at 12,000, 100,000 and 1,000,000 rows, each in a process of its own, with the peak
  memory of that whole process, rows included.
* **targets**: the limits that this project sets itself; the table says which are met.

Run it from the repository's root::

    python benchmarks/bench_multilingual_squad.py --squad-v2 squad_v2 --out benchmarks/results/multilingual_squad.json
    python benchmarks/bench_multilingual_squad.py --table
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
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "multilingual_squad.json"
README = HERE / "README.md"
TABLE_MARKERS = ("<!-- multilingual_squad: begin -->\n", "<!-- multilingual_squad: end -->")
XQUAD = HERE.parent.parent / "shared" / "data" / "xquad"

SEED = 20
ROUND_SIZES = (12_000, 100_000)
GROWTH_SIZES = (12_000, 100_000, 1_000_000)
REPEATS = 5
TOLERANCE = 1e-6
PACKAGES = ("evaluate", "datasets", "numpy", "pyarrow", "jieba", "rjieba", "torch", "torchmetrics", "transformers")

Row = dict[str, Any]
Figures = dict[str, Any]


# ----------------------------------------------------------------------------------------- rows

_WORDS = {
    "en": (
        "the a of in and 1876 25% north river old king city Broncos Denver's music $1.2 treaty first war school "
        "University million people, years St. James Newton's laws oxygen British Empire water railway south"
    ),
    "de": (
        "der die an ein und 1876 25% Nord Fluss alte König Städte München Straße Musik Vertrag erste Krieg Schule "
        "Universität Millionen Menschen, Jahre St. Jakob „Faust“ Gesetze Sauerstoff britische Empire Wasser Süden"
    ),
    "zh": (
        "北京 大学 1876年 百分之 河流 国王 城市 音乐 条约 第一次 战争 学校 百万 人民 牛顿 定律 氧气 英国 帝国 水 "
        "铁路 南部 ·杰克逊 《红楼梦》 世界 卫生 组织 的 和 在 公司 政府 3.5 研究 中心 历史"
    ),
}


@dataclass(frozen=True)
class Examples:
    """n rows in the form that ``evaluate``'s ``squad_v2`` takes."""

    predictions: list[Row]
    references: list[Row]

    def __len__(self) -> int:
        return len(self.predictions)

    def answerable(self) -> Examples:
        """Return the rows that have an answer."""
        kept = [row for row, reference in enumerate(self.references) if reference["answers"]["text"]]
        return Examples([self.predictions[row] for row in kept], [self.references[row] for row in kept])


def answer_strings(language: str) -> tuple[list[str], str]:
    """Return 1,190 answers and where they come from: XQuAD where it is present, else the word list."""
    path = XQUAD / f"xquad.{language}.json"
    if not path.exists():
        return _made_up_answers(language, 1190), "built-in word list"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    questions = [question for article in articles for part in article["paragraphs"] for question in part["qas"]]
    return [question["answers"][0]["text"] for question in questions], "XQuAD"


def _made_up_answers(language: str, count: int) -> list[str]:
    """String words together, about as many per answer as in XQuAD."""
    rng, words = random.Random(SEED), _WORDS[language].split()
    space = "" if language == "zh" else " "
    lengths = rng.choices((1, 2, 3, 4, 5, 7, 10), weights=(37, 25, 15, 8, 5, 6, 4), k=count)
    return [space.join(rng.choices(words, k=length)) for length in lengths]


def make_examples(answers: Sequence[str], count: int, *, starts: bool = True) -> Examples:
    """Make rows out of answers; every string is an object of its own, as when it is read from a file.

    Args:
        answers: What to choose from.
        count: How many rows.
        starts: Whether to give ``answer_start``, which nobody reads but ``evaluate``'s squad_v2 asks for.

    Returns:
        The same rows every time.
    """
    rng = random.Random(SEED)
    predictions, references = [], []
    for row in range(count):
        answer = rng.choice(answers)
        texts = [] if row % 2 else _reference_texts(rng, answer, answers)
        predicted = _predicted_text(rng, texts, answer, answers)
        # a multiple of 2^-20 is the same number in the float32 of evaluate's squad_v2
        value = rng.randrange(2**20) / 2**20
        key = f"{row:024x}"
        predictions.append({"id": key, "prediction_text": _copy(predicted), "no_answer_probability": value})
        found: Row = {"text": texts}
        if starts:
            found["answer_start"] = [rng.randrange(1000) for _ in texts]
        references.append({"id": _copy(key), "answers": found})
    return Examples(predictions, references)


def _reference_texts(rng: random.Random, answer: str, answers: Sequence[str]) -> list[str]:
    """Return what one to six annotators wrote: two thirds of the time all the same."""
    others = range(rng.randint(0, 5))
    return [_copy(answer)] + [_copy(answer if rng.random() < 0.65 else _perturb(rng, answer, answers)) for _ in others]


def _predicted_text(rng: random.Random, texts: list[str], answer: str, answers: Sequence[str]) -> str:
    """Answerable: half right, a quarter nearly, an eighth wrong, an eighth empty. Unanswerable: half empty."""
    fate = rng.random()
    if not texts:
        return "" if fate < 0.5 else answer
    if fate < 0.5:
        return rng.choice(texts)
    if fate < 0.75:
        return _perturb(rng, answer, answers)
    return rng.choice(answers) if fate < 0.875 else ""


def _perturb(rng: random.Random, answer: str, answers: Sequence[str]) -> str:
    """Drop the first or last word, or add one of another answer (characters where there are no spaces)."""
    space = " " if " " in answer or answer.isascii() else ""
    words = answer.split() if space else list(answer)
    if len(words) > 1 and rng.random() < 0.5:
        return space.join(words[1:] if rng.random() < 0.5 else words[:-1])
    other = rng.choice(answers)
    return answer + space + (other.split()[0] if space else other[:2])


def _copy(text: str) -> str:
    return text.encode().decode()


# ---------------------------------------------------------------------------------- contestants

Prepare = Callable[[Examples], Callable[[], Figures]]
"""Bring rows into a scorer's form (not timed), and return the call that scores them (timed)."""


def ours(**options: Any) -> Prepare:
    """Return the metric with these options for ``compute``."""
    import evaluate

    import qa_scoring

    metric = evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"))
    return lambda rows: lambda: metric.compute(predictions=rows.predictions, references=rows.references, **options)


def evaluate_squad_v2(path: str) -> Prepare:
    """Return ``evaluate``'s own metric, from the Hub or from a folder."""
    import evaluate

    metric = evaluate.load(path)
    return lambda rows: lambda: metric.compute(predictions=rows.predictions, references=rows.references)


def transformers_squad() -> Prepare:
    """Return the SQuAD 2.0 evaluation that transformers had until version 5."""
    from transformers.data.metrics.squad_metrics import squad_evaluate
    from transformers.data.processors.squad import SquadExample

    def prepare(rows: Examples) -> Callable[[], Figures]:
        examples = [
            SquadExample(row["id"], "", "", None, None, "", [{"text": text} for text in row["answers"]["text"]])
            for row in rows.references
        ]
        texts = {row["id"]: row["prediction_text"] for row in rows.predictions}
        values = {row["id"]: row["no_answer_probability"] for row in rows.predictions}
        return lambda: dict(squad_evaluate(examples, texts, values))

    return prepare


def torchmetrics_squad() -> Prepare:
    """Return the SQuAD 1 metric of torchmetrics, a function of plain rows."""
    from torchmetrics.functional.text import squad

    def prepare(rows: Examples) -> Callable[[], Figures]:
        predictions = [{key: row[key] for key in ("id", "prediction_text")} for row in rows.predictions]
        return lambda: squad(predictions, rows.references)

    return prepare


SQUAD, ENGLISH = 'scheme="squad"', 'language="en"'
GERMAN, CHINESE = 'scheme="m2qa", language="german"', 'language="zh"'
CHINESE_FAST = 'language="zh", tokenizer="rjieba"'


@dataclass(frozen=True)
class Round:
    """Contestants over the same rows: our calls, the first of which the peers are compared with, and the peers."""

    name: str
    language: str
    ours: dict[str, Figures]
    peers: dict[str, Callable[[], Prepare]]
    answerable_only: bool = False
    largest: int = 100_000


def rounds(squad_v2: str | None) -> list[Round]:
    """Return what is timed."""
    squad = {SQUAD: {"scheme": "squad"}}
    english: dict[str, Figures] = {**squad, ENGLISH: {"language": "en"}}
    german: dict[str, Figures] = {GERMAN: {"scheme": "m2qa", "language": "german"}, 'language="de"': {"language": "de"}}
    chinese: dict[str, Figures] = {
        CHINESE: {"language": "zh"},
        CHINESE_FAST: {"language": "zh", "tokenizer": "rjieba"},
    }
    peers: dict[str, Callable[[], Prepare]] = {"transformers squad_evaluate": transformers_squad}
    if squad_v2:
        peers["evaluate squad_v2"] = lambda: evaluate_squad_v2(squad_v2)
    only_squad_1: dict[str, Callable[[], Prepare]] = {"torchmetrics squad": torchmetrics_squad}
    return [
        Round("English", "en", english, peers),
        Round("English, answerable", "en", squad, only_squad_1, answerable_only=True, largest=12_000),
        Round("German", "de", german, {}),
        Round("Chinese", "zh", chinese, {}),
    ]


# ------------------------------------------------------------------------------------ agreement


def check_agreement(expected: Figures, result: Figures) -> list[str]:
    """Compare every figure that two results share.

    Args:
        expected: The peer's result.
        result: Ours.

    Returns:
        The keys that were compared.

    Raises:
        SystemExit: Two figures differ by more than the tolerance, or there is nothing to compare.
    """
    shared = sorted(expected.keys() & result.keys())
    if not {"exact", "f1"} <= set(shared):
        raise SystemExit(f"Nothing to compare: the peer gave {sorted(expected)}.")
    for key in shared:
        if abs(expected[key] - result[key]) > TOLERANCE:
            raise SystemExit(f"Results differ in {key!r}: peer {expected[key]!r}, ours {result[key]!r}.")
    return shared


def check_torchmetrics(rows: Examples, count: int = 500) -> list[str]:
    """Compare row by row: torchmetrics sums in float32, whose error over many rows exceeds the tolerance."""
    from torchmetrics.functional.text import squad

    some = Examples(rows.predictions[:count], rows.references[:count])
    details = ours(scheme="squad", details=True)(some)()["details"]
    for prediction, reference, detail in zip(some.predictions, some.references, details, strict=True):
        peer = {key: float(value) for key, value in squad([prediction], [reference]).items()}
        check_agreement(
            {"exact": peer["exact_match"] / 100, "f1": peer["f1"] / 100},
            {"exact": detail["exact"], "f1": detail["f1"]},
        )
    return ["exact", "f1"]


# --------------------------------------------------------------------------------------- timing


def time_interleaved(calls: dict[str, Callable[[], Figures]], repeats: int) -> dict[str, list[float]]:
    """Run all calls in turn, several times; return the processor seconds of each run.

    No contestant computes in parallel, so on an idle machine this is the time on the clock; on a busy one it leaves
    out the waiting.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            gc.collect()
            start = time.process_time()
            call()
            seconds[name].append(time.process_time() - start)
    return seconds


def microseconds(seconds: Sequence[float], rows: int) -> Figures:
    return {
        "median_us": round(statistics.median(seconds) / rows * 1e6, 3),
        "min_us": round(min(seconds) / rows * 1e6, 3),
    }


def run_round(contest: Round, count: int, repeats: int, left_out: dict[str, str]) -> Figures:
    """Check and time one round at one size."""
    answers, source = answer_strings(contest.language)
    rows = make_examples(answers, 2 * count).answerable() if contest.answerable_only else make_examples(answers, count)
    calls = {name: ours(**options)(rows) for name, options in contest.ours.items()}
    for options in contest.ours.values():
        ours(**options)(make_examples(answers, 100))()  # dictionaries are loaded on first use
    first, agreed = next(iter(calls)), {}
    for name, load in contest.peers.items():
        try:
            prepare = load()
        except ImportError as error:
            left_out[name] = f"{type(error).__name__}: {error}"
            continue
        call = prepare(rows)
        agreed[name] = check_torchmetrics(rows) if contest.answerable_only else check_agreement(call(), calls[first]())
        calls[name] = call
    seconds = time_interleaved(calls, repeats)
    return {
        "round": contest.name,
        "rows": count,
        "answers_from": source,
        "repeats": repeats,
        "times": {name: microseconds(values, count) for name, values in seconds.items()},
        "peers": {
            name: {"agrees_on": keys, **{call: ratio(seconds[name], seconds[call]) for call in contest.ours}}
            for name, keys in agreed.items()
        },
    }


def ratio(slow: Sequence[float], fast: Sequence[float]) -> Figures:
    """Compare two contestants run by run: neighbours in time meet the same noise."""
    return {
        "median_ratio": round(statistics.median(a / b for a, b in zip(slow, fast, strict=True)), 2),
        "ratio_of_minima": round(min(slow) / min(fast), 2),
    }


# --------------------------------------------------------------------------------------- growth


def measure_alone(count: int, repeats: int) -> Figures:
    """Score English rows in this process, which does nothing else and has loaded no more than the metric needs."""
    # Where transformers is installed, evaluate imports it and torch: 350 MB for nothing that is measured here.
    sys.modules["transformers"] = cast(Any, None)
    metric = ours(language="en")
    imported = peak_memory_mb()
    answers, source = answer_strings("en")
    call = metric(make_examples(answers, count, starts=False))
    before = peak_memory_mb()
    times = microseconds(time_interleaved({"": call}, repeats)[""], count)
    return {
        "rows": count,
        "answers_from": source,
        "repeats": repeats,
        **times,
        "memory_mb": {"imports": imported, "with_rows": before, "peak": peak_memory_mb()},
    }


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process in MB (10^6 bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def measure_growth(count: int, repeats: int) -> Figures:
    """Run ``measure_alone`` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--alone", str(count), "--repeats", str(repeats)]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(finished.stdout.splitlines()[-1])
    return figures


# --------------------------------------------------------------------------------------- report


def machine() -> Figures:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "cpu_count": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "qa-scoring": importlib.metadata.version("qa-scoring"),
        **versions,
    }


def measure(args: argparse.Namespace) -> Figures:
    """Run everything."""
    left_out: dict[str, str] = {} if args.squad_v2 else {"evaluate squad_v2": "give --squad-v2"}
    report: Figures = {"machine": machine(), "seed": SEED, "growth": [], "rounds": [], "peers_left_out": left_out}
    for count in args.growth_sizes:
        report["growth"].append(measure_growth(count, args.repeats))
        print(report["growth"][-1], file=sys.stderr)
    for count in args.sizes:
        for contest in rounds(args.squad_v2):
            if count > contest.largest:
                continue
            report["rounds"].append(run_round(contest, count, args.repeats, left_out))
            print(report["rounds"][-1], file=sys.stderr)
    return report


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
        value = self.figure(report)
        if value is None:
            return f"| {self.what} | {self._limit()} | not measured | |"
        met = value >= self.limit if self.at_least else value <= self.limit
        return f"| {self.what} | {self._limit()} | {value:,.4g} {self.unit} | {'met' if met else '**missed**'} |"

    def _limit(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:,.4g} {self.unit}"


def _round_of(report: Figures, name: str, rows: int = 100_000) -> Figures | None:
    return next((item for item in report["rounds"] if item["round"] == name and item["rows"] == rows), None)


def _time(name: str, call: str) -> Callable[[Figures], float | None]:
    def figure(report: Figures) -> float | None:
        found = _round_of(report, name)
        return None if found is None else float(found["times"][call]["median_us"])

    return figure


def _speedup(peer: str, call: str) -> Callable[[Figures], float | None]:
    def figure(report: Figures) -> float | None:
        found = _round_of(report, "English")
        return (
            None if found is None or peer not in found["peers"] else float(found["peers"][peer][call]["median_ratio"])
        )

    return figure


def _alone(report: Figures, rows: int) -> Figures | None:
    return next((item for item in report["growth"] if item["rows"] == rows), None)


def _peak_memory(report: Figures) -> float | None:
    found = _alone(report, 1_000_000)
    return None if found is None else float(found["memory_mb"]["peak"])


def _growth(report: Figures) -> float | None:
    small, large = _alone(report, 12_000), _alone(report, 1_000_000)
    return None if small is None or large is None else float(large["median_us"] / small["median_us"])


TARGETS = (
    Target(f"`{SQUAD}` beside evaluate's squad_v2", 8.0, "×", _speedup("evaluate squad_v2", SQUAD), at_least=True),
    Target(f"`{SQUAD}`", 8.0, "µs", _time("English", SQUAD)),
    Target(f"`{ENGLISH}`", 8.0, "µs", _time("English", ENGLISH)),
    Target(f"`{GERMAN}`", 12.0, "µs", _time("German", GERMAN)),
    Target(f"`{CHINESE}` (jieba)", 40.0, "µs", _time("Chinese", CHINESE)),
    Target(f"`{CHINESE_FAST}`", 12.0, "µs", _time("Chinese", CHINESE_FAST)),
    Target("peak memory of the process, 1,000,000 rows", 1500.0, "MB", _peak_memory),
    Target("time of a row among 1,000,000 ÷ among 12,000", 1.5, "×", _growth),
)


def markdown_table(report: Figures) -> str:
    """Write the report as the tables of the README."""
    return "\n\n".join((_facts(report), _target_table(report), _round_table(report), _growth_table(report))) + "\n"


def _facts(report: Figures) -> str:
    facts = dict(report["machine"])
    cpus, architecture, system = facts.pop("cpu_count"), facts.pop("architecture"), facts.pop("system")
    versions = ", ".join(f"{name} {version}" for name, version in facts.items() if version)
    sources = " and ".join(sorted({item["answers_from"] for item in report["rounds"]}))
    left_out = "".join(f" Left out: {name} ({why})." for name, why in report["peers_left_out"].items())
    repeats = report["rounds"][0]["repeats"]
    return (
        f"{system} on {architecture}, {cpus} cores; {versions}. Answers from {sources}. Times are µs of processor time "
        f"a row, the median (minimum) of {repeats} runs; ratios are medians over the runs.{left_out}"
    )


def _target_table(report: Figures) -> str:
    lines = ["| target (100,000 rows unless stated) | limit | measured | |", "|---|---:|---:|---|"]
    return "\n".join(lines + [target.row(report) for target in TARGETS])


def _round_table(report: Figures) -> str:
    sizes = sorted({item["rows"] for item in report["rounds"]})
    lines = [
        "| rows | call | " + " | ".join(f"{size:,}" for size in sizes) + " |",
        "|---|---|" + "---:|" * len(sizes),
    ]
    for item in report["rounds"]:
        if item["rows"] != sizes[0]:
            continue
        for call in item["times"]:
            cells = [_time_cell(_round_of(report, item["round"], size), call) for size in sizes]
            label = f"*{call}*" if call in item["peers"] else f"`{call}`"
            lines.append(f"| {item['round']} | {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _time_cell(item: Figures | None, call: str) -> str:
    if item is None:
        return "–"
    cell = f"{item['times'][call]['median_us']:.1f} ({item['times'][call]['min_us']:.1f})"
    if call not in item["peers"]:
        return cell
    first = next(name for name in item["times"] if name not in item["peers"])
    return f"{cell}, {item['peers'][call][first]['median_ratio']:.1f} × ours"


def _growth_table(report: Figures) -> str:
    lines = [
        f"| rows, `{ENGLISH}`, own process | µs a row | peak memory, MB | of which imports and rows |",
        "|---:|---:|---:|---:|",
    ]
    for item in report["growth"]:
        memory = item["memory_mb"]
        lines.append(
            f"| {item['rows']:,} | {item['median_us']:.1f} ({item['min_us']:.1f}) | {memory['peak']:,.0f} | "
            f"{memory['with_rows']:,.0f} |"
        )
    return "\n".join(lines)


def readme_with_table(readme: str, report: Figures) -> str:
    """Return the README's text with the table between its markers replaced."""
    begin, end = TABLE_MARKERS
    head, _, rest = readme.partition(begin)
    _, _, tail = rest.partition(end)
    return head + begin + markdown_table(report) + end + tail


# ----------------------------------------------------------------------------------------- main


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time and memory of m2qa_squad_v2.")
    parser.add_argument("--out", type=Path, help="write the report to this JSON file")
    parser.add_argument(
        "--squad-v2", help="evaluate's squad_v2: 'squad_v2', or the folder metrics/squad_v2 of its repository"
    )
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs of each call (default %(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=ROUND_SIZES, help="rows of the rounds")
    parser.add_argument("--growth-sizes", type=int, nargs="*", default=GROWTH_SIZES, help="rows of the single runs")
    parser.add_argument("--table", action="store_true", help="print the tables of the committed report, and stop")
    parser.add_argument("--write-readme", action="store_true", help="put the same tables into the README, and stop")
    parser.add_argument("--alone", type=int, help="score this many rows in this process, print one line of JSON")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    if args.alone:
        print(json.dumps(measure_alone(args.alone, args.repeats)))
    elif args.table or args.write_readme:
        report = json.loads(RESULTS.read_text(encoding="utf-8"))
        if args.table:
            print(markdown_table(report), end="")
        else:
            README.write_text(readme_with_table(README.read_text(encoding="utf-8"), report), encoding="utf-8")
    else:
        text = json.dumps(measure(args), indent=2, ensure_ascii=False) + "\n"
        if args.out:
            args.out.write_text(text, encoding="utf-8")
        else:
            print(text, end="")


if __name__ == "__main__":
    main()
