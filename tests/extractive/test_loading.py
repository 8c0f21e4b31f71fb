"""Models that can be loaded, and those that cannot, each with one clear error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from qa_scoring.errors import InputError
from qa_scoring.extractive.loading import load_reader
from qa_scoring.extractive.reader import ExtractiveReader
from tests.extractive.conftest import CONTEXTS, QUESTION, make_config, make_tokenizer


@pytest.fixture
def folder(reader_folder: Callable[[str], Path], tmp_path: Path) -> Path:
    """A model folder to break."""
    return Path(shutil.copytree(reader_folder("bert"), tmp_path / "model"))


def save_encoder(folder: Path, name: str) -> None:
    import transformers

    tokenizer = make_tokenizer("wordpiece")
    model = getattr(transformers, f"AutoModel{name}").from_config(make_config("bert", tokenizer))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize("name", ["", "ForSequenceClassification", "ForMaskedLM"])
def test_a_model_without_a_head(name: str, tmp_path: Path) -> None:
    save_encoder(tmp_path, name)
    with pytest.raises(InputError, match=r"has no trained question-answering head: its weights lack qa_outputs"):
        load_reader(str(tmp_path))


def test_a_model_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vit"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"holds no model that can be loaded: .*AutoModelForQuestionAnswering"):
        load_reader(str(tmp_path))


def test_pickled_weights_are_refused(folder: Path) -> None:
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="pickled weights are refused"):
        load_reader(str(folder))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe"])
def test_broken_files(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError, match="holds no model that can be loaded"):
        load_reader(str(folder))


def test_a_folder_without_a_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(InputError, match="tokenizer"):
        load_reader(str(folder))


@pytest.mark.parametrize("model", ["/no/such/folder", "./nowhere", "a/b/c"])
def test_no_folder(model: str) -> None:
    with pytest.raises(InputError, match=f"There is no folder {model}"):
        load_reader(model)


def test_no_hub() -> None:
    with pytest.raises(InputError, match=r"'someone/some-reader' cannot be loaded: .* Without a hub, fetch"):
        load_reader("someone/some-reader")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "'model' must be a Hub id or a local folder"),
        ({"model": None}, "'model' must be a Hub id or a local folder"),
        ({"revision": "main"}, "is a folder, which has no 'revision'"),
        ({"device": "tpu"}, "'device' must be"),
        ({"dtype": "int8"}, "'dtype' must be"),
    ],
)
def test_wrong_arguments(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_reader(**{"model": str(folder), **options})


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_types_of_numbers(folder: Path, dtype: str) -> None:
    reader = load_reader(str(folder), device="cpu", dtype=dtype)
    assert reader.model.dtype == getattr(torch, dtype)
    [reading] = reader.read([QUESTION], [CONTEXTS["en"]])
    assert reading.answers[0].text in CONTEXTS["en"]


def test_weights_saved_in_half_precision_are_read_in_full(folder: Path) -> None:
    load_reader(str(folder), device="cpu", dtype="float16").model.save_pretrained(folder)
    assert load_reader(str(folder), device="cpu").model.dtype == torch.float32


def test_a_tokenizer_of_its_own(folder: Path, tmp_path: Path) -> None:
    make_tokenizer("wordpiece").save_pretrained(tmp_path / "words")
    (folder / "tokenizer.json").unlink()
    reader = load_reader(str(folder), tokenizer=str(tmp_path / "words"), device="cpu")
    assert list(reader.read([QUESTION], [CONTEXTS["en"]]))


def test_slow_tokenizers_are_refused(reader: Any, tmp_path: Path) -> None:
    from transformers import BertJapaneseTokenizer

    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]), "utf-8")
    slow = BertJapaneseTokenizer(
        str(tmp_path / "vocab.txt"), word_tokenizer_type="basic", subword_tokenizer_type="wordpiece"
    )
    assert not slow.is_fast
    with pytest.raises(InputError, match="BertJapaneseTokenizer does not say where in the text its tokens are"):
        ExtractiveReader(reader.model, slow)


@pytest.mark.parametrize("name", ["", "ForSequenceClassification"])
def test_objects_without_a_head_are_refused(reader: Any, name: str) -> None:
    import transformers

    config = make_config("bert", reader.tokenizer)
    model = getattr(transformers, f"AutoModel{name}").from_config(config)
    with pytest.raises(InputError, match=f"{type(model).__name__}, which has no question-answering head"):
        ExtractiveReader(model, reader.tokenizer)
    with pytest.raises(InputError, match="A model needs its tokenizer"):
        ExtractiveReader(reader.model, None)
