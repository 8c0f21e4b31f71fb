"""The configuration of a learned judge: which pairs of texts it reads, by how many encoders, and how they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import AutoConfig, PretrainedConfig

from qa_scoring.config_files import FRACTION, LENGTH, PART, POSITIVE, Rule
from qa_scoring.errors import parameter_error
from qa_scoring.judge.families import check_family
from qa_scoring.judge.inputs import reads_questions


class JudgeConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """What a judge is made of; with its weights everything that its scores depend on.

    The longest input and the temperature have names of their own: transformers takes ``max_length`` and ``temperature``
    for settings of text generation, and refuses to save them here.

    Args:
        base: The configuration of the encoder, as values; ``model_type`` says which.
        pairs: Names of ``PAIRS``, each once: the pairs of texts that are read.
        encoders: ``"own"``, one encoder per pair (the paper); ``"shared"``, one for all; ``"adapters"``, one whose own
            weights stay as they are, with low-rank adapters per pair.
        peer_attention: Whether two pairs are read a second time, each with attention to the other (A2).
        adapter_rank: Rank of the adapters.
        adapter_alpha: Their scale, times the rank.
        max_tokens: Longest pair, in tokens.
        threshold: An answer with at least this probability is correct, 0 to 1.
        logit_temperature: What logits are divided by, above 0.
        dropout: Part of the encoders' outputs that is dropped while training, and of the second pass.

    Raises:
        InputError: A value is not what it must be.

    Source:
        Vu & Moschitti 2021, section 5.
    """

    model_type = "ava-judge"

    def __init__(
        self,
        base: Mapping[str, Any] | None = None,
        pairs: Sequence[str] = ("r-qt", "t-qr"),
        encoders: str = "own",
        peer_attention: bool = False,
        adapter_rank: int = 8,
        adapter_alpha: float = 16.0,
        max_tokens: int = 256,
        threshold: float = 0.5,
        logit_temperature: float = 1.0,
        dropout: float = 0.1,
        **rest: Any,
    ) -> None:
        check_family(pairs, encoders, peer_attention, adapter_rank)
        _check("adapter_alpha", adapter_alpha, POSITIVE)
        _check("max_tokens", max_tokens, LENGTH)
        _check("threshold", threshold, FRACTION)
        _check("logit_temperature", logit_temperature, POSITIVE)
        _check("dropout", dropout, PART)
        self.base = dict(base or {"model_type": "bert"})
        self.pairs = list(pairs)
        self.encoders = encoders
        self.peer_attention = peer_attention
        self.adapter_rank = adapter_rank
        self.adapter_alpha = float(adapter_alpha)
        self.max_tokens = max_tokens
        self.threshold = float(threshold)
        self.logit_temperature = float(logit_temperature)
        self.dropout = float(dropout)
        super().__init__(**{"num_labels": 1, **rest})

    @property
    def reads_questions(self) -> bool:
        """Whether one of the pairs has the question."""
        return reads_questions(self.pairs)

    def base_config(self) -> Any:
        """Return the configuration of the encoder; code that it may name is never run."""
        values = dict(self.base)
        kind = values.pop("model_type", None)
        values.pop("auto_map", None)
        try:
            return AutoConfig.for_model(kind, **values)
        except (ValueError, KeyError, TypeError) as error:
            raise parameter_error("base", f"the configuration of an encoder of transformers ({error})", kind) from error


def _check(name: str, value: object, rule: Rule) -> None:
    expected, holds = rule
    if not holds(value):
        raise parameter_error(name, expected, value)


AutoConfig.register(JudgeConfig.model_type, JudgeConfig, exist_ok=True)
