"""What a threshold on the null odds gains, and what the stock evaluator's "no-answer probability" is worth.

After "Evaluating QA: Metrics, Predictions, and the Null Response" (Cloudera Fast Forward, 2020), with the model of
``train_reader.py``: a threshold is chosen on half of the held-out articles and applied to the other half. Run it with
transformers 4.57, where evaluate's own evaluator still runs, and is run beside ours on the same model and questions.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click
import datasets
import evaluate
import transformers
from sklearn.metrics import roc_auc_score

import qa_scoring
from benchmarks.train_reader import TESTING, TUNING, load_reader_model, questions_of
from qa_scoring.hf.enabling import disable
from qa_scoring.null_threshold import score_best_spans, tune_threshold

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "null_response.json"
README = HERE / "README.md"
TABLE_MARKERS = ("<!-- null_response: begin -->\n", "<!-- null_response: end -->")
FIGURES = (
    "exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_f1", "total", "HasAns_total", "NoAns_total",
    "best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh",
)  # fmt: skip


def _dataset(rows: list[dict[str, Any]]) -> datasets.Dataset:
    return datasets.Dataset.from_list(
        [
            {
                "id": row["id"],
                "question": row["question"],
                "context": row["context"],
                "answers": {
                    "text": [answer["text"] for answer in row["answers"]],
                    "answer_start": [answer["answer_start"] for answer in row["answers"]],
                },
            }
            for row in rows
        ]
    )


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in FIGURES}


def _separation(values: list[float], rows: list[dict[str, Any]]) -> float:
    """How well a no-answer value tells unanswerable questions from the others: the area under the ROC curve."""
    return float(roc_auc_score([not row["answers"] for row in rows], values))


def table(report: dict[str, Any]) -> str:
    """Write the report as the tables of the README."""
    applied = report["threshold"]["applied_to"]
    tau, best = report["threshold"]["threshold"], applied["best_threshold"]
    lines = [
        "| six held-out articles, threshold on the null odds | EM | F1 | HasAns F1 | NoAns F1 | gain in F1 |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for what, figures, gain in (
        ("0, as the SQuAD script", applied["at_zero"], None),
        (f"{tau:.2f}, the best of six other articles", applied["at_threshold"], applied["gain"]),
        (f"{best:.2f}, the best of these themselves", applied["at_best"], applied["best_gain"]),
    ):
        numbers = [f"{figures[name]:.1f}" for name in ("exact", "f1", "HasAns_f1", "NoAns_f1")]
        lines.append(f"| {what} | {' | '.join(numbers)} | {'–' if gain is None else f'{gain:+.1f}'} |")
    lines += [
        "",
        "| what goes to the metric as `no_answer_probability` | F1 | best F1 over all thresholds | ROC AUC |",
        "|---|--:|--:|--:|",
    ]
    for what, figures in (
        ("the probability of no answer", report["test"]),
        ("the confidence of the returned answer (evaluate's evaluator)", report["stock"]),
    ):
        auc = figures["no_answer_probability_auroc"]
        lines.append(f"| {what} | {figures['f1']:.2f} | {figures['best_f1']:.2f} | {auc:.3f} |")
    lines += [
        "",
        f"{report['test']['total']:,} questions, {report['test']['NoAns_total']:,} of them without an answer; the "
        f"threshold was chosen on {report['tuning']['total']:,} others. transformers {report['transformers']}.",
    ]
    return "\n".join(lines) + "\n"


def readme_with_table(text: str, report: dict[str, Any]) -> str:
    """Put the tables of a report between their markers."""
    begin, end = TABLE_MARKERS
    start, stop = text.index(begin) + len(begin), text.index(end)
    return text[:start] + table(report) + text[stop:]


@click.command()
@click.argument("data_file", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--limit", type=int, help="Questions of each half, for a trial.")
@click.option("--write-readme", is_flag=True, help="Put the tables of the committed report into the README.")
def main(data_file: Path | None, output: Path, limit: int | None, write_readme: bool) -> None:
    """Measure on the held-out articles of DATA_FILE, SQuAD 2.0's dev-v2.0.json; without it, only write the README."""
    if data_file is not None:
        report = measure(data_file, limit)
        output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        click.echo(table(report))
    if write_readme:
        report = json.loads(RESULTS.read_text(encoding="utf-8"))
        README.write_text(readme_with_table(README.read_text(encoding="utf-8"), report), encoding="utf-8")


def measure(data_file: Path, limit: int | None) -> dict[str, Any]:
    """Run both evaluators."""
    model, tokenizer = load_reader_model()
    halves = {name: questions_of(data_file, titles)[:limit] for name, titles in (("tuning", TUNING), ("test", TESTING))}
    metric = evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"))
    ours = evaluate.evaluator("question-answering")
    ours.METRIC_KWARGS["scheme"] = "squad"
    results: dict[str, Any] = {"transformers": transformers.__version__}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, questions in halves.items():
            place = Path(folder, name)
            result = ours.compute(
                model_or_pipeline=model,
                tokenizer=tokenizer,
                data=_dataset(questions),
                metric=metric,
                squad_v2_format=True,
                return_predictions=True,
                output_dir=place,
            )
            predictions = result["predictions"]
            results[name] = {
                **_shown(result),
                "null_odds_auroc": _separation([row["null_odds"] for row in predictions], questions),
                "no_answer_probability_auroc": _separation(
                    [row["no_answer_probability"] for row in predictions], questions
                ),
            }
            gold = Path(folder, f"{name}.json")
            gold.write_text(json.dumps([{"id": row["id"], "answers": row["answers"]} for row in questions]))
            rows[name] = score_best_spans(str(gold), str(place))
    results["threshold"] = tune_threshold(rows["tuning"], rows["test"])

    disable()
    stock = evaluate.evaluator("question-answering")
    probabilities: list[float] = []
    processor = stock.predictions_processor

    def remembered(*args: Any, **options: Any) -> Any:
        found = processor(*args, **options)
        probabilities.extend(row["no_answer_probability"] for row in found["predictions"])
        return found

    stock.predictions_processor = remembered
    stock.METRIC_KWARGS = {"scheme": "squad"}
    result = stock.compute(
        model_or_pipeline=model,
        tokenizer=tokenizer,
        data=_dataset(halves["test"]),
        metric=metric,
        squad_v2_format=True,
        device=-1,
    )
    results["stock"] = {
        **_shown(result),
        "no_answer_probability_auroc": _separation(probabilities, halves["test"]),
    }
    return results


if __name__ == "__main__":
    main()
