"""The command that trains: learn a tiny file, save, reload; resume; nothing changes when run again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qa_scoring.cli.similarity import command
from qa_scoring.errors import InputError
from qa_scoring.similarity.base_model import WEIGHTS
from qa_scoring.similarity.embedded import load_embedded
from qa_scoring.similarity.training import LARGEST_ADAPTER, plan_steps, predict, train
from qa_scoring.similarity.training_config import TrainingConfig, config_text, read_config
from tests.similarity_training.conftest import PAIRS

pytest.importorskip("peft")

CONFIG = """
name = "tiny"
base = {base}
seed = 3
holdout = {holdout}
rank = 8
alpha = 16
dropout = 0.0
learning_rate = 0.005
epochs = {epochs}
batch_size = 10
max_length = 32
log_every = {log_every}

[[sources]]
kind = "scored-pairs"
path = "pairs.csv"
scale = 5
"""
ROWS = [line.split(",") for line in PAIRS.splitlines()]
TEXTS = [(first, second) for first, second, _ in ROWS]
LABELS = [float(score) / 5 for *_, score in ROWS]


@pytest.fixture
def write_config(folder: Path, tiny_base: Path) -> Callable[..., Path]:
    def write(**values: Any) -> Path:
        path = folder / "tiny.toml"
        filled = {"base": json.dumps(str(tiny_base)), "holdout": 0, "epochs": 200, "log_every": 100, **values}
        path.write_text(CONFIG.format(**filled), encoding="utf-8")
        return path

    return write


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["train", *map(str, arguments)])


def log_lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "training_log.jsonl").read_text(encoding="utf-8").splitlines()]


def without_time(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_a_tiny_file_is_learnt_saved_and_reloaded(write_config: Callable[..., Path], tiny_base: Path) -> None:
    config = write_config()
    out = config.parent / "out"
    done = call(config, "--out", out)
    assert done.exit_code == 0, done.output
    assert str(out / "adapter.safetensors") in done.stdout
    assert {path.name for path in out.iterdir()} == {"adapter.safetensors", "training_log.jsonl", "config.toml"}
    assert (out / "adapter.safetensors").stat().st_size < LARGEST_ADAPTER

    model, tokenizer, facts = load_embedded(out / "adapter.safetensors", str(tiny_base))
    scores = predict(model, tokenizer, TEXTS, 32)
    assert np.corrcoef(scores, LABELS)[0, 1] > 0.9
    assert facts["name"] == "tiny"
    assert float(facts["scale"]) == 2.0
    assert facts["base"] == tiny_base.name

    first, *lines = log_lines(out)
    assert first["pairs"] == {"pairs": 20}
    assert first["base_sha256"] == facts["base_sha256"]
    assert [line["step"] for line in lines] == [100, 200, 300, 400]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert read_config(out / "config.toml") == read_config(config)


def test_scores_are_the_same_before_saving_and_after_reloading(
    write_config: Callable[..., Path], tiny_base: Path
) -> None:
    config = read_config(write_config(epochs=5, holdout=0.3))
    out = Path(str(config.base)).parent / "same"
    result = train(config, Path(write_config()).parent, out)
    before = predict(result.model, result.tokenizer, TEXTS, 32)
    model, tokenizer, _ = load_embedded(result.adapter, str(tiny_base))
    assert predict(model, tokenizer, TEXTS, 32) == pytest.approx(before, abs=1e-6)
    assert before.std() > 0.001
    last = log_lines(out)[-1]
    assert -1 <= last["pearson"]["all"] <= 1


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(write_config: Callable[..., Path]) -> None:
    import torch
    from safetensors.torch import load_file

    path = write_config(epochs=10, log_every=4)
    path.write_text(path.read_text().replace("dropout = 0.0", "dropout = 0.2"))
    config = read_config(path)
    folder = path.parent

    def cut(steps: Iterable[Any]) -> Iterable[Any]:
        for number, step in enumerate(steps):
            if number == 10:
                raise KeyboardInterrupt
            yield step

    whole = train(config, folder, folder / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(config, folder, folder / "cut", progress=cut)
    assert (folder / "cut" / "checkpoint.safetensors").is_file()
    with (folder / "cut" / "training_log.jsonl").open("a") as file:  # a line that the checkpoint does not know of
        file.write('{"step": 12, "loss": 9.0, "seconds": 1.0, "pearson": {}}\n')
    done = call(path, "--out", folder / "cut", "--resume")
    assert done.exit_code == 0, done.output
    resumed, expected = load_file(folder / "cut" / "adapter.safetensors"), load_file(whole.adapter)
    assert set(resumed) == set(expected)
    assert all(torch.equal(resumed[name], expected[name]) for name in expected)
    assert without_time(log_lines(folder / "cut")) == without_time(log_lines(folder / "whole"))


def test_runs_do_not_overwrite_each_other(write_config: Callable[..., Path]) -> None:
    path = write_config(epochs=1, log_every=1)
    out = path.parent / "out"

    def stop(steps: Iterable[Any]) -> Iterable[Any]:
        yield next(iter(steps))
        raise KeyboardInterrupt

    with pytest.raises(InputError, match="no checkpoint; there is nothing to resume"):
        train(read_config(path), path.parent, out, resume=True)
    with pytest.raises(KeyboardInterrupt):
        train(read_config(path), path.parent, out, progress=stop)
    with pytest.raises(InputError, match=r"holds a run already. Pass --resume"):
        train(read_config(path), path.parent, out)
    with pytest.raises(InputError, match="holds another run: its config was"):
        train(read_config(write_config(epochs=2, log_every=1)), path.parent, out, resume=True)
    train(read_config(write_config(epochs=1, log_every=1)), path.parent, out, resume=True)
    with pytest.raises(InputError, match="a finished run; there is nothing to resume"):
        train(read_config(path), path.parent, out, resume=True)


def test_another_base_is_refused_by_its_digest(write_config: Callable[..., Path], tiny_base: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = write_config(epochs=1)
    result = train(read_config(path), path.parent, path.parent / "out")
    other = path.parent / "other"
    other.mkdir()
    for file in tiny_base.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    tensors = load_file(other / WEIGHTS)
    tensors["pooler.dense.bias"] += 1
    save_file(tensors, other / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(InputError, match="the weights of the base that the model was trained on"):
        load_embedded(result.adapter, str(other))


def test_what_cannot_be_trained(write_config: Callable[..., Path], tiny_base: Path) -> None:
    path = write_config(epochs=1)
    config = tomllib.loads(path.read_text())
    folder = path.parent

    def trained(device: str = "cpu", **values: Any) -> None:
        text = "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in ({**config, **values}).items() if key != "sources"
        )
        path.write_text(text + '[[sources]]\nkind = "scored-pairs"\npath = "pairs.csv"\nscale = 5\n')
        train(read_config(path), folder, folder / "never", device=device)

    with pytest.raises(InputError, match=r"A change of rank 20000 would take [\d,]+ bytes; expected at most 5,000,000"):
        trained(rank=20000)
    with pytest.raises(InputError, match=r"'epochs' must be enough for one step over 20 pairs; got 0.1"):
        trained(epochs=0.1)
    with pytest.raises(InputError, match=r"'max_length' must be at most 64 for .*; got 65"):
        trained(max_length=65)
    with pytest.raises(InputError, match="'device' must be a device that is there, such as 'cpu'; got 'abacus'"):
        trained(device="abacus")
    with pytest.raises(InputError, match=r"has no config.json, .*model.safetensors"):
        trained(base=str(folder / "nowhere"))
    with pytest.raises(InputError, match=r"The loss is .* at step .*; expected a number. Lower learning_rate"):
        trained(learning_rate=1e30, epochs=20)


def test_another_architecture_is_refused(write_config: Callable[..., Path], tiny_base: Path) -> None:
    path = write_config()
    other = path.parent / "other"
    other.mkdir()
    for file in tiny_base.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "model_type": "electra"}))
    with pytest.raises(InputError, match="holds a model of type 'electra'; expected 'bert'"):
        train(replace(read_config(path), base=str(other)), path.parent, path.parent / "never")


def test_every_pair_is_seen_once_an_epoch(write_config: Callable[..., Path]) -> None:
    from qa_scoring.similarity.training_pairs import TrainingPair

    pairs = [TrainingPair("a", "b" * (number % 7), 0.0, "x") for number in range(23)]
    config = TrainingConfig(name="plan", batch_size=5, epochs=2)
    steps = plan_steps(pairs, config)
    assert len(steps) == 10
    for epoch in (steps[:5], steps[5:]):
        assert sorted(row for step in epoch for row in step.rows) == list(range(23))
    assert plan_steps(pairs, config) == steps
    assert {swap for step in steps for swap in step.swapped} == {True, False}
    assert config_text(config).startswith('name = "plan"')
