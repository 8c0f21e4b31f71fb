"""The pairs: where they come from, what they say, and that held-out questions stay unseen."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from qa_scoring.errors import InputError
from qa_scoring.similarity import training_pairs
from qa_scoring.similarity.training_config import (
    JudgedAnswers,
    ScoredPairs,
    SemEval2013,
    Source,
    Synthetic,
    read_config,
)
from qa_scoring.similarity.training_pairs import RULES, PairSets, build_pairs, count_origins
from qa_scoring.text.english import number_words
from tests.conftest import REPOSITORY, data_path
from tests.similarity_training.conftest import QUESTIONS

SCORED = ScoredPairs(path="pairs.csv", scale=5)
JUDGED = JudgedAnswers(
    path="judged.jsonl",
    short_systems=("phrases",),
    sentence_systems=("sentences",),
    sentence_fraction=1.0,
    aliases=1,
)
SEMEVAL = SemEval2013(path="semeval.zip")
SOURCES: list[Source] = [SCORED, JUDGED, SEMEVAL, Synthetic(count=50)]
REFERENCES = ["Walt Disney", "the river Seine", "Jean-Jacques Rousseau", "1066", "six miles", "King Henry VIII"]


def test_counts_and_labels_of_every_source(folder: Path) -> None:
    sets = build_pairs(SOURCES, folder, holdout=0)
    assert sets.held_out == []
    counts = count_origins(sets.train)
    assert 4 <= counts.pop("references") <= 10  # four aliases; none where the other reference drawn is the question's
    assert counts == {
        "synthetic": 50,
        "student answer": 36,  # three answers of twelve questions; the blank one is left out
        "pairs": 20,
        "short answer": 16,  # two answers of six questions; a wrong one with a second reference where there is one
        "sentence": 6,
    }
    labels = {pair.origin: set() for pair in sets.train}
    for pair in sets.train:
        labels[pair.origin].add(pair.label)
        assert 0 <= pair.label <= 1
    assert labels["short answer"] == {0.0, 1.0}
    assert labels["sentence"] == {1.0}
    assert labels["references"] == {0.0, 1.0}
    assert labels["student answer"] == {1.0, 0.15, 0.25}
    assert not any("never used" in pair.first for pair in sets.train)
    assert ("Nothing flows.", "no flow 3", 1.0, "student answer") in sets.train  # the reference it was matched with
    assert ("The gap is open.", "it is closed 3", 0.15, "student answer") in sets.train  # the first one


def test_a_seed_fixes_the_list(folder: Path) -> None:
    first, again, other = (build_pairs(SOURCES, folder, seed=seed, holdout=0.2) for seed in (1, 1, 2))
    assert (first.train, first.held_out) == (again.train, again.held_out)
    assert first.train != other.train
    assert sorted(first.train) != sorted(other.train)


@pytest.mark.parametrize("seed", range(8))
def test_no_question_is_on_both_sides(folder: Path, seed: int) -> None:
    of_reference = {text: question for question, references in QUESTIONS for text in references}
    judged = build_pairs([JUDGED], folder, seed=seed, holdout=0.4)

    def questions(pairs: list[training_pairs.TrainingPair]) -> set[str]:
        texts = {text for pair in pairs for text in (pair.first, pair.second)}
        return {of_reference[text] for text in texts if text in of_reference}

    assert len(questions(judged.train)) == 4
    held_out = [pair for pair in judged.held_out if (pair.origin, pair.label) != ("references", 0.0)]  # borrowed
    assert len(questions(held_out)) == 2
    assert not questions(judged.train) & questions(held_out)
    assert not set(judged.references) & {pair.second for pair in held_out}

    students = build_pairs([SEMEVAL], folder, seed=seed, holdout=0.4)
    numbers = [{pair.second.split()[-1] for pair in side} for side in (students.train, students.held_out)]
    assert not numbers[0] & numbers[1]
    assert len(numbers[0] | numbers[1]) == 12


def test_the_recipe_on_the_real_data() -> None:
    data = data_path("judgements").parent
    data_path("sts", "stsb-en-train.csv")
    config = read_config(REPOSITORY / "configs" / "sas-en.toml")
    sets = build_pairs(config.sources, data, seed=config.seed, holdout=config.holdout)
    # the run itself also pairs references that the base model finds near, which changes what is drawn after them
    assert count_origins(sets.train) == {
        "references": 7910,
        "short answer": 4351,
        "stsb-en-train": 5274,
        "sentence": 2279,
        "synthetic": 2221,
        "student answer": 985,
    }
    assert len(sets.held_out) == 2022
    assert all(0 <= pair.label <= 1 for pair in sets.train + sets.held_out)
    # the answers of a held-out question, with its references, are nowhere among the pairs to learn from
    with data_path("judgements", "evouna_train.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    references: dict[str, list[str]] = {}  # of the first row, which the builder takes
    for row in rows:
        references.setdefault(row["question"], row["references"])
    questions = sorted(references)
    rng = random.Random(config.seed)
    for _ in data_path("sts", "stsb-en-train.csv").read_text(encoding="utf-8").splitlines():
        rng.random()
    held = set(rng.sample(questions, int(len(questions) * config.holdout)))
    possible: tuple[set[tuple[str, str]], set[tuple[str, str]]] = set(), set()
    for row in rows:
        possible[row["question"] in held].update((row["answer"], text) for text in references[row["question"]])
    learnt = {(pair.first, pair.second) for pair in sets.train if pair.origin in ("short answer", "sentence")}
    watched = {(pair.first, pair.second) for pair in sets.held_out if pair.origin in ("short answer", "sentence")}
    assert learnt <= possible[False]
    assert watched <= possible[True]


Made = tuple[str, str, float]


def examples(rule: Callable[..., Made | None], count: int = 300) -> list[Made]:
    rng = random.Random(5)
    made = [rule(rng, REFERENCES) for _ in range(count)]
    found = [item for item in made if item is not None]
    assert len(set(found)) > 5, "too few different examples to say anything"
    return found


def test_numbers_in_words_equal_numbers_in_digits() -> None:
    for words, digits, label in examples(training_pairs.words_and_digits):
        number = int(digits.split()[0])
        assert words.removesuffix("".join(f" {unit}" for unit in digits.split()[1:])) == number_words(number)
        assert label == 1.0
    assert [number_words(number) for number in (0, 13, 40, 99, 300, 815)] == [
        "zero", "thirteen", "forty", "ninety-nine", "three hundred", "eight hundred and fifteen",
    ]  # fmt: skip


def test_different_numbers_are_near_zero() -> None:
    for first, second, label in examples(training_pairs.different_numbers):
        numbers = [int(text.split()[0].replace(",", "")) for text in (first, second)]
        assert numbers[0] != numbers[1]
        assert first.split()[1:] == second.split()[1:]
        assert label == 0.05


def test_a_date_in_two_forms() -> None:
    seen = set()
    for first, second, label in examples(training_pairs.same_date):
        years = [re.findall(r"\d{4}", text) for text in (first, second)]
        assert years[0] == years[1]
        days = [re.findall(r"\b\d{1,2}(?!\d)", text) for text in (first, second)]
        assert label == (1.0 if days[0] == days[1] else 0.55)
        seen.update(re.sub(r"\d+", "1", re.sub(r"[A-Z][a-z]{2,}", "M", text)) for text in (first, second))
    assert seen >= {"M 1, 1", "1 M 1", "the 1st of M 1", "the 1nd of M 1", "the 1th of M 1", "M 1", "1", "in 1"}


@pytest.mark.parametrize(
    ("day", "written"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")]
)
def test_days_have_their_suffix(day: int, written: str) -> None:
    assert f"{day}{training_pairs._ordinal_suffix(day)}" == written


def test_near_references_become_pairs(folder: Path) -> None:
    source = replace(JUDGED, neighbours=1, unrelated=0, aliases=0, short_systems=(), sentence_systems=())
    near = {"1066": ["in the year 1066", "six miles"], "Seine": ["the river Seine", "Paris in France"]}
    found = build_pairs([source], folder, holdout=0, nearest=lambda texts: near).train
    # its question's own references, and those that share half its trigrams, are none
    assert {pair[:2] for pair in found} <= {("1066", "six miles"), ("Seine", "Paris in France")}
    assert {pair[2:] for pair in found} == {(0.0, "references")}


def test_different_dates_are_near_zero() -> None:
    for first, second, label in examples(training_pairs.different_dates):
        parts = [text.replace(",", "").split() for text in (first, second)]
        assert sum(one != other for one, other in zip(*parts, strict=True)) == 1
        assert label == 0.1


def test_articles_quotes_and_case_change_nothing() -> None:
    for reference, text, label in examples(training_pairs.dressed_reference):
        assert reference.lower() in text.lower()
        assert reference != text
        assert label == 1.0


def test_part_of_a_name() -> None:
    for name, part, label in examples(training_pairs.part_of_name):
        assert name in ("Walt Disney", "Jean-Jacques Rousseau", "King Henry VIII")
        assert set(part.split()) <= set(name.split())
        assert label == 0.75


def test_longer_answers_and_qualified_amounts() -> None:
    for reference, longer, label in examples(training_pairs.longer_answer):
        assert longer.startswith(reference)
        assert label == 0.5
    for amount, other, label in examples(training_pairs.qualified_amount):
        assert amount.split()[0] in other.split()
        assert label == 0.8


def test_every_rule_is_tested() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for rule in RULES:
        assert f"training_pairs.{rule.__name__})" in source


BAD: dict[str, tuple[Source, str, str | None, str]] = {
    "no such file": (
        SCORED,
        "pairs.csv",
        None,
        "there is no such file; expected the scored pairs of the configuration",
    ),
    "empty scored pairs": (SCORED, "pairs.csv", "", "holds no rows; expected text, text, score"),
    "two cells": (SCORED, "pairs.csv", "a,b,1\na,b\n", r"row 1: expected three cells \(text, text, score\); got 2"),
    "score too high": (SCORED, "pairs.csv", "a,b,7\n", "row 0: expected a score from 0 to 5; got '7'"),
    "score below zero": (SCORED, "pairs.csv", "a,b,-1\n", "row 0: expected a score from 0 to 5; got '-1'"),
    "score no number": (SCORED, "pairs.csv", "a,b,score\n", "row 0: expected a score from 0 to 5; got 'score'"),
    "score NaN": (SCORED, "pairs.csv", "a,b,nan\n", "row 0: expected a score from 0 to 5; got 'nan'"),
    "blank text": (SCORED, "pairs.csv", "a,b,1\n ,b,1\n", "row 1: expected two texts; got a blank one"),
    "empty judged answers": (JUDGED, "judged.jsonl", "", "holds no rows; expected judged answers"),
    "not JSON": (JUDGED, "judged.jsonl", "{oops\n", "line 1 is not valid JSON"),
    "a list": (JUDGED, "judged.jsonl", "[]\n", r"line 1: expected a record \(JSON object\); got \[\]"),
    "no verdict": (
        JUDGED,
        "judged.jsonl",
        '{"question": "q", "references": ["r"], "system": "s", "answer": "a"}\n',
        "line 1, correct: expected a bool; got None",
    ),
    "no references": (
        JUDGED,
        "judged.jsonl",
        '{"question": "q", "references": [], "system": "s", "answer": "a", "correct": true}\n',
        r"line 1, references: expected strings; got \[\]",
    ),
    "not a ZIP file": (SEMEVAL, "semeval.zip", "text", "is not a ZIP file; expected SemEval 2013"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data(case: str, folder: Path) -> None:
    source, name, content, message = BAD[case]
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"{re.escape(str(folder / name))}.*{message}"):
        build_pairs([source], folder)


def test_bad_archives(folder: Path) -> None:
    import zipfile

    for content, message in [
        ({"other.xml": "<question/>"}, r"has no training/3way/….xml"),
        ({"training/3way/a.xml": "<question"}, r"training/3way/a.xml is not valid XML"),
        ({"training/3way/a.xml": "<question/>"}, r"training/3way/a.xml: expected a referenceAnswer"),
        (
            {
                "training/3way/a.xml": '<question id="Q"><referenceAnswer id="1">r</referenceAnswer>'
                '<studentAnswer accuracy="maybe">x</studentAnswer></question>'
            },
            r"Q: expected the accuracy correct, contradictory, incorrect; got 'maybe'",
        ),
    ]:
        with zipfile.ZipFile(folder / "semeval.zip", "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
        with pytest.raises(InputError, match=message):
            build_pairs([SEMEVAL], folder)


def test_rules_need_references_and_a_run_needs_pairs(folder: Path) -> None:
    with pytest.raises(InputError, match="put a source of judged answers before them"):
        build_pairs([Synthetic(count=3), JUDGED], folder)
    with pytest.raises(InputError, match="The sources give no pairs to train on; 0 were held out"):
        build_pairs([SemEval2013(path="semeval.zip", fraction=0)], folder)
    assert PairSets().train == []
