"""The shipped judge as a scorer: put together from its base and the file of its own weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qa_scoring.encoders.base_model import FILES, SHA256, base_model_folder, load_encoder
from qa_scoring.encoders.hub import check_usable
from qa_scoring.encoders.scorers import Keep, Progress, Scores, Texts, keep_nothing
from qa_scoring.errors import InputError
from qa_scoring.extras import distribution_version
from qa_scoring.judge.judges import Reranks
from qa_scoring.signature import Value

HEAD = "judge_head.safetensors"
EMBEDDED = Path(__file__).parent / "embedded"
_REASON = 200  # characters of another library's error


class MatchingJudge(Reranks):
    """Gives the probability that an answer is correct, given the question and all references.

    Args:
        reader: An ``ItemReader``.
        head: A ``MatchingHead`` in evaluation mode.
        threshold: The least probability of a correct answer.
        temperature: What a logit is divided by.
        facts: What the signature says of the model.
    """

    reads_questions = True
    reads_all_references = True

    def __init__(
        self, reader: Any, head: Any, *, threshold: float, temperature: float, facts: Mapping[str, Value]
    ) -> None:
        self._reader = reader
        self._head = head
        self._temperature = temperature
        self.threshold = threshold
        self.facts: Mapping[str, Value] = {
            "judge": "matching",
            **facts,
            "dtype": reader.texts.dtype,
            "max_length": reader.texts.max_length,
            "temperature": temperature,
        }

    def score(self, items: Sequence[Texts], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score items of question, answer and any number of references."""
        import torch

        from qa_scoring.judge.matching import best_of  # imports torch

        scores = np.empty(len(items))
        truncated = np.zeros(len(items), dtype=np.bool_)
        for reading in self._reader.read(items, progress):
            pairs = [row for row, _ in reading.pairs]
            place = {row: number for number, row in enumerate(dict.fromkeys(pairs))}
            rows = list(place)
            with torch.inference_mode():
                logits = best_of(self._head(reading.features), torch.tensor([place[row] for row in pairs]), len(rows))
                scores[rows] = torch.sigmoid(logits.double() / self._temperature).numpy()
            np.logical_or.at(truncated, pairs, reading.truncated)
            keep(rows, Scores(scores[rows], truncated[rows]))
        return Scores(scores, truncated)


def load_matching_judge(
    folder: Path = EMBEDDED,
    *,
    base: str | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    max_length: int | None = None,
    batch_size: int | None = None,
) -> MatchingJudge:
    """Put the shipped judge together, or one that was trained like it.

    Args:
        folder: Holds ``judge_head.safetensors``.
        base: Folder of the base model; None looks for it.
        device: Where the encoder runs.
        dtype: The torch type of the encoder's weights; the head is in float32, on the CPU.
        max_length: Longest text in tokens; None takes the judge's own.
        batch_size: Texts per batch; None fills batches by tokens.

    Returns:
        The judge.

    Raises:
        InputError: The head is broken, does not fit the base model, or the base has fewer positions than asked for.
        MissingPackageError: The base model is not there.
    """
    import torch

    from qa_scoring.encoders.reading import TextReader  # imports torch
    from qa_scoring.judge.matching import ItemReader, MatchingHead

    facts, tensors = _read_head(folder)
    path = folder / HEAD
    try:
        hidden, size = tensors["hidden.weight"].shape
        head = MatchingHead(size, hidden=hidden)
        head.load_state_dict(tensors)
        name, longest = facts["name"], int(facts["max_length"])
        threshold, temperature = float(facts["threshold"]), float(facts["temperature"])
        if not 0.0 <= threshold <= 1.0 or not temperature > 0.0:
            raise ValueError(f"threshold {threshold}, temperature {temperature}")
    except (KeyError, RuntimeError, ValueError) as error:
        raise _no_head(path, error) from error
    where = base_model_folder(base, facts.get("base_sha256", SHA256))
    encoder, tokenizer = load_encoder(where)
    check_usable(str(where), encoder, tokenizer, max_length or longest)
    texts = TextReader(
        encoder.to(device=device, dtype=getattr(torch, dtype)),
        tokenizer,
        max_length=max_length or longest,
        batch_size=batch_size,
    )
    reader = ItemReader(texts)
    if reader.size != size:
        raise InputError(f"{path} is for {size} features of an answer; {where} gives {reader.size}.")
    return MatchingJudge(
        reader,
        head.eval(),
        threshold=threshold,
        temperature=temperature,
        facts={"model": name, "transformers": distribution_version("transformers")},
    )


def matching_files(folder: Path = EMBEDDED) -> list[Path]:
    """List the files that a matching judge is put together from.

    Args:
        folder: As in ``load_matching_judge``.

    Returns:
        The head and the files of its base.

    Raises:
        InputError: The head cannot be read.
        MissingPackageError: The base model is not there.
    """
    facts, _ = _read_head(folder)
    base = base_model_folder(None, facts.get("base_sha256", SHA256))
    return [folder / HEAD, *(base / name for name in FILES)]


def write_head(path: Path, tensors: Mapping[str, Any], facts: Mapping[str, object]) -> None:
    """Write the weights of a matching judge.

    Args:
        path: The file.
        tensors: State of a ``MatchingHead``.
        facts: ``name``, ``max_length``, ``base_sha256``, ``threshold``, ``temperature``.
    """
    from safetensors.torch import save

    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    content = save(tensors, metadata={**{name: str(value) for name, value in facts.items()}, "format": "pt"})
    path.write_bytes(_with_sorted_header(content))


def _with_sorted_header(content: bytes) -> bytes:
    """Give the same weights the same bytes: safetensors writes its metadata in an order drawn by chance."""
    data = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:data]), sort_keys=True, separators=(",", ":")).encode()
    header = header.ljust(-(-len(header) // 8) * 8)  # aligned, as the format wants the data
    return len(header).to_bytes(8, "little") + header + content[data:]


def change_head(folder: Path, facts: Mapping[str, object]) -> None:
    """Change what a matching judge's file says beside its weights, such as threshold and temperature.

    Args:
        folder: Holds ``judge_head.safetensors``.
        facts: What changes.

    Raises:
        InputError: The head cannot be read.
    """
    before, tensors = _read_head(folder)
    write_head(folder / HEAD, tensors, before | dict(facts))


def _read_head(folder: Path) -> tuple[dict[str, str], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / HEAD, framework="pt") as file:
            facts = dict(file.metadata() or {})
            return facts, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError) as error:
        raise _no_head(folder / HEAD, error) from error


def _no_head(path: Path, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:_REASON]
    return InputError(f"{path} is not a head that 'qa-scoring judge train' made: {reason}.")
