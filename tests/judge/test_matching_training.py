"""The command that trains the matching judge: learn a tiny file, save, reload; a seed fixes what comes out."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from qa_scoring.cli.judge import command
from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.errors import InputError
from qa_scoring.judge.inputs import item
from qa_scoring.judge.made_answers import RULES
from qa_scoring.judge.matching import ItemReader, MatchingHead
from qa_scoring.judge.matching_examples import MADE, build_items
from qa_scoring.judge.matching_judge import HEAD, change_head, load_matching_judge
from qa_scoring.judge.matching_training import matching_config_text, mean_head, read_matching_config, train_matching
from qa_scoring.judge.sources import JudgedAnswers, SemEval2013

ASKED = {
    "which river is in paris": ["seine", "the river seine"],
    "which river is in london": ["thames"],
    "which river is in rome": ["tiber", "the tiber"],
    "who made the film": ["walt disney", "disney"],
    "when was the king in england": ["1066", "in 1066"],
    "what year was it": ["1492"],
    "how many people": ["two million", "2 million"],
    "which car is it": ["a red car", "red"],
}
NAMES = [references[0] for references in ASKED.values()]
SETTINGS: dict[str, Any] = {
    "max_length": 32,
    "made": 0,
    "hidden": 16,
    "dropout": 0.0,
    "references_dropped": 0.0,
    "learning_rate": 0.02,
    "epochs": 25,
    "batch_size": 10,
    "holdout": 0.0,
    "seed": 5,
}


def rows() -> list[dict[str, Any]]:
    """Forty answers: the reference alone and in a sentence, other references, and the reference denied."""
    made = []
    for number, (question, references) in enumerate(ASKED.items()):
        right, wrong = references[-1], [NAMES[(number + step) % len(NAMES)] for step in (1, 2)]
        for answer, correct in (
            (right, True), (f"it is {right}", True), (wrong[0], False), (f"it was {wrong[1]}", False),
            (f"it is not {right}", False),
        ):  # fmt: skip
            made.append({"question": question, "references": references, "answer": answer, "correct": correct})
    return made


def write_rows(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def write_config(tmp_path: Path, bert_base: Path) -> Callable[..., Path]:
    write_rows(tmp_path / "answers.jsonl", rows())

    def write(source: str = "answers.jsonl", kind: str = "judged-answers", **values: Any) -> Path:
        path = tmp_path / "tiny.toml"
        settings = {**SETTINGS, "base": str(bert_base), **values}
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items() if value is not None)
        path.write_text(
            f'name = "tiny"\nfamily = "matching"\n{text}[[sources]]\nkind = "{kind}"\npath = "{source}"\n',
            encoding="utf-8",
        )
        return path

    return write


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["train", *map(str, arguments)])


def log_lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "training_log.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_tiny_file_is_learnt_saved_and_reloaded(write_config: Callable[..., Path], bert_base: Path) -> None:
    path = write_config()
    out = path.parent / "out"
    done = call(path, "--out", out, "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert f"Judge: {out}" in done.stdout
    assert {file.name for file in out.iterdir()} == {HEAD, "training_log.jsonl", "config.toml"}

    judge = load_matching_judge(out, base=str(bert_base))
    assert (judge.facts["model"], judge.facts["max_length"], judge.threshold) == ("tiny", 32, 0.5)
    scores = score_distinct(judge, [item(row["question"], row["answer"], row["references"]) for row in rows()]).scores
    right = [(score >= judge.threshold) == row["correct"] for score, row in zip(scores, rows(), strict=True)]
    assert sum(right) / len(right) > 0.9

    first, *lines, last = log_lines(out)
    assert last == {"heads": 1}
    assert (first["items"], first["held_out"], first["base"]) == ({"judged-answers": 40}, 0, bert_base.name)
    assert set(first) == {"base", "base_sha256", "items", "held_out", "reading_seconds", "versions"}
    assert [line["epoch"] for line in lines] == [*range(1, 26)]
    assert set(lines[0]) == {"seed", "epoch", "loss"}
    assert lines[-1]["loss"] < lines[0]["loss"] / 2
    assert read_matching_config(out / "config.toml") == read_matching_config(path)


def test_threshold_and_temperature_can_be_changed(write_config: Callable[..., Path], bert_base: Path) -> None:
    path = write_config(epochs=1)
    out = train_matching(read_matching_config(path), path.parent, path.parent / "out", device="cpu").folder
    items = [item("which river", "the seine", ["seine"])]
    before = score_distinct(load_matching_judge(out, base=str(bert_base)), items).scores
    change_head(out, {"threshold": 0.7, "temperature": 2.0})
    judge = load_matching_judge(out, base=str(bert_base))
    assert (judge.threshold, judge.facts["temperature"], judge.facts["model"]) == (0.7, 2.0, "tiny")
    odds, changed = (scores / (1 - scores) for scores in (before, score_distinct(judge, items).scores))
    assert changed == pytest.approx(odds**0.5)


def test_a_seed_fixes_every_byte(write_config: Callable[..., Path], tmp_path: Path) -> None:
    written = []
    for name, seed in (("one", 5), ("again", 5), ("other", 6)):
        path = write_config(
            epochs=2, seed=seed, made=2, dropout=0.2, references_dropped=0.5, holdout=0.2, batch_size=16
        )
        train_matching(read_matching_config(path), tmp_path, tmp_path / name, device="cpu")
        written.append((tmp_path / name / HEAD).read_bytes())
    assert written[0] == written[1] != written[2]
    first, *lines = log_lines(tmp_path / "one")
    assert set(first["items"]) == {"judged-answers", MADE}
    assert first["held_out"] == 10
    assert set(lines[0]) == {"seed", "epoch", "loss", "f1", "accuracy"}
    untimed = [[{**line, "reading_seconds": 0} for line in log_lines(tmp_path / name)] for name in ("one", "again")]
    assert untimed[0] == untimed[1]


def build(tmp_path: Path, *sources: Any, **options: Any) -> Any:
    settings = {"seed": 3, "holdout": 0.25, "made": 3, "made_weight": 0.5, "nearest": lambda pool: {}} | options
    return build_items(sources or [JudgedAnswers(path="answers.jsonl", weight=2.0)], tmp_path, **settings)


def test_questions_that_are_held_out_are_not_learnt(write_config: Callable[..., Path], tmp_path: Path) -> None:
    lines = rows()
    shouted = [{**row, "question": row["question"].upper() + " "} for row in lines]  # the same questions
    write_rows(write_config().parent / "answers.jsonl", lines + shouted)
    for seed in range(5):
        sets = build(tmp_path, seed=seed)
        judged = [one for one in sets.train if one.origin != MADE]
        learnt, watched = ({one.question.strip().lower() for one in side} for side in (judged, sets.held_out))
        assert len(watched) == 2
        assert not watched & {one.question.strip().lower() for one in sets.train}
        assert not learnt & watched
        assert learnt | watched == set(ASKED)
        assert len(judged) + len(sets.held_out) == 80
        assert {one.origin for one in sets.held_out} == {"judged-answers"}
        known = {text for one in judged for text in one.references}
        assert {text for one in sets.train if one.origin == MADE for text in one.references if text in NAMES} <= known
        assert {one.weight for one in judged} == {2.0}
        assert {one.weight for one in sets.train if one.origin == MADE} == {0.5}


def test_answers_are_made_of_the_questions_to_learn_from(write_config: Callable[..., Path], tmp_path: Path) -> None:
    write_config()
    asked: list[list[str]] = []
    nearest = {"seine": ["tiber", "thames"]}
    sets = build(tmp_path, made=4, nearest=lambda pool: asked.append(list(pool)) or nearest)
    made = [one for one in sets.train if one.origin == MADE]
    assert len(made) in range(4, 4 * 6 + 1, 4)  # a question needs two other references to draw
    assert asked == [sorted({one.references[0] for one in sets.train if one.origin != MADE})]
    assert {one.correct for one in made} == {True, False}
    assert all(one.answer.strip() and one.references for one in made)
    assert build(tmp_path, made=0).train == [one for one in build(tmp_path).train if one.origin != MADE]
    assert len(build(tmp_path, made=100).train) <= 30 + 6 * len(RULES)


def test_what_scoring_would_not_read_is_not_learnt(write_config: Callable[..., Path], tmp_path: Path) -> None:
    write_config()
    lines = rows()
    lines[0]["references"] = ["", "seine", " \t"]
    lines[1]["references"] = [" "]
    lines[2]["answer"] = "\n"
    write_rows(tmp_path / "answers.jsonl", lines)
    items = build(tmp_path, holdout=0.0, made=0).train
    assert len(items) == 38
    assert items[0].references == ("seine",)
    lines[3]["question"] = " "
    write_rows(tmp_path / "answers.jsonl", lines)
    with pytest.raises(InputError, match=r"answers\.jsonl, row 3: expected a question that is not blank; got ' '"):
        build(tmp_path)


def test_student_answers(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(4):
            archive.writestr(
                f"training/3way/made/q{number}.xml",
                f"""<question id="Q{number}"><questionText>why {number}</questionText><referenceAnswers>
                <referenceAnswer id="A">The gap is open.</referenceAnswer></referenceAnswers><studentAnswers>
                <studentAnswer id="1" accuracy="correct" answerMatch="A">a gap</studentAnswer>
                <studentAnswer id="2" accuracy="contradictory">it is closed</studentAnswer>
                <studentAnswer id="3" accuracy="incorrect">I do not know</studentAnswer>
                <studentAnswer id="4" accuracy="incorrect">  </studentAnswer></studentAnswers></question>""",
            )
    (tmp_path / "semeval.zip").write_bytes(buffer.getvalue())
    source = SemEval2013(path="semeval.zip")
    items = build(tmp_path, source, holdout=0.0, made=0).train
    assert [(one.answer, one.correct) for one in items[:3]] == [
        ("a gap", True), ("it is closed", False), ("I do not know", False)
    ]  # fmt: skip
    assert len(items) == 12
    fewer = build(tmp_path, SemEval2013(path="semeval.zip", contradictory=False), holdout=0.0, made=0).train
    assert {one.answer for one in fewer} == {"a gap", "I do not know"}


def test_training_and_scoring_read_the_same(
    write_config: Callable[..., Path], bert_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, dict[Any, list[float]]] = {"training": {}, "scoring": {}}
    now = "training"
    read = ItemReader.read

    def spy(self: ItemReader, items: Any, progress: Any) -> Any:
        for reading in read(self, items, progress):
            for (row, number), features in zip(reading.pairs, reading.features, strict=True):
                seen[now][items[row], number] = features.tolist()
            yield reading

    monkeypatch.setattr(ItemReader, "read", spy)
    path = write_config(epochs=1, made=3, max_length=10)
    train_matching(read_matching_config(path), path.parent, path.parent / "out", device="cpu")
    now = "scoring"
    judge = load_matching_judge(path.parent / "out", base=str(bert_base))
    score_distinct(judge, [texts for texts, _ in seen["training"]])
    assert len(seen["training"]) > 60
    assert seen["training"].keys() == seen["scoring"].keys()
    for key, features in seen["training"].items():
        assert seen["scoring"][key] == pytest.approx(features, abs=1e-5)


def test_runs_do_not_overwrite_each_other(write_config: Callable[..., Path]) -> None:
    path = write_config(epochs=1)
    out = path.parent / "out"
    assert call(path, "--out", out).exit_code == 0
    before = (out / HEAD).read_bytes()
    with pytest.raises(InputError, match="out holds a run already; pass another folder"):
        train_matching(read_matching_config(path), path.parent, out)
    assert (out / HEAD).read_bytes() == before


@pytest.mark.parametrize("option", ["--resume", "--keep-checkpoints"])
def test_there_is_nothing_to_resume(option: str, write_config: Callable[..., Path]) -> None:
    path = write_config()
    done = call(path, "--out", path.parent / "out", option)
    assert isinstance(done.exception, InputError) or done.exit_code == 2
    assert "keeps no checkpoints" in f"{done.exception} {done.output}"
    assert not (path.parent / "out").exists()


def test_what_cannot_be_trained(write_config: Callable[..., Path], tmp_path: Path) -> None:
    write_rows(tmp_path / "right.jsonl", [{**row, "correct": True} for row in rows()])
    write_rows(tmp_path / "one.jsonl", rows()[:5])
    (tmp_path / "candidates.csv").write_text("question,answer,label\nwho,walt,1\nwho,disney,0\n")

    def trained(device: str = "cpu", **values: Any) -> None:
        train_matching(read_matching_config(write_config(**values)), tmp_path, tmp_path / "never", device=device)

    for values, message in (
        ({"source": "right.jsonl"}, "the sources give 40 correct and 0 incorrect ones, and 0 answers are held out"),
        ({"source": "one.jsonl", "holdout": 0.5}, "0 correct and 0 incorrect ones, and 5 answers are held out"),
        (
            {"source": "candidates.csv", "kind": "answer-selection"},
            r"candidates\.csv: the matching judge learns from 'judged-answers', 'semeval2013'; got answer-selection",
        ),
        ({"source": "none.jsonl"}, r"none\.jsonl: there is no such file; expected the judged-answers data of the run"),
        ({"max_length": 65}, "'max_length' must be at most 64 for .*; got 65"),
        ({"base": str(tmp_path / "nowhere")}, r"nowhere is not .*: it has no config\.json"),
        ({"device": "abacus"}, "'device' must be None or one of 'cuda', 'mps', 'cpu'; got 'abacus'"),
        ({"learning_rate": 1e30}, r"The loss is (nan|inf) in epoch \d+; expected a number\. Lower learning_rate"),
    ):
        with pytest.raises(InputError, match=message):
            trained(**values)
        assert not (tmp_path / "never" / HEAD).exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"patience": 3}, "unknown key 'patience'; the keys are name, family, seed, holdout"),
        ({"pairs": ["q-r"]}, "unknown key 'pairs'"),
        ({"holdout": 1.0}, "holdout: expected a number of at least 0 and below 1; got 1.0"),
        ({"made": -1}, "made: expected an integer of at least 0; got -1"),
        ({"epochs": 0}, "epochs: expected an integer of at least 1; got 0"),
        ({"max_length": 7}, "max_length: expected an integer of at least 8; got 7"),
        ({"learning_rate": 0}, "learning_rate: expected a number above 0; got 0"),
        ({"source": "dev.jsonl"}, "'dev.jsonl' is for measuring, not for training"),
        ({"kind": "triples"}, "source 0, kind: expected one of answer-selection, judged-answers, semeval2013"),
    ],
)
def test_wrong_configurations(write_config: Callable[..., Path], values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_matching_config(write_config(**values))


def test_a_configuration_is_written_as_it_is_read(write_config: Callable[..., Path]) -> None:
    path = write_config(base=None, learning_rate=1)
    config = read_matching_config(path)
    assert config.base is None
    assert config.learning_rate == 1.0
    path.write_text(matching_config_text(config), encoding="utf-8")
    assert read_matching_config(path) == config


def test_heads_are_averaged_into_one(write_config: Callable[..., Path], bert_base: Path) -> None:
    torch.manual_seed(0)
    heads = [MatchingHead(5, hidden=3).eval() for _ in range(3)]
    features = torch.randn(7, 5)
    with torch.inference_mode():
        mean = torch.stack([head(features) for head in heads]).mean(0)
        assert torch.allclose(mean_head(heads)(features), mean, atol=1e-6)
    path = write_config(epochs=1, heads=2)
    out = train_matching(read_matching_config(path), path.parent, path.parent / "out", device="cpu").folder
    lines = log_lines(out)
    assert [line.get("seed") for line in lines] == [None, 5, 6, None]
    assert lines[-1]["heads"] == 2
    assert load_matching_judge(out, base=str(bert_base)).threshold == 0.5
