"""Cross-encoders in ONNX Runtime, on the CPU: exported from the torch model, checked against it, called like it."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from qa_scoring.errors import InputError
from qa_scoring.extras import require
from qa_scoring.similarity.onnx_int8 import quantize

MODEL = "model.onnx"
_OPSET = 18
_TOLERANCE = 1e-4  # of logits
_EXAMPLES = [  # pairs of different lengths, so that batch and length are seen to be free
    [("one", "two three"), ("a much longer first text than the second", "short")],
    [("one", "two three")],
    [("a text", "the text"), ("x", "y"), ("three of these pairs, this one the longest of them all by far", "it is")],
]


class OnnxNetwork:
    """A sequence classifier in ONNX Runtime, in place of its torch original.

    Args:
        path: The exported model.
        config: The original's configuration.
        dtype: The type of its arithmetic, for signatures.
    """

    def __init__(self, path: Path, config: Any, dtype: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3  # errors
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._inputs = [value.name for value in self._session.get_inputs()]
        self.config = config
        self.dtype = dtype
        self.device = torch.device("cpu")

    def __call__(self, **inputs: torch.Tensor) -> SimpleNamespace:
        """Return the logits, shape (n, labels), of tokens, shape (n, length)."""
        (logits,) = self._session.run(["logits"], {name: inputs[name].numpy() for name in self._inputs})
        return SimpleNamespace(logits=torch.from_numpy(logits))


def load_onnx(network: Any, tokenizer: Any, dtype: str, *, keep_in: Path | None) -> OnnxNetwork:
    """Bring a torch model into ONNX Runtime.

    Args:
        network: A transformers model for sequence classification, in evaluation mode.
        tokenizer: Its tokenizer.
        dtype: ``"float32"`` or ``"int8"``.
        keep_in: Folder of this very model, dtype and these versions, read where it is there, else made; None exports
            for this process only.

    Returns:
        What is called like the model.

    Raises:
        InputError: The model cannot be exported, or not quantised, or int8 is not exact on this processor.
        MissingPackageError: onnx or onnxruntime is not installed.
    """
    for module in ("onnx", "onnxruntime"):
        require(module, extra="onnx", purpose="backend='onnx'")
    if keep_in is not None and (keep_in / MODEL).is_file():
        return OnnxNetwork(keep_in / MODEL, network.config, dtype)
    with tempfile.TemporaryDirectory(dir=None if keep_in is None else keep_in.parent, prefix=".onnx-") as folder:
        made = Path(folder) / "made"
        made.mkdir()
        _export(network, tokenizer, made / MODEL)
        if dtype == "int8":
            exported = made.rename(Path(folder) / "exported")
            made.mkdir()
            quantize(exported / MODEL, made / MODEL, _random_inputs(tokenizer))
        if keep_in is None:
            return OnnxNetwork(made / MODEL, network.config, dtype)
        try:
            made.rename(keep_in)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return OnnxNetwork(keep_in / MODEL, network.config, dtype)


class _Logits(torch.nn.Module):
    """Gives a model positional inputs and one output."""

    def __init__(self, network: Any, names: list[str]) -> None:
        super().__init__()
        self._network = network
        self._names = names

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._network(**dict(zip(self._names, inputs, strict=True))).logits


def _export(network: Any, tokenizer: Any, path: Path) -> None:
    """Write a model in ONNX, batch and length free, and hold its logits against the original's."""
    network = network.to(device="cpu", dtype=torch.float32)
    first, *others = [_encode(tokenizer, pairs) for pairs in _EXAMPLES]
    names = list(first)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")  # tracing warns of every branch; what comes out is checked below
            # The newer exporter (dynamo=True) gives the same figures for BERT, RoBERTa, XLM-R, DistilBERT, ELECTRA,
            # ALBERT, MPNet, DeBERTa-v2 and ModernBERT, in ten times the time.
            torch.onnx.export(
                _Logits(network, names).eval(),
                tuple(first.values()),
                str(path),
                dynamo=False,
                input_names=names,
                output_names=["logits"],
                dynamic_axes={name: {0: "batch", 1: "length"} for name in names} | {"logits": {0: "batch"}},
                opset_version=_OPSET,
            )
        exported = OnnxNetwork(path, network.config, "float32")
        for inputs in (first, *others):
            with torch.inference_mode():
                expected = network(**inputs).logits
            torch.testing.assert_close(exported(**inputs).logits, expected, rtol=_TOLERANCE, atol=_TOLERANCE)
    except Exception as error:  # whatever the exporter or ONNX Runtime meets in a model it does not know
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(
            f"{type(network).__name__} cannot be run with backend='onnx': {reason}. Use backend='torch'."
        ) from error


def _encode(tokenizer: Any, pairs: list[tuple[str, str]]) -> dict[str, torch.Tensor]:
    return dict(
        tokenizer([first for first, _ in pairs], [second for _, second in pairs], padding=True, return_tensors="pt")
    )


def _random_inputs(tokenizer: Any) -> list[dict[str, Any]]:
    """Return pairs of random words of the vocabulary, whatever its language, as arrays of shape (1, length)."""
    generator = np.random.default_rng(0)
    special = set(tokenizer.all_special_ids)
    words = np.array([number for number in range(len(tokenizer)) if number not in special])
    inputs = []
    for length in np.repeat([2, 4, 8, 16], 16):
        first, second = (tokenizer.decode(generator.choice(words, length)) for _ in range(2))
        encoded = tokenizer([first], [second], truncation=True, max_length=64, return_tensors="pt")
        inputs.append({name: tensor.numpy() for name, tensor in encoded.items()})
    return inputs
