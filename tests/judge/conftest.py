"""Tiny bases with random weights: a BERT and a RoBERTa, in the files that real ones have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

WORDS = """
who what when where which river city king year made film the a of in is was it not no and to by answer red blue car
paris london rome seine thames tiber disney walt france spain england 1066 1492 two three million people six miles
""".split()  # noqa: SIM905


@pytest.fixture(scope="session")
def bert_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT encoder of 32 dimensions, its token types included."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    path = tmp_path_factory.mktemp("bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "'", "?", ".", ",", *WORDS]
    (path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(str(path / "vocab.txt"), do_lower_case=True).save_pretrained(path)
    (path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")  # newer versions save tokenizer.json only
    torch.manual_seed(7)
    BertModel(BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **_SIZES)).save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def roberta_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa encoder of 32 dimensions over bytes: no token types, two separators between texts."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    path = tmp_path_factory.mktemp("roberta")
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator([" ".join(WORDS)] * 3, vocab_size=400, special_tokens=["<s>", "<pad>", "</s>", "<unk>"])
    bpe.save_model(str(path))
    tokenizer = RobertaTokenizerFast.from_pretrained(path)
    tokenizer.save_pretrained(path)
    torch.manual_seed(8)
    config = RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, pad_token_id=1, **_SIZES)
    RobertaModel(config).save_pretrained(path)
    return path


_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "initializer_range": 0.2,
}


@pytest.fixture(params=["bert", "roberta"])
def base(request: pytest.FixtureRequest) -> Path:
    found = request.getfixturevalue(f"{request.param}_base")
    assert isinstance(found, Path)
    return found


@pytest.fixture
def linear_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A linear judge with weights set by hand, for which the share of the reference's words counts most."""
    from qa_scoring.judge.linear import LinearWeights, save_linear

    folder = tmp_path_factory.mktemp("linear")
    save_linear(
        LinearWeights(weights=(1.0, 3.0, -0.5, 0.25), intercept=-1.5, platt_a=-2.0, platt_b=0.1, threshold=0.6), folder
    )
    return folder


@pytest.fixture
def matching_judge(bert_base: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A matching judge with random weights over the tiny BERT, which is where the shipped judge's base would be."""
    from qa_scoring.encoders import base_model
    from qa_scoring.judge import matching_judge

    folder = tmp_path_factory.mktemp("matching")
    save_matching_judge(folder, bert_base)
    monkeypatch.setattr(
        matching_judge,
        "base_model_folder",
        lambda path=None, sha256=None: base_model.base_model_folder(path or str(bert_base), sha256),
    )
    return folder


def save_matching_judge(folder: Path, base: Path, **facts: Any) -> None:
    import torch

    from qa_scoring.encoders.base_model import weights_digest
    from qa_scoring.judge.matching import FEATURES_PER_LAYER, MatchingHead
    from qa_scoring.judge.matching_judge import HEAD, write_head
    from qa_scoring.judge.shared_words import QUESTION_WORDS, SharedWords

    size = FEATURES_PER_LAYER * (_SIZES["num_hidden_layers"] + 1) + len(SharedWords._fields) + len(QUESTION_WORDS)
    torch.manual_seed(9)
    head = MatchingHead(size, hidden=8)
    with torch.no_grad():
        head.linear.weight.normal_(std=0.5)  # so that probabilities are far apart
    known = {
        "name": "tiny",
        "max_length": 32,
        "base_sha256": weights_digest(base),
        "threshold": 0.4,
        "temperature": 1.5,
    }
    write_head(folder / HEAD, head.state_dict(), known | facts)


@pytest.fixture(params=["linear", "matching"])
def judge_folder(request: pytest.FixtureRequest) -> str:
    """A judge that reads one reference at a time, and one that reads them together."""
    return str(request.getfixturevalue(f"{request.param}_judge"))
