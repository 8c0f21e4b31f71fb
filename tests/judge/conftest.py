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
