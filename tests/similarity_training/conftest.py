"""A tiny base model, and a tiny hand-written data folder in the forms the recipe reads."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

PAIRS = """\
the red car,a red car,5
the river Seine,Seine,5
Walt Disney,Disney,4.5
in the year 1066,1066,5
two million people,2 million people,5
the king of France,France's king,5
about six miles,six miles,4
the green house,a house,3.5
Paris,Paris in France,4.5
first world war,the war,3
the red car,a blue river,0
Walt Disney,the year 1066,0
two million people,five people,0.5
the king of France,the queen of Spain,1
six miles,six years,0.5
Paris,Rome,0.5
first world war,second world war,1
green house,a red car,0
the river Seine,six miles,0
France,two,0
"""
QUESTIONS = [
    ("which river flows through the city", ["the river Seine", "Seine"]),
    ("who made the film", ["Walt Disney", "Disney", "Walter Elias Disney"]),
    ("when was the battle", ["1066", "in the year 1066"]),
    ("how far is the town", ["six miles"]),
    ("who was on the throne", ["the king of France"]),
    ("where was the treaty signed", ["Paris", "Paris in France"]),
]


def judged_lines() -> str:
    rows = [
        {"question": question, "references": references, "system": system, "answer": answer, "correct": correct}
        for question, references in QUESTIONS
        for system, answer, correct in [
            ("phrases", references[0].lower(), True),
            ("phrases", "a red car", False),
            ("sentences", f"The answer is {references[0]}.", True),
            ("ignored", "never used", True),
        ]
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def semeval_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(12):
            archive.writestr(
                f"training/3way/made/q{number:02}.xml",
                f"""<question id="Q{number}"><questionText>why</questionText>
                <referenceAnswers><referenceAnswer id="A{number}">The gap is open.</referenceAnswer>
                <referenceAnswer id="B{number}">Nothing flows.</referenceAnswer></referenceAnswers>
                <studentAnswers><studentAnswer id="1" accuracy="correct" answerMatch="B{number}">no flow {number}
                </studentAnswer><studentAnswer id="2" accuracy="contradictory">it is closed {number}</studentAnswer>
                <studentAnswer id="3" accuracy="incorrect">I do not know {number}</studentAnswer>
                <studentAnswer id="4" accuracy="incorrect">  </studentAnswer></studentAnswers></question>""",
            )
        archive.writestr("test/3way/made/unseen.xml", "<never read")
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with one file of every kind."""
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    (tmp_path / "judged.jsonl").write_text(judged_lines(), encoding="utf-8")
    (tmp_path / "semeval.zip").write_bytes(semeval_archive())
    return tmp_path


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT encoder of 32 dimensions with random weights, in the files that the real base has."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    path = tmp_path_factory.mktemp("base")
    words = sorted(set(PAIRS.lower().replace(",", " ").replace("'", " ").split()))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "'", *words]
    (path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(str(path / "vocab.txt"), do_lower_case=True).save_pretrained(path)
    (path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")  # newer versions save tokenizer.json only
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    BertModel(config).save_pretrained(path)
    return path
