"""The wiring of the tabs Threshold and Compare, as a program sees it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from gradio_client import handle_file
from gradio_client.exceptions import AppError

from qa_scoring.app.tabs import parts
from qa_scoring.cli import main
from tests.app.conftest import Served

ALTERNATIVE = re.compile('alt="([^"]+)" src="data:image/png;base64,')
THRESHOLD_ROWS = "prediction,references,no_answer\nRome,Rome,-2.5\nin Rome,Rome,0.5\nRome,,1.25\n"


def upload(client: Any, folder: Path, api_name: str, content: Any) -> Any:
    path = folder / "upload.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return client.predict(handle_file(str(path)), api_name=api_name)


def left(line: str) -> float:
    """Return how far from the left the line of τ stands."""
    found = re.search(r"left: ([\d.]+)%", line)
    assert found is not None
    return float(found[1])


def test_the_threshold_moves_the_figures(page: Served) -> None:
    client = page.connect()
    with pytest.raises(AppError, match="score first"):
        client.predict(0.5, api_name="/threshold_at")
    out = client.predict(pasted=THRESHOLD_ROWS, api_name="/threshold_score")
    status, slider, number, best, plot, plots, *shown = out
    said, figures, result, line, signature, python, command = shown
    assert "rows scored: 3" in status
    assert slider["value"] == number["value"] == 0.5
    assert (slider["minimum"], slider["maximum"]) == (-2.5, 1.25)
    assert best.startswith("Best EM: 66.67 at ")
    assert "At τ = 0.5: EM 66.67, F1 88.89; 1 of 3 no-answer values are above." in said
    assert figures["data"][0] == ["all", "3", "66.67", "88.89"]
    assert result["best_f1_thresh"] == 0.5
    assert result["signature"] == signature
    assert ALTERNATIVE.findall(plot) == [
        "EM and F1 by no-answer threshold: best EM 66.67 at -2.5, best F1 88.89 at 0.5"
    ]
    assert len(ALTERNATIVE.findall(plots)) == 5
    assert "Precision-recall: F1: average precision 77.78 %" in ALTERNATIVE.findall(plots)
    slider, said, figures, result, moved, signature, python, command = client.predict(-2.5, api_name="/threshold_at")
    assert figures["data"][0] == ["all", "3", "66.67", "66.67"]
    assert (slider, result["above"]) == (-2.5, 2)
    assert left(moved) < left(line)
    assert signature.endswith("|no_answer_threshold:-2.5")
    assert "    no_answer_threshold=-2.5,\n" in python
    assert command.endswith(" table.jsonl table.jsonl --language en --no-answer-threshold -2.5")
    tau, number, *shown = client.predict(api_name="/threshold_best_f1")
    assert tau == number == shown[2]["no_answer_threshold"] == 0.5
    assert client.predict(api_name="/threshold_best_exact")[0] == -2.5
    with pytest.raises(AppError, match="score first"):
        page.connect().predict(api_name="/threshold_best_f1")


@pytest.mark.parametrize(("tau", "stands", "f1"), [(7, 1.25, 55.56), (-1e300, -2.5, 33.33), (0, 0.0, 66.67)])
def test_any_finite_number_is_a_threshold(page: Served, tau: float, stands: float, f1: float) -> None:
    client = page.connect()
    client.predict(pasted=THRESHOLD_ROWS, api_name="/threshold_score")
    slider, *shown = client.predict(tau, api_name="/threshold_at")
    assert slider == stands
    assert shown[2]["no_answer_threshold"] == tau
    assert shown[2]["f1"] == pytest.approx(f1, abs=0.005)


@pytest.mark.parametrize(("tau", "got"), [(None, "None"), ("high", "'high'"), ([0.5], "[0.5]"), (True, "True")])
def test_what_is_no_threshold_is_one_sentence(page: Served, tau: Any, got: str) -> None:
    client = page.connect()
    client.predict(pasted=THRESHOLD_ROWS, api_name="/threshold_score")
    with pytest.raises(AppError, match=re.escape(f"The threshold must be a finite number; got {got}.")):
        client.predict(tau, api_name="/threshold_at")


def test_the_calls_give_the_figures_of_the_page(
    page: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = page.connect()
    client.predict(pasted=THRESHOLD_ROWS, api_name="/threshold_score")
    *_, result, _, signature, python, command = client.predict(0.75, api_name="/threshold_at")
    table = Path(client.predict(api_name="/threshold_pasted_rows"))
    (tmp_path / table.name).write_bytes(table.read_bytes())
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"], catch_exceptions=False)
    assert json.loads(done.stdout) == {
        key: value for key, value in result.items() if key not in ("no_answer_threshold", "above")
    }
    exec(python, {})
    assert capsys.readouterr().out.strip().endswith(signature)
    upload(client, tmp_path, "/threshold_upload_predictions", [{"id": "1", "prediction": "a", "no_answer": 0.5}])
    upload(client, tmp_path, "/threshold_upload_references", {"1": "a"})
    client.predict(source=parts.FILES, api_name="/threshold_score")
    with pytest.raises(AppError, match="only pasted rows need a file"):
        client.predict(api_name="/threshold_pasted_rows")


def test_files_set_a_threshold_and_errors_are_sentences(page: Served, tmp_path: Path) -> None:
    client = page.connect()
    with pytest.raises(AppError, match="There are no no-answer values"):
        client.predict(pasted="prediction,references\na,a", api_name="/threshold_score")
    upload(client, tmp_path, "/threshold_upload_predictions", {"1": "hidden-answer"})
    upload(client, tmp_path, "/threshold_upload_references", {"1": "hidden-answer"})
    said = upload(client, tmp_path, "/threshold_upload_no_answer_values", {"1": 0.75})
    assert "No-answer values: <bdi>upload.json</bdi>, 1 rows" in said[1]
    out = client.predict(source=parts.FILES, api_name="/threshold_score")
    assert out[8]["best_f1"] == 100.0
    assert len(ALTERNATIVE.findall(out[5])) == 4  # no histogram of unanswerable questions
    assert "--no-answer-file upload.json" in out[-1]
    assert not [path for path in page.uploads.rglob("*") if path.is_file() and b"hidden" in path.read_bytes()]
    client.predict(api_name="/threshold_forget_files")
    with pytest.raises(AppError, match="There are no predictions"):
        client.predict(source=parts.FILES, api_name="/threshold_score")


def test_two_systems_are_compared(page: Served, tmp_path: Path) -> None:
    client = page.connect()
    for call in ({"api_name": "/compare_rows"}, {"api_name": "/compare_download"}):
        with pytest.raises(AppError, match="compare first"):
            client.predict(**call)
    pasted = "a,b,references\nin <b>Rome</b>,Rome,Rome\nx,x,x"
    out = client.predict(pasted=pasted, api_name="/compare")
    status, figures, rows, _, which, signatures, python, command, result = out
    assert "f1, B minus A: +50.00 [+0.00, +100.00], p 1.0000. Right: both 1, only A 0, only B 1, neither 0." in status
    assert figures["data"][0] == ["all (2)", "exact", "50.00", "100.00", "+50.00 [+0.00, +100.00]", "1.0000"]
    assert result["exact"]["difference"] == 50.0
    assert [row[2:5] for row in rows["data"]] == [["in <b>Rome</b>", "Rome", "Rome"]]
    assert "f1 differs in 1 of 2 rows; 1 shown." in which
    assert signatures.startswith("signature of A and B: metric:m2qa_squad_v2")
    assert command.startswith("qa-scoring compare m2qa_squad_v2 predictions-a.jsonl predictions-b.jsonl references")
    assert "comparison = compare(a, b)" in python
    rows, which = client.predict("exact", api_name="/compare_rows")
    assert rows["data"][0][5:8] == [0.0, 1.0, 1.0]
    assert "exact differs in 1 of 2 rows" in which
    files = client.predict(api_name="/compare_download")
    assert "predictions-b.jsonl" in [Path(file).name for file in files]
    with pytest.raises(AppError, match="compare first"):
        page.connect().predict(api_name="/compare_download")


def test_two_uploaded_systems_are_compared_by_every_metric(page: Served, tmp_path: Path) -> None:
    client = page.connect()
    references = [
        {"id": "1", "question": "Where?", "answers": ["Rome"]},
        {"id": "2", "question": "How long is it?", "answers": ["six miles"]},
    ]
    upload(client, tmp_path, "/compare_upload_predictions_of_a", {"1": "in Rome", "2": "Monday"})
    upload(client, tmp_path, "/compare_upload_references", references)
    with pytest.raises(AppError, match="There are no predictions of B"):
        client.predict(source=parts.FILES, api_name="/compare")
    upload(client, tmp_path, "/compare_upload_predictions_of_b", {"1": "nowhere", "2": "Monday"})
    for metric, score, verdicts in (
        ("m2qa_squad_v2", "f1", {"both": 0, "only_a": 0, "only_b": 0, "neither": 2}),
        ("sas_metric", "sas", None),
        ("ava_metric", "ava_score", {"both": 0, "only_a": 1, "only_b": 0, "neither": 1}),
    ):
        out = client.predict(source=parts.FILES, metric=metric, api_name="/compare")
        assert out[-1]["right"] == verdicts
        assert out[-1][score]["difference"] < 0
        assert out[3]["value"] == score
        assert [row[0] for row in out[2]["data"]] == [1]
    with pytest.raises(AppError, match="reads English only"):
        client.predict(source=parts.FILES, metric="sas_metric", language="de", api_name="/compare")
    with pytest.raises(AppError, match="not valid JSON"):
        upload(client, tmp_path, "/compare_upload_references", "<script>")
