"""Metrics that behave as evaluate's ``squad`` and ``squad_v2`` do, which are on a hub."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate


class Squad(evaluate.Metric):
    """Exact match by id; demands the features of evaluate's metric, and takes no questions."""

    probability: dict[str, Any] = {}  # noqa: RUF012 - not changed

    def _info(self) -> Any:
        text = datasets.Value("string")
        answers = datasets.Sequence({"text": text, "answer_start": datasets.Value("int32")})
        features = {
            "predictions": {"id": text, "prediction_text": text, **self.probability},
            "references": {"id": text, "answers": answers},
        }
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=datasets.Features(features)
        )

    def _compute(self, predictions: Any, references: Any, no_answer_threshold: float = 1.0) -> dict[str, Any]:
        answers = {row["id"]: row["prediction_text"] for row in predictions}
        silent = {row["id"] for row in predictions if row.get("no_answer_probability", 0.0) > no_answer_threshold}
        right = {}
        for row in references:
            said = "" if row["id"] in silent else answers[row["id"]]
            right[row["id"]] = said in (row["answers"]["text"] or [""])
        return {"exact": 100.0 * sum(right.values()) / len(right), "total": len(right)}


class SquadV2(Squad):
    probability = {"no_answer_probability": datasets.Value("float32")}  # noqa: RUF012 - not changed
