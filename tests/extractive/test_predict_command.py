"""``qa-scoring predict`` on a tiny model: files, defaults, what is kept when the model fails, bad input."""

from __future__ import annotations

import inspect
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from qa_scoring.cli import main
from qa_scoring.cli.predict import command
from qa_scoring.extractive.examples import read_example_file
from qa_scoring.extractive.loading import load_reader
from qa_scoring.extractive.prediction_files import read_predictions_folder
from qa_scoring.extractive.reader import ExtractiveReader
from qa_scoring.extractive.spans import AnswerSettings
from tests.conftest import read_json
from tests.similarity.conftest import VOCABULARY, bert_config, save_tokenizer

CONTEXT = "Walt Disney was in Paris. The Seine is a river in France, 776 km long; London has the museum of art."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "Who was in Paris?", "context": CONTEXT, "answers": ["Walt Disney"]},
    {"id": "b", "question": "What is the Seine?", "context": CONTEXT * 3, "answers": ["a river"]},
    {"id": "c", "question": "Where is the queen?", "context": "The queen was in Rome.", "answers": []},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    from transformers import BertForQuestionAnswering

    folder = tmp_path_factory.mktemp("reader")
    torch.manual_seed(0)
    BertForQuestionAnswering(bert_config()).save_pretrained(folder)
    save_tokenizer(folder)
    return str(folder)


@pytest.fixture(scope="module")
def broken_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that gives no numbers where it reads "museum"."""
    from transformers import BertForQuestionAnswering

    folder = tmp_path_factory.mktemp("broken")
    torch.manual_seed(0)
    network = BertForQuestionAnswering(bert_config())
    with torch.no_grad():
        network.get_input_embeddings().weight[list(dict.fromkeys(VOCABULARY)).index("museum")] = torch.nan
    network.save_pretrained(folder)
    save_tokenizer(folder)
    return str(folder)


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def ok(*arguments: object) -> str:
    done = call(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_files_hold_what_the_reader_says(model: str, tmp_path: Path) -> None:
    data, out = write(tmp_path / "data.jsonl", ROWS), tmp_path / "new" / "out"
    options = {"max_seq_len": 40, "doc_stride": 8, "max_question_len": 6, "batch_size": 2}
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    shown = ok("predict", model, data, "-o", out, *given, "--max-answer-len", 5, "--n-best", 4, "--device", "cpu")
    assert shown.startswith("3 questions in ")
    examples = read_example_file(data)
    settings = AnswerSettings(n_best=4, max_answer_len=5, handle_impossible_answer=True)  # "c" has no answer
    reader = load_reader(model, device="cpu")
    readings = list(reader.read(examples.questions, examples.contexts, settings=settings, **options))
    found = read_predictions_folder(out)
    assert list(found.texts.items()) == [
        (row["id"], reading.answers[0].text) for row, reading in zip(ROWS, readings, strict=True)
    ]
    assert list(found.null_odds.values()) == [reading.null_odds for reading in readings]
    n_best = read_json(out / "nbest_predictions.json")
    for row, reading in zip(ROWS, readings, strict=True):
        assert [span["text"] for span in n_best[row["id"]]] == [span.text for span in reading.n_best]
        for span in n_best[row["id"]]:
            assert row["context"][span["start"] : span["end"]] == span["text"]
        assert sum(span["probability"] for span in n_best[row["id"]]) == pytest.approx(1.0)


def test_squad2_and_tune_threshold_read_the_files(model: str, tmp_path: Path) -> None:
    qas = [{"id": row["id"], "question": row["question"], "answers": [{"text": t, "answer_start": 0} for t in answers]}
           for row in ROWS if (answers := row["answers"]) is not None]  # fmt: skip
    folder = tmp_path / "it's here"
    folder.mkdir()
    squad = folder / "dev.json"
    squad.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"context": CONTEXT, "qas": qas}]}]}))
    shown = ok("predict", model, squad, "-o", folder / "out", "--null-threshold", "3.5")
    line = shown.splitlines()[-1]
    assert line.startswith("Score: qa-scoring squad2 ")
    figures = json.loads(ok(*shlex.split(line.removeprefix("Score: qa-scoring "))))
    texts = read_predictions_folder(folder / "out").texts
    (folder / "texts.json").write_text(json.dumps(texts))
    alone = json.loads(ok("squad2", squad, folder / "texts.json"))
    assert {key: figures[key] for key in alone} == alone  # the answers as they are written
    assert figures["total"] == 3
    tuned = json.loads(ok("tune-threshold", squad, folder / "out", "--json"))
    assert tuned["tuned_on"]["at_threshold"]["f1"] >= max(tuned["tuned_on"]["at_zero"]["f1"], 100 / 3)
    apart = folder / "applied"
    ok("tune-threshold", squad, folder / "out", "--output-dir", apart)
    again = folder / "again"
    ok("predict", model, squad, "-o", again, "--null-threshold", repr(tuned["threshold"]))
    assert read_json(again / "predictions.json") == read_json(apart / "predictions.json")


@pytest.mark.parametrize(
    ("rows", "options", "may_be_empty"),
    [
        (ROWS, [], True),
        (ROWS[:2], [], False),
        ([{key: row[key] for key in ("id", "question", "context")} for row in ROWS], [], False),
        (ROWS, ["--no-handle-impossible-answer"], False),
        (ROWS[:2], ["--handle-impossible-answer"], True),
    ],
    ids=["some without answers", "all answerable", "no answers", "switched off", "switched on"],
)
def test_no_answer_is_an_answer_where_the_data_has_it(
    rows: list[dict[str, Any]], options: list[str], may_be_empty: bool, model: str, tmp_path: Path
) -> None:
    data = write(tmp_path / "data.jsonl", rows)
    shown = ok("predict", model, data, "-o", tmp_path / "out", *options)
    assert ("squad2" in shown) == ("answers" in rows[0])
    texts = read_json(tmp_path / "out" / "predictions.json")
    reader = load_reader(model)
    examples = read_example_file(data)
    settings = AnswerSettings(handle_impossible_answer=may_be_empty)
    expected = reader.read(examples.questions, examples.contexts, settings=settings)
    assert list(texts.values()) == [reading.answers[0].text for reading in expected]


def test_null_threshold(model: str, tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", ROWS)
    ok("predict", model, data, "-o", tmp_path / "never", "--null-threshold", "-1e9")
    assert set(read_json(tmp_path / "never" / "predictions.json").values()) == {""}
    ok("predict", model, data, "-o", tmp_path / "always", "--null-threshold", "1e9")
    always = read_predictions_folder(tmp_path / "always")
    assert always.texts == always.best_spans
    assert all(always.texts.values())


@pytest.mark.parametrize("align", [True, False])
def test_answers_are_whole_words_if_asked_for(align: bool, model: str, tmp_path: Path) -> None:
    option = "--align-to-words" if align else "--no-align-to-words"  # most of the tiny model's tokens are letters
    ok("predict", model, write(tmp_path / "data.jsonl", ROWS), "-o", tmp_path, option)
    n_best = read_json(tmp_path / "nbest_predictions.json")

    def inside_a_word(context: str, place: int) -> bool:
        return 0 < place < len(context) and context[place - 1].isalnum() and context[place].isalnum()

    cut = [
        inside_a_word(row["context"], span[side])
        for row in ROWS
        for span in n_best[row["id"]]
        for side in ("start", "end")
    ]
    assert any(cut) != align


def test_what_was_computed_is_kept(broken_model: str, tmp_path: Path) -> None:
    fine = {"question": "Who?", "context": "Walt Disney."}
    rows = [{"id": f"q{row}", **fine} for row in range(300)]
    rows[290]["context"] = "The museum."
    done = call("predict", broken_model, write(tmp_path / "data.jsonl", rows), "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "id 'q290': the model gave logits that are no numbers" in done.stderr
    found = read_predictions_folder(tmp_path / "out")
    assert 0 < len(found.texts) <= 290
    assert list(found.texts) == [f"q{row}" for row in range(len(found.texts))]
    assert f"The first {len(found.texts)} of 300 questions were answered and are in {tmp_path / 'out'}." in done.stderr
    first = call("predict", broken_model, write(tmp_path / "one.jsonl", rows[290:]), "-o", tmp_path / "none")
    assert first.exit_code == 2
    assert not list((tmp_path / "none").iterdir())


def test_an_interrupt_keeps_answers_too(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ExtractiveReader._logits

    def interrupted(self: ExtractiveReader, windows: Any) -> Any:
        if any("museum" in window.encoding.tokens for window in windows):
            raise KeyboardInterrupt
        return run(self, windows)

    monkeypatch.setattr(ExtractiveReader, "_logits", interrupted)
    rows = [{"id": f"q{row}", "question": "Who?", "context": "Walt Disney."} for row in range(300)]
    rows[299]["context"] = "The museum."
    done = call("predict", model, write(tmp_path / "data.jsonl", rows), "-o", tmp_path / "out")
    assert done.exit_code == 1
    kept = len(read_predictions_folder(tmp_path / "out").texts)
    assert f"The first {kept} of 300 questions were answered" in done.stderr


def test_defaults_are_those_of_the_library() -> None:
    defaults = command.make_context("predict", ["model", "data", "-o", "out"]).params
    settings = AnswerSettings()
    assert defaults["n_best"] == settings.n_best
    assert defaults["max_answer_len"] == settings.max_answer_len
    read = inspect.signature(ExtractiveReader.read).parameters
    for name in ("max_seq_len", "doc_stride", "max_question_len", "batch_size"):
        assert defaults[name] == read[name].default, name


def test_help() -> None:
    shown = ok("predict", "--help")
    for option in command.params:
        if option.name not in ("model", "data", "help"):
            assert f"--{str(option.name).replace('_', '-')}" in shown
    assert "null_odds.json" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n-best", "0"], "'n_best' must be an integer of at least 1; got 0"),
        (["--max-answer-len", "0"], "'max_answer_len' must be"),
        (["--null-threshold", "nan"], "'null_threshold' must be None or a number"),
        (["--max-seq-len", "65"], "'max_seq_len' must be at most 64"),
        (["--max-seq-len", "20", "--doc-stride", "20"], "'doc_stride' must be less than max_seq_len (20)"),
        (["--batch-size", "0"], "'batch_size' must be None or an integer of at least 1"),
        (["--dtype", "float8"], "'dtype' must be"),
        (["--device", "tpu"], "'device' must be"),
        (["--revision", "main"], "is a folder, which has no 'revision'"),
        (["--tokenizer", "/no/such/folder"], "There is no folder /no/such/folder"),
        (["--n-best", "many"], "not a valid integer"),
    ],
)
def test_bad_options(options: list[str], message: str, model: str, tmp_path: Path) -> None:
    done = call("predict", model, write(tmp_path / "data.jsonl", ROWS), "-o", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert message in done.stderr


def test_bad_input(model: str, tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", ROWS)
    (tmp_path / "file").write_text("")
    cases = {
        (model, tmp_path / "missing.json", tmp_path): "missing.json: there is no such file",
        (model, write(tmp_path / "no_context.jsonl", [{"id": "a", "question": "?"}]), tmp_path): "no column 'context'",
        (tmp_path / "no_model", data, tmp_path): "There is no folder",
        (model, data, tmp_path / "file" / "below"): "cannot be made",
        (model, write(tmp_path / "half.jsonl", [{**ROWS[0], "context": "a \ud800"}]), tmp_path): "not valid Unicode",
    }
    for (name, questions, out), message in cases.items():
        done = call("predict", name, questions, "-o", out)
        assert done.exit_code == 2, message
        assert message in done.stderr
    assert call("predict", model, data).exit_code == 2
