"""Eight-bit arithmetic for models in ONNX: weights by column, what meets them by row, at run time.

ONNX Runtime's own dynamic quantisation gives a whole batch one scale, so that a score depends on the other pairs of the
batch, and an outlier anywhere costs all of them precision (scores changed by up to 0.25). Here every row, which is one
token, has a scale of its own:

    y = x W  ≈  (x_scale · w_scale) ∘ (round(x / x_scale) · round(W / w_scale))

Before that, channels of x that are much larger than the others hand some of their size over to W, which changes
nothing but the rounding (x W = (x / s) (s W)). The first half of the weights stay float32: what is rounded there goes
through all the layers that follow.

Source: Xiao et al. 2023, SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models,
sections 3 (scales by token and by channel) and 4 (equation 4, α = 0.5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qa_scoring.errors import InputError

_FLOAT32_SHARE = 0.5
_ALPHA = 0.5
_TINY = 1e-5
_LEVELS = 127  # either side of zero

Array = NDArray[np.float32]


def quantize(source: Path, target: Path, inputs: Sequence[Mapping[str, Any]]) -> None:
    """Write a model whose later weights are eight-bit integers.

    Args:
        source: A model in float32.
        target: Where to write it.
        inputs: What the model may read, by input; shows which channels are large.

    Raises:
        InputError: The model has no such weights, or integers are not multiplied exactly on this processor.
    """
    import onnx

    if not products_are_exact():
        raise InputError(
            "dtype='int8' needs a processor that multiplies eight-bit integers exactly (AVX-VNNI, AVX-512 VNNI, ARM "
            "dot products); this one saturates. Use dtype='float32'."
        )
    model = onnx.load(str(source))
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    matrices = [
        node
        for node in model.graph.node
        if node.op_type == "MatMul" and node.input[1] in initializers and len(initializers[node.input[1]].dims) == 2
    ]
    matrices = matrices[int(len(matrices) * _FLOAT32_SHARE) :]
    if not matrices:
        raise InputError("The model has no weights that dtype='int8' applies to. Use dtype='float32'.")
    by_input: dict[str, list[Any]] = defaultdict(list)
    for node in matrices:
        by_input[node.input[0]].append(node)
    largest = _largest(model, list(by_input), inputs)
    graph = _Rewriter(model)
    for name, nodes in by_input.items():
        weights = [onnx.numpy_helper.to_array(initializers[node.input[1]]) for node in nodes]
        weight_size = np.max([np.abs(weight).max(axis=1) for weight in weights], axis=0)
        shift = np.maximum(largest[name], _TINY) ** _ALPHA / np.maximum(weight_size, _TINY) ** (1.0 - _ALPHA)
        graph.replace(name, nodes, weights, (shift / shift.mean()).astype(np.float32))
    graph.finish()
    onnx.save(model, str(target))


def products_are_exact() -> bool:
    """Whether this processor multiplies unsigned by signed eight-bit integers without saturating.

    Returns:
        False for x86 processors without VNNI, which add products in sixteen bits.
    """
    from onnx import TensorProto, helper

    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    left = helper.make_tensor_value_info("a", TensorProto.UINT8, [None, 64])
    right = helper.make_tensor_value_info("b", TensorProto.INT8, [64, 16])
    out = helper.make_tensor_value_info("y", TensorProto.INT32, [None, 16])
    model = helper.make_model(
        helper.make_graph([node], "products", [left, right], [out]),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    operands = np.full((4, 64), 255, dtype=np.uint8), np.full((64, 16), 127, dtype=np.int8)
    (found,) = _run(model, ["y"], [dict(zip("ab", operands, strict=True))])
    return bool((found[0] == 64 * 255 * 127).all())


def _largest(model: Any, names: list[str], inputs: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    """Return the largest magnitude of every channel of the named tensors."""
    import onnx

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    known = {value.name for value in shown.graph.output}
    shown.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in known)
    return {
        name: np.max([np.abs(value).reshape(-1, value.shape[-1]).max(axis=0) for value in values], axis=0)
        for name, values in zip(names, _run(shown, names, inputs), strict=True)
    }


def _run(model: Any, outputs: list[str], inputs: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return, for every output, its value for every input."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    needed = [value.name for value in session.get_inputs()]
    return list(zip(*(session.run(outputs, {name: given[name] for name in needed}) for given in inputs), strict=True))


class _Rewriter:
    """Replaces products with weights in a graph."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._before: dict[str, list[Any]] = {}  # first of the nodes that are replaced → what goes before it
        self._instead: dict[str, list[Any]] = {}
        self._gone: set[str] = set()
        self._constants = {
            "int8.flat": np.array([-1], dtype=np.int64),
            "int8.last_axis": np.array([-1], dtype=np.int64),
            "int8.first": np.array([0], dtype=np.int64),
            "int8.one": np.array(1.0, dtype=np.float32),
            "int8.tiny": np.array(1e-12, dtype=np.float32),
            "int8.step": np.array(1.0 / _LEVELS, dtype=np.float32),
            "int8.zero": np.array(_LEVELS + 1, dtype=np.uint8),  # unsigned times signed is what processors do fast
            "int8.zeros": np.array([_LEVELS + 1], dtype=np.uint8),
        }

    def replace(self, name: str, nodes: list[Any], weights: list[Array], shift: Array) -> None:
        """Let all the nodes that read a tensor, shape (..., channels), read it in eight bits."""
        self._before[nodes[0].output[0]] = self._rounded_rows(name, shift)
        for node, weight in zip(nodes, weights, strict=True):
            self._instead[node.output[0]] = self._product(name, node, weight * shift[:, None])
            self._gone.add(node.input[1])

    def _rounded_rows(self, name: str, shift: Array) -> list[Any]:
        """Make rows in eight bits, shape (rows, channels), and their scales, shape (rows, 1), of a tensor."""
        from onnx.helper import make_node

        own = f"{name}.int8."
        self._constants |= {
            f"{own}shift": (1.0 / shift).astype(np.float32),
            f"{own}shape": np.array([-1, len(shift)], dtype=np.int64),
        }
        return [
            make_node("Shape", [name], [f"{own}dims"]),
            make_node("Slice", [f"{own}dims", "int8.first", "int8.last_axis"], [f"{own}outer"]),
            make_node("Mul", [name, f"{own}shift"], [f"{own}shifted"]),
            make_node("Reshape", [f"{own}shifted", f"{own}shape"], [f"{own}rows"]),
            make_node("Abs", [f"{own}rows"], [f"{own}sizes"]),
            make_node("ReduceMax", [f"{own}sizes", "int8.last_axis"], [f"{own}largest"], keepdims=1),
            make_node("Max", [f"{own}largest", "int8.tiny"], [f"{own}positive"]),
            make_node("Mul", [f"{own}positive", "int8.step"], [f"{own}scale"]),
            make_node("Reshape", [f"{own}scale", "int8.flat"], [f"{own}scales"]),
            make_node("Shape", [f"{own}scales"], [f"{own}count"]),
            make_node("Expand", ["int8.zeros", f"{own}count"], [f"{own}zeros"]),
            make_node("QuantizeLinear", [f"{own}rows", f"{own}scales", f"{own}zeros"], [f"{own}rounded"], axis=0),
        ]

    def _product(self, name: str, node: Any, weight: Array) -> list[Any]:
        """Rounded rows times rounded columns, in float32 and in the shape of the product that is replaced."""
        from onnx.helper import make_node

        own, out = f"{name}.int8.", node.output[0]
        scale = np.maximum(np.abs(weight).max(axis=0), _TINY) / _LEVELS
        self._constants |= {
            f"{out}.int8.weight": np.round(weight / scale).astype(np.int8),
            f"{out}.int8.scale": scale.astype(np.float32),
            f"{out}.int8.columns": np.array([weight.shape[1]], dtype=np.int64),
        }
        operands = [f"{own}rounded", f"{out}.int8.weight", "int8.one", f"{out}.int8.scale", "int8.zero"]
        return [
            make_node("MatMulIntegerToFloat", operands, [f"{out}.int8.product"], domain="com.microsoft"),
            make_node("Mul", [f"{out}.int8.product", f"{own}scale"], [f"{out}.int8.scaled"]),
            make_node("Concat", [f"{own}outer", f"{out}.int8.columns"], [f"{out}.int8.shape"], axis=0),
            make_node("Reshape", [f"{out}.int8.scaled", f"{out}.int8.shape"], [out]),
        ]

    def finish(self) -> None:
        """Put the new nodes and constants into the graph, and take out the weights that nothing reads now."""
        from onnx.helper import make_opsetid
        from onnx.numpy_helper import from_array

        graph = self._model.graph
        nodes = [
            new
            for node in graph.node
            for new in (*self._before.get(node.output[0], ()), *self._instead.get(node.output[0], (node,)))
        ]
        read = {name for node in nodes for name in node.input}
        kept = [tensor for tensor in graph.initializer if tensor.name in read or tensor.name not in self._gone]
        del graph.node[:], graph.initializer[:]
        graph.node.extend(nodes)
        graph.initializer.extend(kept)
        graph.initializer.extend(from_array(value, name) for name, value in self._constants.items())
        self._model.opset_import.append(make_opsetid("com.microsoft", 1))
