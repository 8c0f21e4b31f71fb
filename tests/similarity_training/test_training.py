"""The command that trains: learn a tiny file, save, reload; a seed fixes what comes out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qa_scoring.cli.similarity import command
from qa_scoring.encoders.base_model import WEIGHTS, load_encoder
from qa_scoring.encoders.nearest import nearest_texts
from qa_scoring.encoders.reading import TextReader
from qa_scoring.encoders.scorers import score_distinct
from qa_scoring.errors import InputError
from qa_scoring.similarity.embedded import load_embedded
from qa_scoring.similarity.training import train
from qa_scoring.similarity.training_config import read_config
from tests.similarity_training.conftest import PAIRS

CONFIG = """
name = "tiny"
base = {base}
seed = 3
holdout = {holdout}
layers = [0, 2]
rank = 8
hidden = 16
dropout = 0.0
learning_rate = 0.01
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
        filled = {"base": json.dumps(str(tiny_base)), "holdout": 0, "epochs": 60, "log_every": 20, **values}
        path.write_text(CONFIG.format(**filled), encoding="utf-8")
        return path

    return write


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["train", *map(str, arguments)])


def log_lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "training_log.jsonl").read_text(encoding="utf-8").splitlines()]


def scores_of(folder: Path, base: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    return score_distinct(load_embedded(folder, base=str(base)), TEXTS).scores


def test_a_tiny_file_is_learnt_saved_and_reloaded(write_config: Callable[..., Path], tiny_base: Path) -> None:
    config = write_config()
    out = config.parent / "out"
    done = call(config, "--out", out)
    assert done.exit_code == 0, done.output
    assert str(out / "head.safetensors") in done.stdout
    assert {path.name for path in out.iterdir()} == {"head.safetensors", "training_log.jsonl", "config.toml"}
    assert (out / "head.safetensors").stat().st_size < 5_000_000

    assert np.corrcoef(scores_of(out, tiny_base), LABELS)[0, 1] > 0.9
    facts = load_embedded(out, base=str(tiny_base)).facts
    assert (facts["model"], facts["max_length"]) == ("tiny", 32)

    first, *lines = log_lines(out)
    assert first["pairs"] == {"pairs": 20}
    assert first["base"] == tiny_base.name
    assert [line["epoch"] for line in lines] == [20, 40, 60]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert read_config(out / "config.toml") == read_config(config)


def test_a_seed_fixes_the_model(write_config: Callable[..., Path]) -> None:
    import torch
    from safetensors.torch import load_file

    path = write_config(epochs=3, holdout=0.3)
    path.write_text(path.read_text().replace("dropout = 0.0", "dropout = 0.2"))
    config = read_config(path)
    folders = [path.parent / name for name in ("one", "again", "other")]
    for folder, seed in zip(folders, (3, 3, 4), strict=True):
        train(replace(config, seed=seed), path.parent, folder)
    one, again, other = (load_file(folder / "head.safetensors") for folder in folders)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["linear.weight"], other["linear.weight"])
    last = log_lines(folders[0])[-1]
    assert -1 <= last["pearson"]["pairs"] <= 1


def test_scores_are_on_the_scale_of_the_kind_asked_for(
    write_config: Callable[..., Path], folder: Path, tiny_base: Path
) -> None:
    path = write_config(epochs=40)
    (folder / "halves.csv").write_text(
        "".join(f"{a},{b},{label / 2}\n" for (a, b), label in zip(TEXTS, LABELS, strict=True))
    )
    content = path.read_text() + '[[sources]]\nkind = "scored-pairs"\npath = "halves.csv"\n'
    wanted = {"pairs": np.array(LABELS), "halves": np.array(LABELS) / 2}
    for kind, other in (("pairs", "halves"), ("halves", "pairs")):
        path.write_text(f'scale_of = "{kind}"\n' + content)
        train(read_config(path), folder, folder / kind)
        scores = scores_of(folder / kind, tiny_base)
        assert np.abs(scores - wanted[kind]).mean() < 0.12 < np.abs(scores - wanted[other]).mean()


def test_near_references_are_found(tiny_base: Path) -> None:
    reader = TextReader(*load_encoder(tiny_base), max_length=32)
    texts = sorted({text for pair in TEXTS for text in pair})
    found = nearest_texts(reader, texts)
    vectors = {text: states.mean[-1] for text, states in reader.encode(texts).items()}
    for text in texts:
        cosines = {other: float(vectors[text] @ vectors[other]) for other in texts}
        expected = sorted((other for other in texts if cosines[other] < 0.9), key=lambda other: -cosines[other])
        assert [cosines[other] for other in found[text]] == pytest.approx(
            [cosines[other] for other in expected[: len(found[text])]], abs=1e-6
        )
        assert text not in found[text]
    assert max(map(len, found.values())) > 3


def test_runs_do_not_overwrite_each_other(write_config: Callable[..., Path]) -> None:
    path = write_config(epochs=1)
    train(read_config(path), path.parent, path.parent / "out")
    with pytest.raises(InputError, match="out holds a run already; pass another folder"):
        train(read_config(path), path.parent, path.parent / "out")


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
        load_embedded(result.head.parent, base=str(other))


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

    with pytest.raises(InputError, match=r"'max_length' must be at most 64 for .*; got 65"):
        trained(max_length=65)
    with pytest.raises(InputError, match=r"'layers' must be numbers from 0 to 2 for .*; got \[3\]"):
        trained(layers=[3])
    with pytest.raises(InputError, match=r"'scale_of' must be one of the kinds of pairs, pairs; got 'sts'"):
        trained(scale_of="sts")
    with pytest.raises(InputError, match="'device' must be None or one of 'cuda', 'mps', 'cpu'; got 'abacus'"):
        trained(device="abacus")
    with pytest.raises(InputError, match=r"has no config.json, .*model.safetensors"):
        trained(base=str(folder / "nowhere"))
    with pytest.raises(InputError, match=r"The loss is .* in epoch .*; expected a number. Lower learning_rate"):
        trained(learning_rate=1e30, epochs=20)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 16, "num_attention_heads": 2}, "does not fit its config.json: .*size mismatch"),
        ({"num_hidden_layers": 3}, r"does not fit its config.json: lacking \['encoder.layer.2"),
        ({"num_hidden_layers": 1}, r"does not fit its config.json: .*unknown \['encoder.layer.1"),
    ],
)
def test_weights_that_are_not_the_configurations(
    change: dict[str, int], message: str, tiny_base: Path, tmp_path: Path
) -> None:
    for file in tiny_base.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(InputError, match=f"(?s){message}"):
        load_encoder(tmp_path)
