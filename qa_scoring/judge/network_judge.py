"""Judges that are networks: A0, A1 and A2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qa_scoring.encoders.batching import token_batches
from qa_scoring.encoders.devices import check_running, choose_device
from qa_scoring.encoders.hub import cannot_load, check_usable, commit_of
from qa_scoring.encoders.scorers import Keep, Progress, Scores, Texts, keep_nothing
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version, require
from qa_scoring.judge.inputs import assemble, longest_pairs, pad, triple
from qa_scoring.judge.judges import Reranks
from qa_scoring.signature import Value


class NetworkJudge(Reranks):
    """Gives the probability that an answer is correct, given a question and one reference.

    Args:
        model: A ``JudgeModel`` in evaluation mode.
        tokenizer: Its fast tokenizer.
        max_length: Longest pair, in tokens; None for what the model was trained with.
        batch_size: Triples per batch; None fills batches by tokens.
        facts: What the signature says of model and revision.
    """

    reads_all_references = False

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_length: int | None = None,
        batch_size: int | None = None,
        facts: Mapping[str, Value],
    ) -> None:
        self.model = model
        self._tokenizer = tokenizer
        self._max_length = max_length or model.config.max_tokens
        self._batch_size = batch_size
        self.reads_questions: bool = model.config.reads_questions
        self.threshold: float = model.config.threshold
        self._temperature: float = model.config.logit_temperature
        self.facts: Mapping[str, Value] = {
            "judge": "A2" if model.config.peer_attention else "A0/A1",
            "pairs": " ".join(model.config.pairs),
            "encoders": model.config.encoders,
            **facts,
            "dtype": str(model.dtype).removeprefix("torch."),
            "max_length": self._max_length,
            "temperature": self._temperature,
        }

    def score(self, items: Sequence[Texts], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score items of one reference, sorted by length, in batches of about the same number of tokens."""
        import torch

        assembled = assemble(self._tokenizer, self.model.config.pairs, list(map(triple, items)), self._max_length)
        truncated = np.array(assembled.truncated, dtype=np.bool_)
        scores = np.empty(len(items))
        device = self.model.device
        for rows in progress(list(token_batches(longest_pairs(assembled), self._batch_size, device=device.type))):
            batch = {name: values.to(device) for name, values in pad(self._tokenizer, assembled, rows).items()}
            with torch.inference_mode():
                logits = self.model(**batch).logits.double() / self._temperature
            scores[rows] = found = torch.sigmoid(logits).cpu().numpy()
            keep(rows, Scores(found, truncated[rows]))
        return Scores(scores, truncated)


def load_network_judge(
    model: str,
    *,
    revision: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    max_length: int | None = None,
    batch_size: int | None = None,
) -> NetworkJudge:
    """Load a judge that is a network. Code that comes with it is never run, pickled weights are refused.

    Args:
        model: Hub id or folder.
        revision: Branch, tag or commit on the Hub.
        device: ``"cuda"``, ``"mps"``, ``"cpu"``; None takes the first of them that is there.
        dtype: ``"float32"`` (None), ``"bfloat16"`` or ``"float16"``.
        max_length: Longest pair, in tokens; None takes the judge's own.
        batch_size: Triples per batch; None fills batches by tokens.

    Returns:
        The judge.

    Raises:
        InputError: An argument is wrong, or the judge cannot be loaded or used.
        MissingPackageError: torch or transformers is not installed.
    """
    require("torch", extra="ava", purpose="ava_metric")
    if not isinstance(model, str) or not model:
        raise parameter_error("model", "a Hub id or a local folder", model)
    if revision is not None and (not isinstance(revision, str) or not revision):
        raise parameter_error("revision", "None, or a branch, tag or commit", revision)
    if revision is not None and Path(model).is_dir():
        raise InputError(f"{model} is a folder, which has no 'revision'; models on the Hub have.")
    check_running(dtype, batch_size, max_length)
    place = choose_device(device)
    network, tokenizer = _read(model, revision)
    check_usable(model, network, tokenizer, max_length or network.config.max_tokens)
    import torch

    return NetworkJudge(
        network.to(device=place, dtype=getattr(torch, dtype or "float32")).eval(),
        tokenizer,
        max_length=max_length,
        batch_size=batch_size,
        facts={
            "model": model,
            "revision": commit_of(model, revision, organization=None),
            "transformers": distribution_version("transformers"),
        },
    )


def _read(model: str, revision: str | None) -> tuple[Any, Any]:
    """Read network and tokenizer; refuse what is no judge, or not all of one."""
    from safetensors import SafetensorError
    from transformers import AutoTokenizer, PretrainedConfig

    from qa_scoring.judge.configuration import JudgeConfig
    from qa_scoring.judge.modeling import JudgeModel

    load: Any = JudgeModel.from_pretrained  # whose result its types do not know
    try:
        kind = PretrainedConfig.get_config_dict(model, revision=revision)[0].get("model_type")
        if kind != JudgeConfig.model_type:
            raise InputError(
                f"{model} is no judge: its config.json has model_type {kind!r}; expected {JudgeConfig.model_type!r}, "
                f"which `qa-scoring judge train` writes."
            )
        network, found = load(model, revision=revision, use_safetensors=True, output_loading_info=True)
        tokenizer = AutoTokenizer.from_pretrained(model, revision=revision, trust_remote_code=False)
    except InputError:
        raise
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise cannot_load(model, revision, error) from error
    for problem, names in (("lacks", found["missing_keys"]), ("has unknown", found["unexpected_keys"])):
        if names:
            raise InputError(
                f"The file of weights of {model} {problem} {', '.join(sorted(names)[:3])}; see config.json."
            )
    return network, tokenizer
