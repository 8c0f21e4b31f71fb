"""Answer-sentence-selection files and the triples that come of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_scoring.errors import InputError
from qa_scoring.judge.answer_selection import (
    Candidate,
    Statistics,
    build_triples,
    count_candidates,
    folded,
    group_candidates,
    read_candidates,
)
from tests.conftest import data_path

# Three correct and two incorrect sentences, one of each, two correct and none incorrect.
CANDIDATES = [
    Candidate("Who found radium?", "Curie found it.", True),
    Candidate("Who found radium?", "Marie Curie did.", True),
    Candidate("who found  radium?", "Marie and Pierre Curie.", True),
    Candidate("Who found radium?", "marie curie  did.", True),  # again
    Candidate("Who found radium?", "Bohr lived in Copenhagen.", False),
    Candidate("Who found radium?", "Radium glows.", False),
    Candidate("Who found radium?", "It was found in Paris.", True),  # both ways
    Candidate("Who found radium?", "It was found in Paris.", False),
    Candidate("Where is Pisa?", "In Tuscany.", True),
    Candidate("Where is Pisa?", "Towers lean.", False),
    Candidate("When was the war?", "From 1914 to 1918.", True),
    Candidate("When was the war?", "In the 1910s.", True),
]


def test_triples_and_counts_by_hand() -> None:
    triples = build_triples(CANDIDATES)
    assert count_candidates(CANDIDATES, triples) == Statistics(
        questions=3, used=2, candidates=9, correct=6, left_out=3, positives=3 * 2 + 2 * 1, negatives=3 * 2
    )
    assert ("Who found radium?", "Curie found it.", "Marie Curie did.") in triples.positives
    assert ("Who found radium?", "Marie Curie did.", "Curie found it.") in triples.positives
    assert triples.negatives[0] == ("Who found radium?", "Curie found it.", "Bohr lived in Copenhagen.")
    assert {triple.reference for triple in triples.negatives} <= {row.text for row in CANDIDATES if row.correct}


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        # Questions, those with two or more correct answers, and rows as the data's README counts them.
        ("train", Statistics(93, 51, 4716, 347, 2, 4018, 47040)),
        ("dev", Statistics(81, 49, 1148, 222, 0, 950, 4284)),
        ("test", Statistics(95, 60, 1517, 284, 0, 1160, 5834)),
    ],
)
def test_trec_qa(split: str, expected: Statistics) -> None:
    candidates = read_candidates(data_path("answer_selection", "trecqa", f"{split}.csv"))
    counted = count_candidates(candidates, build_triples(candidates))
    assert counted == expected
    sizes = [(len(group.correct), len(group.incorrect)) for group in group_candidates(candidates)]
    assert counted.positives == sum(correct * (correct - 1) for correct, _ in sizes)
    assert counted.negatives == sum(correct * incorrect for correct, incorrect in sizes if correct >= 2)


TEXTS = st.sampled_from(["a", "A ", "b", "c", "d e", "d  e", "f"])
LISTS = st.lists(st.builds(Candidate, st.sampled_from(["Q?", "q?", "R?"]), TEXTS, st.booleans()), max_size=30)


@given(LISTS, st.none() | st.integers(1, 5), st.integers(0, 3))
def test_properties_of_triples(candidates: list[Candidate], cap: int | None, seed: int) -> None:
    triples = build_triples(candidates, cap=cap, seed=seed)
    assert triples == build_triples(candidates, cap=cap, seed=seed)
    for side in triples:
        assert len(set(side)) == len(side)
        assert all(folded(triple.reference) != folded(triple.answer) for triple in side)
        for question in {triple.question for triple in side}:
            count = sum(triple.question == question for triple in side)
            assert cap is None or count <= cap
    everything = build_triples(candidates)
    assert set(triples.positives) <= set(everything.positives)
    assert set(triples.negatives) <= set(everything.negatives)
    assert {(question, answer, reference) for question, reference, answer in everything.positives} == set(
        everything.positives
    )
    assert not {triple[:2] for triple in everything.negatives} & {triple[::2] for triple in everything.negatives}


def test_a_cap_draws_by_seed() -> None:
    candidates = [Candidate("Q?", f"right {number}", True) for number in range(20)]
    drawn = [build_triples(candidates, cap=5, seed=seed).positives for seed in range(3)]
    assert len({tuple(triples) for triples in drawn}) == 3
    with pytest.raises(InputError, match="'cap' must be None or an integer of at least 1; got 0"):
        build_triples(candidates, cap=0)


ROWS = [("Who?", 'He said "Curie".', 1), ("Who?", '"', 0)]


def lines(separator: str, *rows: tuple[object, ...]) -> str:
    return "\n".join(separator.join(map(str, row)) for row in rows) + "\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", lines("\t", ("QuestionID", "Question", "Sentence", "Label"), *(("Q1", *row) for row in ROWS))),
        ("a.csv", 'qtext,label,atext\nWho?,1,"He said ""Curie""."\nWho?,0,""""\n'),
        (
            "a.jsonl",
            '{"question": "Who?", "candidate": "He said \\"Curie\\".", "label": true, "id": 1}\n'
            '{"question": "Who?", "candidate": "\\"", "label": "0"}\n',
        ),
    ],
)
def test_the_layouts_read_alike(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_candidates(path) == [Candidate(*row[:2], bool(row[2])) for row in ROWS]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "a.csv is empty"),
        ("a.tsv", "", "a.tsv holds no rows; expected candidates of questions"),
        ("a.csv", "question,answer,label\n", "a.csv holds no rows"),
        (
            "a.csv",
            "query,answer,label\nWho?,Curie,1\n",
            "expected one column with the question, called 'question' or 'qtext' in any case; got 'query', 'answer', "
            "'label'",
        ),
        ("a.csv", "question,answer\nWho?,Curie\n", "expected one column with the label, called 'label'"),
        ("a.csv", "question,answer,sentence,label\nWho?,a,b,1\n", "'answer', 'sentence' are all such names"),
        (
            "a.csv",
            "question,answer,label\nWho?,Curie,1\nWho?,Bohr,2\n",
            "row 1, label: expected the label 0 or 1; got '2'",
        ),
        (
            "a.jsonl",
            '{"question": "Who?", "answer": "a", "label": 0.5}\n',
            "row 0, label: expected the label 0 or 1; got 0.5",
        ),
        ("a.jsonl", '{"question": "Who?", "answer": "a", "label": null}\n', "row 0, label: .* got None"),
        (
            "a.jsonl",
            '{"question": "Who?", "answer": 3, "label": 1}\n',
            "row 0, answer: expected a text that is not blank; got 3",
        ),
        ("a.csv", "question,answer,label\n ,Curie,1\n", "row 0, question: expected a text that is not blank; got ' '"),
        ("a.csv", "question,answer,label\nWho?,,1\n", "row 0, answer: expected a text that is not blank; got ''"),
        ("a.tsv", "Question\tSentence\tLabel\nWho?\tCurie\n", "line 2: expected 3 columns .* got 2"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_candidates(path)
    with pytest.raises(InputError, match="there is no such file"):
        read_candidates(tmp_path / "none.tsv")
