"""A tiny reader that is the same under every version of every library, questions in four languages, and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

import qa_scoring
from qa_scoring import compat
from qa_scoring.hf.enabling import disable, enable

LETTERS = "abcdefghijklmnopqrstuvwxyzαβγδεζηθικλμνξοπρστυφχψως0123456789.,;?!"
HAN = "玛丽居里夫人于年出生在华沙她哪获得诺贝尔奖两次什么时候。？·"
WORDS = "the in of and was born where who won die der wurde geboren wo wie que was curie marie warsaw warschau 1867"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = [*dict.fromkeys([*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), *HAN, *WORDS.split()])]
LONGEST = 64

CONTEXTS = {
    "en": "Marie Curie was born in Warsaw in 1867. She won two Nobel Prizes, "
    "for physics in 1903 and chemistry in 1911.",
    "de": "Marie Curie wurde 1867 in Warschau geboren. Die Universität, an der sie lehrte, war die Sorbonne in Paris.",
    "el": "Η Μαρία Κιουρί γεννήθηκε στη Βαρσοβία το 1867 και κέρδισε δύο βραβεία Νόμπελ.",
    "zh": "玛丽·居里夫人于1867年出生在华沙。她两次获得诺贝尔奖。",
}
ROWS: list[dict[str, Any]] = [
    {"id": "en-1", "question": "Where was Marie Curie born?", "context": CONTEXTS["en"], "answers": ["Warsaw"]},
    {"id": "en-2", "question": "What did she win?", "context": CONTEXTS["en"], "answers": ["Nobel Prizes", "two"]},
    {"id": "en-3", "question": "Who was her cat?", "context": CONTEXTS["en"], "answers": []},
    {"id": "de-1", "question": "Wo wurde sie geboren?", "context": CONTEXTS["de"],
     "answers": ["in Warschau", "Warschau"]},
    {"id": "de-2", "question": "Wo lehrte sie?", "context": CONTEXTS["de"],
     "answers": ["an der Sorbonne", "die Sorbonne"]},
    {"id": "el-1", "question": "Πού γεννήθηκε η Μαρία Κιουρί;", "context": CONTEXTS["el"], "answers": ["στη Βαρσοβία"]},
    {"id": "zh-1", "question": "居里夫人在哪里出生？", "context": CONTEXTS["zh"], "answers": ["华沙"]},
    {"id": "zh-2", "question": "她什么时候出生？", "context": CONTEXTS["zh"], "answers": ["1867年"]},
]  # fmt: skip
QUESTIONS = [row["question"] for row in ROWS]
FIGURES = ("exact", "f1", "HasAns_f1", "NoAns_f1", "best_f1", "best_f1_thresh")


@pytest.fixture(scope="module", autouse=True)
def _task_as_it_was() -> Iterator[None]:
    """Turn the task on, and leave it as it was found."""
    was_on = bool(compat._undo)
    enable()
    yield
    if was_on:
        enable()
    else:
        disable()


def make_tokenizer(**options: Any) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = {token: number for number, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, known[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **dict(zip(names, SPECIAL, strict=True)),
        **options,
    )


def make_config(**changes: Any) -> Any:
    from transformers import BertConfig

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    return BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=LONGEST, pad_token_id=0, **sizes, **changes)


def make_network() -> Any:
    """Make a model whose weights numpy draws, in the order of their names."""
    import torch
    from transformers import BertForQuestionAnswering

    network = BertForQuestionAnswering(make_config()).eval()
    generator = np.random.default_rng(9)
    state = network.state_dict()
    for name in sorted(state):
        mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        state[name] = torch.tensor(generator.normal(mean, 0.4, tuple(state[name].shape)), dtype=torch.float32)
    network.load_state_dict(state)
    return network


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("reader")
    make_network().save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def reader(model_folder: str) -> Any:
    from qa_scoring.extractive.loading import load_reader

    return load_reader(model_folder, device="cpu")


@pytest.fixture(scope="session")
def load() -> Callable[[str], Any]:
    """Load a metric of ours by its name, once; m2qa_squad_v2 for English."""
    import evaluate

    language = {"m2qa_squad_v2": ["en"]}
    return cache(lambda name: evaluate.load(qa_scoring.metric_path(name), *language.get(name, [])))


@pytest.fixture
def qa() -> Any:
    """Return a new evaluator."""
    import evaluate

    return evaluate.evaluator("question-answering")


def as_squad(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with answers as SQuAD has them."""
    return [{**row, "answers": {"text": row["answers"], "answer_start": [0] * len(row["answers"])}} for row in rows]


def as_dataset(rows: list[dict[str, Any]] = ROWS) -> Any:
    features = datasets.Features(
        {
            **{name: datasets.Value("string") for name in ("id", "question", "context")},
            "answers": {
                "text": datasets.Sequence(datasets.Value("string")),
                "answer_start": datasets.Sequence(datasets.Value("int32")),
            },
        }
    )
    return datasets.Dataset.from_list(as_squad(rows), features=features)


def as_squad_file(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    import json

    paragraphs = [
        {
            "context": row["context"],
            "qas": [
                {
                    "id": row["id"],
                    "question": row["question"],
                    "answers": [{"text": text, "answer_start": 0} for text in row["answers"]],
                    "is_impossible": not row["answers"],
                }
            ],
        }
        for row in rows
    ]
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "", "paragraphs": paragraphs}]}), "utf-8")
    return path


class Calls:
    """Counts how often a model is called, while it is entered."""

    def __init__(self, model: Any) -> None:
        self.count = 0
        self._model = model

    def __enter__(self) -> Calls:
        def called(*_: Any) -> None:
            self.count += 1

        self._hook = self._model.register_forward_hook(called)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()
