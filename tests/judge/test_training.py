"""Training: a tiny judge that learns its file through the command line, resumes, and says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import load_file

from qa_scoring.cli.judge import command
from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.errors import InputError
from qa_scoring.judge.examples import JudgedExample
from qa_scoring.judge.inputs import item
from qa_scoring.judge.linear import load_linear_judge
from qa_scoring.judge.network_judge import load_network_judge
from qa_scoring.judge.network_training import AssembledExamples, Collator, LengthGrouped
from qa_scoring.judge.training import train_judge
from qa_scoring.judge.training_config import JudgeTrainingConfig, judge_config_text, read_judge_config
from qa_scoring.judge.training_log import held_out_figures
from qa_scoring.report.training_plots import training_curve

CITIES = ["paris", "london", "rome"]
RIVERS = ["seine", "thames", "tiber"]
PEOPLE = ["walt", "disney", "the king"]
SETTINGS = {
    "peer_attention": True,
    "max_length": 32,
    "dropout": 0.0,
    "epochs": 25,
    "learning_rate": 3e-3,
    "batch_size": 12,
    "weight_decay": 0.0,
    "holdout": 0.4,
    "seed": 5,
}


def rows() -> list[tuple[str, str, str, bool]]:
    """Questions on rivers and people: a right answer names the reference, a wrong one something else, with "not"."""
    forms = {
        "which river is in {}": RIVERS,
        "what river was in {}": RIVERS,
        "{} is by which river": RIVERS,
        "who was king in {}": PEOPLE,
        "who is in {}": PEOPLE,
        "by who was {} made": PEOPLE,
    }
    made = []
    for form, names in forms.items():
        for city, reference in zip(CITIES, names, strict=True):
            for name in names:
                answer = f"it is {name}" if name == reference else f"it is not {name}"
                made.append((form.format(city), reference, answer, name == reference))
    return made


@pytest.fixture
def write_config(tmp_path: Path, bert_base: Path) -> Callable[..., Path]:
    lines = [
        {"question": question, "references": [reference], "system": "tiny", "answer": answer, "correct": correct}
        for question, reference, answer, correct in rows()
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def write(source: str = "answers.jsonl", family: str = "network", **values: Any) -> Path:
        path = tmp_path / "tiny.toml"
        settings = {**SETTINGS, "base": str(bert_base), **values} if family == "network" else values
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items() if value is not None)
        path.write_text(
            f'name = "tiny"\nfamily = "{family}"\n{text}[[sources]]\nkind = "judged-answers"\npath = "{source}"\n',
            encoding="utf-8",
        )
        return path

    return write


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["train", *map(str, arguments)])


def log_lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "training_log.jsonl").read_text(encoding="utf-8").splitlines()]


def figures(judge: Any) -> dict[str, float]:
    scores = score_distinct(judge, [item(question, answer, [reference]) for question, reference, answer, _ in rows()])
    return held_out_figures([row[3] for row in rows()], scores.scores >= judge.threshold)


def test_a_tiny_file_is_learnt_saved_and_reloaded(write_config: Callable[..., Path]) -> None:
    path = write_config()
    out = path.parent / "out"
    done = call(path, "--out", out, "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert f"Judge: {out}" in done.stdout
    assert {file.name for file in out.iterdir()} >= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "config.toml",
    }
    assert not [file for file in out.iterdir() if file.is_dir() or file.suffix in {".bin", ".pt", ".pth", ".pkl"}]

    judge = load_network_judge(str(out), device="cpu")
    assert figures(judge)["f1"] > 0.9
    assert judge.facts["judge"] == "A2"
    ranked = judge.rerank("which river is in rome", "tiber", ["it is not seine", "it is tiber", ""])
    assert [place for place, _ in ranked] == [1, 0, 2]

    first, *lines = log_lines(out)
    assert sum(first["examples"]["judged-answers"].values()) > 30
    assert first["held_out"]["judged-answers"]["correct"] > 0
    assert first["truncated"] == {"examples": 0, "held_out": 0}
    assert [line["epoch"] for line in lines] == [*range(1, 26)]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert {"step", "held_out_loss", "f1", "accuracy", "seconds"} <= set(lines[0])
    assert read_judge_config(out / "config.toml") == read_judge_config(path)


def test_the_log_is_drawn(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [{"config": {}}, *({"step": step, "loss": 1 / step, "f1": 0.5, "accuracy": 0.75} for step in (10, 20))]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    above, below = training_curve(log).axes
    assert above.lines[0].get_xydata().tolist() == [[10, 0.1], [20, 0.05]]
    assert [line.get_label() for line in below.lines] == ["f1", "accuracy"]
    log.write_text('{"f1": 1.0}\n')
    with pytest.raises(InputError, match="has nothing to draw; expected lines with 'step'"):
        training_curve(log)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        training_curve(tmp_path / "none")


def test_the_linear_family_is_trained_too(write_config: Callable[..., Path]) -> None:
    path = write_config(family="linear", holdout=0.2)
    out = path.parent / "out"
    done = call(path, "--out", out)
    assert done.exit_code == 0, done.output
    assert {file.name for file in out.iterdir()} == {"judge.json", "training_log.jsonl", "config.toml"}
    assert figures(load_linear_judge(str(out)))["f1"] == 1.0
    assert log_lines(out)[-1] == {"f1": 1.0, "accuracy": 1.0}
    assert read_judge_config(out / "config.toml") == read_judge_config(path)


def test_training_and_scoring_assemble_the_same_tokens(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truncated ones included: what the Trainer's model sees is what the saved judge sees."""
    import qa_scoring.judge.modeling as modeling

    seen: dict[str, dict[tuple[int, ...], set[tuple[int, ...]]]] = {"training": {}, "scoring": {}}
    now = "training"
    forward = modeling.JudgeModel.forward

    def spy(self: Any, labels: Any = None, weights: Any = None, **tokens: torch.Tensor) -> Any:
        masks = [tokens[f"pair_{number}_attention_mask"].bool() for number in range(2)]
        for row in range(len(masks[0])):
            for name, values in tokens.items():
                kept = values[row][masks[int(name[5])][row]].tolist()
                seen[now].setdefault(name, set()).add(tuple(kept))  # type: ignore[call-overload]
        return forward(self, labels, weights, **tokens)

    monkeypatch.setattr(modeling.JudgeModel, "forward", spy)
    path = write_config(epochs=1, max_length=14)
    out = path.parent / "out"
    train_judge(read_judge_config(path), path.parent, out, device="cpu")
    assert log_lines(out)[0]["truncated"]["examples"] > 0
    now = "scoring"
    judge = load_network_judge(str(out), device="cpu")
    items = [item(question, answer, [reference]) for question, reference, answer, _ in rows()]
    assert score_distinct(judge, items).truncated.any()
    assert set(seen["training"]) == {
        f"pair_{number}_{name}" for number in (0, 1) for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    assert seen["training"] == seen["scoring"]


def test_the_collator_gives_labels_and_weights(bert_base: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(bert_base)
    examples = [JudgedExample("who", "walt", "disney", True, 2.0), JudgedExample("which river", "seine", "no", False)]
    dataset = AssembledExamples(examples, tokenizer, ["q-r"], 16)
    batch = Collator(tokenizer)([dataset[0], dataset[1]])
    assert batch["labels"].tolist() == [1.0, 0.0]
    assert batch["weights"].tolist() == [2.0, 1.0]
    assert batch["pair_0_attention_mask"].sum(1).tolist() == dataset.lengths == [5, 6]


def test_examples_of_like_length_are_read_together() -> None:
    lengths = np.random.default_rng(1).integers(3, 60, 205).tolist()
    sampler = LengthGrouped(lengths, 10, seed=2)
    first, again = list(sampler), list(sampler)
    sampler.set_epoch(1)
    assert first == again != list(sampler)
    assert sorted(first) == list(range(205))
    spread = [np.ptp([lengths[row] for row in first[start : start + 10]]) for start in range(0, 200, 10)]
    assert max(spread) < 15


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load_file(folder / "model.safetensors") for folder in (one, other))
    return all(torch.equal(first[name], second[name]) for name in first)


def test_a_seed_fixes_the_weights(write_config: Callable[..., Path], tmp_path: Path) -> None:
    config = replace(read_judge_config(write_config(dropout=0.2)), epochs=1)
    folders = [tmp_path / name for name in ("one", "again", "other")]
    for folder, seed in zip(folders, (5, 5, 6), strict=True):
        train_judge(replace(config, seed=seed), folder.parent, folder, device="cpu")
    assert same_weights(folders[0], folders[1])
    assert not same_weights(folders[0], folders[2])


def test_a_run_that_was_interrupted_goes_on(write_config: Callable[..., Path]) -> None:
    path = write_config(epochs=3, dropout=0.2)
    config, whole, part = read_judge_config(path), path.parent / "whole", path.parent / "part"
    train_judge(config, path.parent, whole, device="cpu")

    def breaks_off(steps: Any) -> Any:
        for step in steps:
            if step == 5:
                raise KeyboardInterrupt
            yield step

    with pytest.raises(KeyboardInterrupt):
        train_judge(config, path.parent, part, device="cpu", progress=breaks_off)
    with pytest.raises(InputError, match="part holds a run already; pass another folder, or resume it"):
        train_judge(config, path.parent, part, device="cpu")
    with pytest.raises(InputError, match=r"config\.toml is not the configuration given; resume a run with its own"):
        train_judge(replace(config, epochs=4), path.parent, part, device="cpu", resume=True)
    done = call(path, "--out", part, "--device", "cpu", "--resume")
    assert done.exit_code == 0, done.output
    assert not (part / "checkpoints").exists()
    assert same_weights(whole, part)
    untimed = [[{**line, "seconds": 0} for line in log_lines(folder)[1:]] for folder in (whole, part)]
    assert untimed[0] == untimed[1]


def test_a_run_ends_early(write_config: Callable[..., Path]) -> None:
    path = write_config(learning_rate=1e-9, early_stopping_patience=2, evaluate_every=3, bfloat16=True)
    out = path.parent / "out"
    train_judge(read_judge_config(path), path.parent, out, device="cpu", keep_checkpoints=True)
    assert [line["step"] for line in log_lines(out)[1:]] == [3, 6, 9]
    assert (out / "checkpoints").is_dir()
    assert {str(tensor.dtype) for tensor in load_file(out / "model.safetensors").values()} == {"torch.float32"}


def test_what_cannot_be_trained(write_config: Callable[..., Path]) -> None:
    folder = write_config().parent

    def trained(device: str | None = "cpu", resume: bool = False, **values: Any) -> None:
        train_judge(read_judge_config(write_config(**values)), folder, folder / "never", device=device, resume=resume)

    with pytest.raises(InputError, match=r"The loss is (nan|inf) in step \d+; expected a number. Lower learning_rate"):
        trained(learning_rate=1e30, warmup=0.0)
    for path in sorted((folder / "never").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    lines = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    (folder / "right.jsonl").write_text("".join(json.dumps({**line, "correct": True}) + "\n" for line in lines))
    with pytest.raises(InputError, match="0 incorrect ones"):
        trained(source="right.jsonl")
    with pytest.raises(InputError, match=r"There is no folder .*nowhere"):
        trained(base=str(folder / "nowhere"))
    with pytest.raises(InputError, match=r"'max_tokens' must be at most 64, the positions of .*; got 65"):
        trained(max_length=65)
    with pytest.raises(InputError, match="'device' must be None or one of 'cuda', 'mps', 'cpu'; got 'abacus'"):
        trained(device="abacus")
    with pytest.raises(InputError, match="has no checkpoint; there is nothing to resume"):
        trained(resume=True)
    with pytest.raises(InputError, match="A linear judge is trained in seconds; there is nothing to resume"):
        trained(resume=True, family="linear")
    assert not (folder / "never").exists() or not any((folder / "never").iterdir())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"holdout": 0}, "nothing is held out; expected a holdout above 0 or a"),
        ({"pairs": ["q-x"]}, "'pairs' must be one or more of 'q-r', 'r-t'"),
        ({"pairs": ["q-r", "q-r"]}, "'pairs' must be one or more of .*, each once"),
        ({"pairs": []}, "'pairs' must be one or more of"),
        ({"pairs": ["q-r"]}, r"Peer attention is between two pairs; got 1 \(q-r\)"),
        ({"encoders": "three"}, "'encoders' must be 'own' or 'shared' or 'adapters'; got 'three'"),
        ({"family": "linear", "epochs": 2}, "epochs: family = 'linear' has no such setting; networks have"),
        ({"bfloat16": 1}, "bfloat16: expected true or false; got 1"),
        ({"learning_rate": 0}, "learning_rate: expected a number above 0; got 0"),
        ({"patience": 0}, "unknown key 'patience'; the keys are name, seed, family, pairs"),
        ({"source": "dev.jsonl"}, "'dev.jsonl' is for measuring, not for training"),
    ],
)
def test_wrong_configurations(write_config: Callable[..., Path], values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_judge_config(write_config(**values))


def test_a_configuration_is_written_as_it_is_read(write_config: Callable[..., Path]) -> None:
    path = write_config(holdout=0)
    path.write_text(path.read_text() + '[held_out]\nkind = "judged-answers"\npath = "other_dev.jsonl"\n')
    config = read_judge_config(path)
    assert isinstance(config, JudgeTrainingConfig)
    path.write_text(judge_config_text(config))
    assert read_judge_config(path) == config
