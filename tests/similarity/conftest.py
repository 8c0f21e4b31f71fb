"""Tiny models, made once per session: random weights, a real WordPiece tokenizer, files as the Hub has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

WORDS = """
    the a of in and new york city paris france berlin rome london river seine president obama barack walt disney
    million meters year first second world war red blue green king queen art museum north south km company
"""
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,-!?()'%$"
VOCABULARY = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS.split(),
]  # fmt: skip
MAX_LENGTH = 64


def save_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = {token: number for number, token in enumerate(dict.fromkeys(VOCABULARY))}
    tokenizer = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", known["[CLS]"]), ("[SEP]", known["[SEP]"])],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MAX_LENGTH,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)


def bert_config(**changes: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(set(VOCABULARY)),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=MAX_LENGTH,
        initializer_range=0.6,  # far apart, so that scores differ by far more than rounding
        pad_token_id=0,
        **changes,
    )


def save_cross_encoder(folder: Path, *, labels: int = 1, seed: int = 0, activation: str | None = None) -> Path:
    """Write a classifier with random weights as a model folder."""
    from transformers import BertForSequenceClassification

    torch.manual_seed(seed)
    model = BertForSequenceClassification(bert_config(num_labels=labels)).eval()
    with torch.no_grad():
        model.classifier.weight.mul_(0.3)  # logits of a few units: the sigmoid is not flat
    model.save_pretrained(folder)
    save_tokenizer(folder)
    if activation is not None:
        change_config(folder, sentence_transformers={"activation_fn": activation, "version": "5.0.0"})
    return folder


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")


@pytest.fixture(scope="session")
def make_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make one more tiny cross-encoder, in a folder of its own."""
    return lambda **options: save_cross_encoder(tmp_path_factory.mktemp("cross-encoder"), **options)


@pytest.fixture(scope="session")
def one_label(make_cross_encoder: Callable[..., Path]) -> Path:
    return make_cross_encoder()


@pytest.fixture(scope="session")
def two_labels(make_cross_encoder: Callable[..., Path]) -> Path:
    return make_cross_encoder(labels=2)


@pytest.fixture(scope="session")
def identity_activation(make_cross_encoder: Callable[..., Path]) -> Path:
    """A ranking model: one label, its logit is the score."""
    return make_cross_encoder(activation="torch.nn.modules.linear.Identity")


@pytest.fixture(scope="session")
def pickled(make_cross_encoder: Callable[..., Path]) -> Path:
    """A model whose weights are only there as a pickle."""
    from safetensors.torch import load_file

    folder = make_cross_encoder()
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.fixture(scope="session")
def bi_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SentenceTransformer with mean pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertModel

    encoder, folder = tmp_path_factory.mktemp("encoder"), tmp_path_factory.mktemp("bi-encoder")
    torch.manual_seed(0)
    model = BertModel(bert_config()).eval()
    with torch.no_grad():  # move the vectors around the origin, so that cosines have both signs
        words = model(torch.randint(5, len(set(VOCABULARY)), (64, 6))).last_hidden_state
        model.encoder.layer[-1].output.LayerNorm.bias.sub_(words.mean(dim=(0, 1)))
    model.save_pretrained(encoder)
    save_tokenizer(encoder)
    module = Transformer(str(encoder))
    SentenceTransformer(modules=[module, Pooling(module.get_embedding_dimension(), "mean")], device="cpu").save(
        str(folder)
    )
    return folder
