"""Two systems over the same references: scipy's paired bootstrap, a naive count, and pasted and uploaded columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap

from qa_scoring import score_multilingual_squad
from qa_scoring.app import comparing, inputs, scoring
from qa_scoring.errors import InputError

WORDS = ["red", "green", "blue", "tall", "small", "old"]


def made(count: int, seed: int = 0) -> tuple[list[str], list[str], list[list[str]]]:
    """Return answers of A, of B, and references (some without an answer), of words drawn by chance."""
    generator = np.random.default_rng(seed)

    def text(least: int) -> str:
        return " ".join(generator.choice(WORDS, generator.integers(least, 4)))

    references = [[text(1)] if generator.random() < 0.8 else [] for _ in range(count)]
    a = [text(0) for _ in range(count)]
    b = [gold[0] if gold and generator.random() < 0.4 else text(0) for gold in references]
    return a, b, references


def uploads_of(folder: Path, contents: dict[str, Any]) -> dict[str, inputs.Upload]:
    uploads = {}
    for name, content in contents.items():
        path = folder / "upload.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        uploads[name] = inputs.read_upload(path, f"{name}.json", comparing.SIDES[name])
    return uploads


@pytest.mark.parametrize("count", [7, 300])
def test_the_comparison_is_scipys_and_a_naive_count(tmp_path: Path, count: int) -> None:
    a, b, references = made(count)
    ids = [f"q{number}" for number in range(count)]
    uploads = uploads_of(
        tmp_path,
        {
            "Predictions of A": dict(zip(ids, a, strict=True)),
            "Predictions of B": dict(reversed(list(zip(ids, b, strict=True)))),  # matched by id
            "References": [{"id": key, "answers": gold} for key, gold in zip(ids, references, strict=True)],
        },
    )
    found = comparing.compare(*comparing.read(None, uploads), scoring.Settings())
    scored = [score_multilingual_squad(answers, references, language="en") for answers in (a, b)]
    for name, difference in (("exact", found.exact), ("f1", found.f1)):
        columns = [one.rows.scores[name] for one in scored]
        assert (difference.a, difference.b) == tuple(one.result[name] for one in scored)
        assert difference.difference == pytest.approx(100 * (columns[1].mean() - columns[0].mean()))
        interval = bootstrap(
            columns,
            lambda x, y, axis: np.mean(y - x, axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=comparing.RESAMPLES,
            confidence_level=0.95,
            method="percentile",
            random_state=np.random.default_rng(42),
        ).confidence_interval
        assert difference.interval == pytest.approx((100 * interval.low, 100 * interval.high))
    pairs = list(zip(*(one.rows.scores["exact"].tolist() for one in scored), strict=True))
    assert found.right == {
        "both": pairs.count((1, 1)), "only_a": pairs.count((1, 0)), "only_b": pairs.count((0, 1)),
        "neither": pairs.count((0, 0)),
    }  # fmt: skip
    f1_a, f1_b = (one.rows.scores["f1"].tolist() for one in scored)
    naive = sorted((i for i in range(count) if f1_a[i] != f1_b[i]), key=lambda i: (-abs(f1_b[i] - f1_a[i]), i))
    assert found.differing == len(naive)
    assert len(found.rows) == min(100, len(naive))
    for row, i in zip(found.rows, naive, strict=False):
        assert row[:6] == [i + 1, ids[i], "", a[i], b[i], " | ".join(references[i])]
        assert row[6:] == pytest.approx([f1_a[i], f1_b[i], f1_b[i] - f1_a[i]], abs=1e-4)


@pytest.mark.parametrize(
    "pasted",
    [
        'in Rome,"Rome, Italy","[""Rome"", ""Roma""]"\nx,x,',
        'references\tA\tid\tB\n"[""Rome"", ""Roma""]"\tin Rome\tq1\t"Rome, Italy"\n\tx\tq2\tx\n',
        '"in\nRome","Rome, Italy","[""Rome"", ""Roma""]"\nx,x\n',
        'question,b,a,answers\r\nWhere?,"Rome, Italy",in Rome,"[""Rome"", ""Roma""]"\r\nWho?,x,x,\r\n',
    ],
)
def test_pasted_columns(pasted: str) -> None:
    a, b = comparing.read(pasted, {})
    assert [" ".join(row["prediction_text"].split()) for row in a.predictions] == ["in Rome", "x"]
    assert [row["prediction_text"] for row in b.predictions] == ["Rome, Italy", "x"]
    assert [row["answers"] for row in a.references] == [["Rome", "Roma"], []]
    found = comparing.compare(a, b, scoring.Settings())
    assert found.right == {"both": 0, "only_a": 0, "only_b": 0, "neither": 2}
    assert found.differing == 0
    assert found.rows == []


def test_equal_systems_and_no_answer_values(tmp_path: Path) -> None:
    # Values above 1 would be over the default threshold: answers count as they are given.
    predictions = [{"id": "1", "prediction_text": "Rome", "no_answer_probability": 7.5}]
    contents = {"Predictions of A": predictions, "Predictions of B": {"1": "Rome"}, "References": {"1": "Rome"}}
    found = comparing.compare(*comparing.read(None, uploads_of(tmp_path, contents)), scoring.Settings())
    assert found.f1 == (100.0, 100.0, 0.0, (0.0, 0.0))
    assert comparing.in_words(found).startswith("Right (EM): both 1, ")


def test_scores_follow_the_language() -> None:
    a, b = comparing.read("东京,京东,东京", {})
    assert comparing.compare(a, b, scoring.Settings(language="zh", tokenizer="char")).f1.b == 100.0
    assert comparing.compare(a, b, scoring.Settings(language="zh", tokenizer="whitespace")).f1.b == 0.0


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("", "nothing to compare"),
        ("a,b,references\n", "only the names of the columns"),
        ("a,b\nx,y\n", "three columns, a, b and references; got 2: 'a, b'"),
        ("x,y,z,too many", "got 4: 'x, y, z, too many'"),
        ("x,y,z\nx,y,z,too many", "Pasted row 1: expected 3 cells"),
        (None, "There are no predictions of A: upload them"),
    ],
)
def test_pasted_columns_that_cannot_be_read(pasted: str | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected) as caught:
        comparing.read(pasted, {})
    assert "\n" not in str(caught.value)


def test_predictions_that_do_not_fit_name_the_system(tmp_path: Path) -> None:
    contents = {"Predictions of A": {"1": "a"}, "Predictions of B": {"2": "a"}, "References": {"1": "a"}}
    a, b = comparing.read(None, uploads_of(tmp_path, contents))
    with pytest.raises(InputError, match=r"^B: "):
        comparing.compare(a, b, scoring.Settings())
    found = comparing.compare(a, b, scoring.Settings(missing="score_zero"))
    assert found.right["only_a"] == 1
