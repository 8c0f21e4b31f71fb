"""The pipeline: ways to ask, options, errors, and the same answers on transformers 4 and 5."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pytest
import transformers

from qa_scoring import InputError
from qa_scoring.hf.pipeline import QuestionAnsweringPipeline
from tests.conftest import read_json
from tests.hf.conftest import CONTEXTS, ROWS, Calls, make_network, make_tokenizer

GOLDEN = Path(__file__).parent.parent / "golden" / "reader" / "two_generations.json"
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "several": {"top_k": 3, "doc_stride": 8},
    "no answer": {"handle_impossible_answer": True, "doc_stride": 8},
    "threshold": {"null_threshold": -3.0},
    "short windows": {"max_seq_len": 40, "doc_stride": 8, "max_question_len": 8, "top_k": 3},
    "as tokens": {"align_to_words": False, "max_answer_len": 4},
}
PAIRS = [{"question": row["question"], "context": row["context"]} for row in ROWS]
NUMBERS = ("score", "no_answer_probability", "null_odds")


@pytest.fixture(scope="module")
def pipe() -> QuestionAnsweringPipeline:
    return QuestionAnsweringPipeline(make_network(), make_tokenizer())


def plain(answers: Any) -> list[dict[str, Any]]:
    """Return answers, or lists of answers, without what belongs to the question."""
    flat = [one for answer in answers for one in (answer if isinstance(answer, list) else [answer])]
    return [{name: value for name, value in one.items() if name != "n_best"} for one in flat]


def assert_same(found: Any, expected: Any) -> None:
    found, expected = plain(found), plain(expected)
    assert [{n: v for n, v in one.items() if n not in NUMBERS} for one in found] == [
        {n: v for n, v in one.items() if n not in NUMBERS} for one in expected
    ]
    for name in NUMBERS:
        assert [one[name] for one in found] == pytest.approx([one[name] for one in expected], abs=1e-5)


def read_all(pipe: Any) -> dict[str, Any]:
    return {name: plain(pipe(PAIRS, **options)) for name, options in SETTINGS.items()}


@pytest.mark.parametrize("name", SETTINGS)
def test_two_generations_of_transformers_give_the_same(name: str, pipe: Any) -> None:
    golden = read_json(GOLDEN)
    assert golden["made with"]["transformers"].startswith("5.")
    assert_same(pipe(PAIRS, **SETTINGS[name]), golden["answers"][name])


def test_transformers_own_pipeline_gives_the_golden_answers() -> None:
    if not hasattr(transformers, "QuestionAnsweringPipeline"):
        pytest.skip("transformers has had no such pipeline since 5.3")
    stock = transformers.pipeline("question-answering", model=make_network(), tokenizer=make_tokenizer(), device=-1)
    assert not isinstance(stock, QuestionAnsweringPipeline)
    latin = [row for row, pair in enumerate(PAIRS) if pair["context"] != CONTEXTS["zh"]]  # words as we align to them
    golden = read_json(GOLDEN)["answers"]
    for row in latin:
        found = [stock(**PAIRS[row], **SETTINGS["no answer"]), *stock(**PAIRS[row], **SETTINGS["several"])]
        expected = [golden["no answer"][row], *golden["several"][3 * row : 3 * row + 3]]
        for one, other in zip(found, expected, strict=True):
            assert [one[key] for key in ("answer", "start", "end")] == [
                other[key] for key in ("answer", "start", "end")
            ]
            assert one["score"] == pytest.approx(other["score"], abs=1e-5)


# ----------------------------------------------------------------------------------------- ways to ask


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda pipe: [pipe(pair) for pair in PAIRS], id="a dict each"),
        pytest.param(lambda pipe: [pipe(*pair.values()) for pair in PAIRS], id="two strings each"),
        pytest.param(lambda pipe: [pipe(**pair) for pair in PAIRS], id="two keywords each"),
        pytest.param(lambda pipe: [pipe([pair])[0] for pair in PAIRS], id="a list of one each"),
        pytest.param(
            lambda pipe: [
                pipe(SimpleNamespace(question_text=pair["question"], context_text=pair["context"])) for pair in PAIRS
            ],
            id="transformers 4's SquadExample",
        ),
        pytest.param(lambda pipe: [pipe.postprocess(pipe._forward(pipe.preprocess(p)))[0] for p in PAIRS], id="steps"),
        pytest.param(lambda pipe: pipe(tuple(PAIRS)), id="a tuple of dicts"),
        pytest.param(
            lambda pipe: pipe(question=[p["question"] for p in PAIRS], context=[p["context"] for p in PAIRS]),
            id="two lists",
        ),
        pytest.param(lambda pipe: pipe(pair for pair in PAIRS), id="generator"),
        pytest.param(lambda pipe: pipe(datasets.Dataset.from_list(PAIRS)), id="data set"),
        pytest.param(lambda pipe: pipe(PAIRS, batch_size=1, num_workers=2, padding="longest"), id="batches of one"),
    ],
)
def test_ways_to_ask_give_the_same(ask: Any, pipe: Any) -> None:
    assert_same(ask(pipe), pipe(PAIRS))


def test_one_context_for_many_questions(pipe: Any) -> None:
    asked = [pair["question"] for pair in PAIRS[:3]]
    assert_same(pipe(question=asked, context=CONTEXTS["en"]), pipe(PAIRS[:3]))
    assert pipe([]) == []


def test_one_question_gives_a_dict_and_several_answers_a_list(pipe: Any) -> None:
    one = pipe(**PAIRS[0])
    assert list(one) == ["score", "start", "end", "answer", "no_answer_probability", "null_odds", "n_best"]
    assert PAIRS[0]["context"][one["start"] : one["end"]] == one["answer"]
    three = pipe(**PAIRS[0], top_k=3)
    assert [answer["score"] for answer in three] == sorted((answer["score"] for answer in three), reverse=True)
    assert (three[0]["start"], three[0]["end"]) == (one["start"], one["end"])
    assert [len(answers) for answers in pipe(PAIRS[:2], top_k=3)] == [3, 3]


def test_a_stream_is_read_as_it_comes(pipe: Any) -> None:
    taken = 0

    def endless() -> Iterator[dict[str, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield {"question": "Where?", "context": "Warsaw."}

    stream = pipe(endless())
    assert taken == 0
    first = next(stream)
    assert_same([next(stream)], [first])
    assert taken == 256  # what shares batches


# ---------------------------------------------------------------------------------- transformers.pipeline


def test_made_by_transformers(model_folder: str, pipe: Any) -> None:
    made = transformers.pipeline("question-answering", model=model_folder, device=-1)
    assert made.task == "question-answering"
    if hasattr(transformers, "QuestionAnsweringPipeline"):
        assert type(made) is transformers.QuestionAnsweringPipeline  # where there is one, it stays
    else:
        assert type(made) is QuestionAnsweringPipeline
    for pair in PAIRS[:3]:
        found, wanted = made(**pair, doc_stride=8), pipe(**pair, doc_stride=8)
        assert found["answer"] == wanted["answer"]
        assert found["score"] == pytest.approx(wanted["score"], abs=1e-5)


def test_options_of_the_pipeline_are_defaults_of_its_calls(pipe: Any) -> None:
    options = {"top_k": 2, "max_answer_len": 3, "handle_impossible_answer": True, "doc_stride": 4}
    made = QuestionAnsweringPipeline(make_network(), make_tokenizer(), batch_size=1, **options)
    assert_same(made(PAIRS), pipe(PAIRS, **options))
    assert_same(made(PAIRS, top_k=1), pipe(PAIRS, **{**options, "top_k": 1}))
    with Calls(made.model) as alone:
        windows = sum(1 for _ in made(PAIRS))
    with Calls(made.model) as together:
        made(PAIRS, batch_size=64)
    assert alone.count > together.count == 1
    assert alone.count >= windows


def test_saved_pipelines_hold_no_code(pipe: Any, tmp_path: Path) -> None:
    pipe.save_pretrained(tmp_path)
    assert not list(tmp_path.rglob("*.py"))
    for file in tmp_path.glob("*.json"):
        if file.name != "tokenizer.json":
            assert not {"custom_pipelines", "auto_map"} & set(read_json(file)), file.name
    again = transformers.pipeline("question-answering", model=str(tmp_path), device=-1)
    assert again(**PAIRS[0], doc_stride=8)["answer"] == pipe(**PAIRS[0], doc_stride=8)["answer"]


# --------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ((), {}, "Pass question=... and context=..., a dict with both"),
        ((), {"question": "Where?"}, "Pass question="),
        ((3,), {}, "Pass question=.*got 3"),
        (("Where?",), {}, "Pass question="),
        (("Where?", "Warsaw.", "more"), {}, "Pass question="),
        ((PAIRS[0],), {"question": "Where?", "context": "Warsaw."}, "not several of them"),
        ((), {"question": "Where?", "context": ["Warsaw.", "Paris."]}, "One question needs one context"),
        ((), {"question": ["Where?", "Who?"], "context": ["Warsaw."]}, "2 questions and 1 contexts"),
        (([PAIRS[0], {"question": "Where?"}],), {}, "row 1: expected a dict with 'question' and 'context'"),
        (([PAIRS[0], {"question": " ", "context": "Warsaw."}],), {}, "row 1: the question is empty"),
        (([PAIRS[0], {"question": "Where?", "context": ""}],), {}, "row 1: the context is empty"),
        (([PAIRS[0], {"question": "Where?", "context": None}],), {}, "row 1: the context must be a string; got None"),
        ((PAIRS[0],), {"topk": 3}, "Unknown argument 'topk' = 3. The pipeline knows top_k"),
        ((PAIRS[0],), {"top_k": 0}, "top_k"),
        ((PAIRS[0],), {"max_answer_len": 0}, "max_answer_len"),
        ((PAIRS[0],), {"max_seq_len": 65}, "'max_seq_len' must be at most 64"),
        ((PAIRS[0],), {"max_seq_len": 4}, "'max_seq_len' must be at least 5"),
        ((PAIRS[0],), {"doc_stride": -1}, "doc_stride"),
        ((PAIRS[0],), {"null_threshold": float("nan")}, "null_threshold"),
        ((PAIRS[0],), {"batch_size": -1}, "batch_size"),
    ],
)
def test_bad_calls(inputs: tuple[Any, ...], options: dict[str, Any], message: str, pipe: Any) -> None:
    with pytest.raises(InputError, match=message):
        pipe(*inputs, **options)


def test_rows_of_a_stream_are_counted_from_its_start(pipe: Any) -> None:
    rows = ({"question": "Where?" if row != 300 else "", "context": "Warsaw."} for row in range(400))
    with pytest.raises(InputError, match="row 300: the question is empty"):
        list(pipe(rows))


def test_an_unknown_option_of_the_pipeline() -> None:
    with pytest.raises(InputError, match="Unknown argument 'stride'"):
        QuestionAnsweringPipeline(make_network(), make_tokenizer(), stride=4)


if __name__ == "__main__":  # writes the golden file
    import tokenizers
    import torch

    modules = (transformers, tokenizers, torch)
    golden = {
        "made with": {module.__name__: module.__version__ for module in modules},
        "answers": read_all(QuestionAnsweringPipeline(make_network(), make_tokenizer())),
    }
    GOLDEN.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
