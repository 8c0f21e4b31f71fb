"""The embedded model: a base encoder and the low-rank change that training made of it, merged when loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qa_scoring.errors import InputError
from qa_scoring.similarity.base_model import FILES, SHA256, WEIGHTS, base_model_folder

ADAPTER = Path(__file__).parent / "embedded" / "adapter.safetensors"


def load_embedded(adapter: Path = ADAPTER, base: str | None = None) -> tuple[Any, Any, dict[str, str]]:
    """Put the embedded cross-encoder together.

    Args:
        adapter: The trained change: for every changed weight W two matrices ``W.lora_A`` (rank, in) and
            ``W.lora_B`` (out, rank), W becoming W + scale · B A; other tensors as they are. Its metadata has
            ``scale`` and ``name``, and ``base_sha256`` where the base is not the embedded one.
        base: Folder of the base model; None looks for it.

    Returns:
        Model in evaluation mode, tokenizer, and the adapter's metadata.

    Raises:
        InputError: The adapter does not fit the base model.
        MissingPackageError: The base model is not there.
    """
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    facts = _facts(adapter)
    change = {name: tensor.float() for name, tensor in load_file(adapter).items()}
    folder = base_model_folder(base, facts.get("base_sha256", SHA256))
    config = AutoConfig.from_pretrained(folder, num_labels=1)
    model = AutoModelForSequenceClassification.from_config(config).float()  # type: ignore[no-untyped-call]
    state = {f"bert.{name}": tensor for name, tensor in load_file(folder / WEIGHTS).items()}
    try:
        scale = float(json.loads(facts["scale"]))
        for name, tensor in change.items():
            if name.endswith(".lora_A"):
                weight = name.removesuffix(".lora_A")
                state[weight] = state[weight] + scale * change[f"{weight}.lora_B"] @ tensor
            elif not name.endswith(".lora_B"):
                state[name] = tensor
        wanted = set(model.state_dict())
        unknown = [name for name in state if name not in wanted and not name.endswith("position_ids")]
        lacking = sorted(wanted - set(state))
        if unknown or lacking:
            raise InputError(f"{adapter} does not fit {folder}: unknown {unknown[:3]}, lacking {lacking[:3]}.")
        model.load_state_dict({name: tensor for name, tensor in state.items() if name in wanted})
    except (KeyError, RuntimeError) as error:  # a name or a shape that the base model does not have
        raise InputError(f"{adapter} does not fit {folder}: {error}.") from error
    return model.eval(), AutoTokenizer.from_pretrained(folder), facts


def embedded_files(adapter: Path = ADAPTER) -> list[Path]:
    """List the files that the embedded cross-encoder is put together from.

    Args:
        adapter: As in ``load_embedded``.

    Returns:
        The adapter and the files of its base.

    Raises:
        InputError: There is no adapter.
        MissingPackageError: The base model is not there.
    """
    folder = base_model_folder(None, _facts(adapter).get("base_sha256", SHA256))
    return [adapter, *(folder / name for name in FILES)]


def _facts(adapter: Path) -> dict[str, str]:
    from safetensors import safe_open

    if not adapter.is_file():
        raise InputError(
            "This version ships no embedded model yet. Pass model=...: 'stsb-roberta-large', any Hub id, a local "
            "folder, or a folder that 'qa-scoring similarity train' made."
        )
    with safe_open(adapter, framework="pt") as file:
        return dict(file.metadata() or {})
