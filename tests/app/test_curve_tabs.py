"""The wiring of the tabs Threshold and Compare, as a program sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from gradio_client import handle_file
from gradio_client.exceptions import AppError

from qa_scoring.app.tabs import parts
from tests.app.conftest import Served

THRESHOLD_ROWS = "prediction,references,no_answer\nRome,Rome,-2.5\nin Rome,Rome,0.5\nRome,,1.25\n"


def upload(client: Any, folder: Path, api_name: str, content: Any) -> Any:
    path = folder / "upload.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return client.predict(handle_file(str(path)), api_name=api_name)


def test_the_threshold_moves_the_figures(page: Served) -> None:
    client = page.connect()
    with pytest.raises(AppError, match="score first"):
        client.predict(0.5, api_name="/threshold_at")
    out = client.predict(pasted=THRESHOLD_ROWS, api_name="/threshold_score")
    status, slider, best, figures, result, plots = out
    assert "rows scored: 3" in status
    assert slider["value"] == 0.5
    assert (slider["minimum"], slider["maximum"]) == (-2.5, 1.25)
    assert best.startswith("Best EM: 66.67 at ")
    assert figures["data"][0] == ["all", "3", "66.67", "88.89"]
    assert result["best_f1_thresh"] == 0.5
    assert plots.count('src="data:image/png;base64,') == 5
    assert 'alt="Precision-recall: F1 average precision 77.78 %"' in plots
    figures, result = client.predict(-2.5, api_name="/threshold_at")
    assert figures["data"][0] == ["all", "3", "66.67", "66.67"]
    assert result["above"] == 2
    tau, figures, result = client.predict(api_name="/threshold_best")
    assert tau == result["no_answer_threshold"] == 0.5
    with pytest.raises(AppError, match="score first"):
        page.connect().predict(api_name="/threshold_best")


def test_files_set_a_threshold_and_errors_are_sentences(page: Served, tmp_path: Path) -> None:
    client = page.connect()
    with pytest.raises(AppError, match="There are no no-answer values"):
        client.predict(pasted="prediction,references\na,a", api_name="/threshold_score")
    upload(client, tmp_path, "/threshold_upload_predictions", {"1": "hidden-answer"})
    upload(client, tmp_path, "/threshold_upload_references", {"1": "hidden-answer"})
    said = upload(client, tmp_path, "/threshold_upload_no_answer_values", {"1": 0.75})
    assert "No-answer values: <bdi>upload.json</bdi>, 1 rows" in said[1]
    out = client.predict(source=parts.FILES, api_name="/threshold_score")
    assert out[4]["best_f1"] == 100.0
    assert re.findall('id="([^"]+)"', out[5]) == ["pr_exact", "pr_f1", "pr_oracle", "na_prob_hist_hasAns"]
    assert not [path for path in page.uploads.rglob("*") if path.is_file() and b"hidden" in path.read_bytes()]
    client.predict(api_name="/threshold_forget_files")
    with pytest.raises(AppError, match="There are no predictions"):
        client.predict(source=parts.FILES, api_name="/threshold_score")


def test_two_systems_are_compared(page: Served, tmp_path: Path) -> None:
    client = page.connect()
    pasted = "a,b,references\nin <b>Rome</b>,Rome,Rome\nx,x,x"
    status, figures, result, rows = client.predict(pasted=pasted, api_name="/compare")
    assert "only B 1" in status
    assert figures["data"][0] == ["EM", "50.00", "100.00", "+50.00 [+0.00, +100.00]"]
    assert result["exact"]["difference"] == 50.0
    assert [row[3:6] for row in rows["data"]] == [["in <b>Rome</b>", "Rome", "Rome"]]
    upload(client, tmp_path, "/compare_upload_predictions_of_a", {"1": "a", "2": "b"})
    upload(client, tmp_path, "/compare_upload_references", {"1": "a", "2": "c"})
    with pytest.raises(AppError, match="There are no predictions of B"):
        client.predict(source=parts.FILES, api_name="/compare")
    upload(client, tmp_path, "/compare_upload_predictions_of_b", {"1": "z", "2": "b"})
    result = client.predict(source=parts.FILES, api_name="/compare")[2]
    assert result["right"] == {"both": 0, "only_a": 1, "only_b": 0, "neither": 1}
    with pytest.raises(AppError, match="not valid JSON"):
        upload(client, tmp_path, "/compare_upload_references", "<script>")
