"""Tiny readers with random weights, made once per session: every family of models, every kind of fast tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

CONTEXTS = {
    "en": "Marie Curie was born in Warsaw in 1867. She won two Nobel Prizes: physics (1903) and chemistry, 1911.",
    "accents": "Zoe\u0308 a\u0301nd Jose\u0301 dri\u0323\u0302nk cafe\u0301 Łódź; I\u0307stanbul’da İyi günler, ﬁne ½.",
    "emoji": "The 👩‍👩‍👧‍👦 family 👍🏽 flew from 🇫🇷🇩🇪 to 🏴󠁧󠁢󠁳󠁣󠁴󠁿 with a ❤️ and 1️⃣ dog 🐕‍🦺.",
    "ar": "وُلِدَتْ ماري كوري في وارسو عام ١٨٦٧، وفازت بجائزتي نوبل. ‏(PDF) 2020",
    "he": "מָרִי קִירִי נולדה בוורשה בשנת 1867, בבירת פולין.",
    "hi": "मैरी क्यूरी का जन्म १८६७ में वारसॉ में हुआ था। क्\u200dष ज़िंदगी हिन्दी",
    "th": "มารี กูรี เกิดที่กรุงวอร์ซอ เมื่อปี พ.ศ. ๒๔๑๐ และได้รับรางวัลโนเบลสองครั้ง น้ำ",
    "zh": "玛丽·居里1867年生于华沙，曾两次获得诺贝尔奖（物理学、化学）。𠮷野家",
    "ja": "マリ・キュリーは1867年にワルシャワで生まれた。か\u3099ッコウ ﾊﾟﾘ",
    "ko": "마리 퀴리는 1867년 바르샤바에서 태어났다. \u1112\u1161\u11ab\u1100\u1173\u11af",
    "ru": "Мария Кюри родилась в Варшаве в 1867 году. Ё\u0301лка и\u0306",
}
QUESTION = "Where was Marie Curie born?"
FAMILIES = {
    "bert": ("Bert", "wordpiece", {}),
    "distilbert": ("DistilBert", "wordpiece", {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
    "electra": ("Electra", "wordpiece", {"embedding_size": 16}),
    "roberta": ("Roberta", "bytes", {}),
    "xlm-roberta": ("XLMRoberta", "unigram", {}),
    "albert": ("Albert", "unigram", {"embedding_size": 16}),
    "deberta": ("Deberta", "bytes", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "deberta-v2": ("DebertaV2", "unigram", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "modernbert": ("ModernBert", "bytes", {}),
    "big_bird": ("BigBird", "unigram", {"attention_type": "original_full"}),
    "mpnet": ("MPNet", "wordpiece", {}),
    "longformer": ("Longformer", "bytes", {"attention_window": 16}),
    "bart": ("Bart", "bytes", {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "decoder_attention_heads": 2}),
    "xlnet": ("XLNet", "context first", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 32}),
}
MAX_LENGTH = 160
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@cache
def make_tokenizer(kind: str, **options: Any) -> Any:
    """Train a tokenizer on the contexts, so that it cuts their words into pieces and knows most characters."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special, pair = list(SPECIAL), ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=500, special_tokens=special, show_progress=False)
    elif kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        pair = ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]")
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=500, special_tokens=special, unk_token="[UNK]", show_progress=False
        )
        if kind == "context first":
            pair = ("$A [SEP] [CLS]:2", "$A [SEP] $B:1 [SEP]:1 [CLS]:2")
            options = {"padding_side": "left", "pad_token_type_id": 3, **options}
    tokenizer.train_from_iterator([QUESTION, *CONTEXTS.values()] * 2, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=pair[0], pair=pair[1], special_tokens=[(token, tokenizer.token_to_id(token)) for token in SPECIAL]
    )
    types = [] if kind == "bytes" else ["token_type_ids"]
    arguments = {
        **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True)),
        "model_input_names": ["input_ids", *types, "attention_mask"],
        "model_max_length": MAX_LENGTH,
    }
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{**arguments, **options})


def make_config(family: str, tokenizer: Any, **changes: Any) -> Any:
    import transformers

    name, _, own = FAMILIES[family]
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": MAX_LENGTH + 2,
        "type_vocab_size": 3,
        "initializer_range": 0.5,  # far apart, so that logits differ by far more than rounding
        "pad_token_id": tokenizer.pad_token_id,
        "cls_token_id": tokenizer.cls_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "sep_token_id": tokenizer.sep_token_id,
    }
    if family == "xlnet":
        del sizes["max_position_embeddings"]  # it has none
    return getattr(transformers, f"{name}Config")(**{**sizes, **own, **changes})


def save_reader(folder: Path, family: str, **changes: Any) -> Path:
    """Write a model with random weights and its tokenizer as a model folder."""
    import torch
    from transformers import AutoModelForQuestionAnswering

    tokenizer = make_tokenizer(FAMILIES[family][1])
    torch.manual_seed(1)
    AutoModelForQuestionAnswering.from_config(make_config(family, tokenizer, **changes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def reader_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a family's model."""
    return cache(lambda family: save_reader(tmp_path_factory.mktemp(family), family))


@pytest.fixture(scope="session")
def make_reader(reader_folder: Callable[[str], Path]) -> Callable[[str], Any]:
    """Load a family's model as users do."""
    from qa_scoring.extractive.loading import load_reader

    return cache(lambda family: load_reader(str(reader_folder(family)), device="cpu"))


@pytest.fixture(scope="session")
def reader(make_reader: Callable[[str], Any]) -> Any:
    return make_reader("bert")
