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


@click.command()
@click.argument("data_file", type=click.Path(exists=True, path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), default=Path(__file__).parent / "results/null_response.json")
@click.option("--limit", type=int, help="Questions of each half, for a trial.")
def main(data_file: Path, output: Path, limit: int | None) -> None:
    """Measure on the held-out articles of DATA_FILE (SQuAD 2.0's dev-v2.0.json)."""
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
    output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    click.echo(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
