"""The judge's network: encoders of pairs of texts, a second pass with peer attention, one logit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel
from transformers.utils.generic import ModelOutput

from qa_scoring.encoders.base_model import base_model_folder
from qa_scoring.encoders.hub import cannot_load, longest_input
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import require
from qa_scoring.judge.configuration import JudgeConfig


@dataclass
class JudgeOutput(ModelOutput):
    """What the network gives for n inputs.

    Args:
        loss: Binary cross-entropy, where labels are given.
        logits: Shape (n,), of "correct".
    """

    loss: Tensor | None = None
    logits: Tensor | None = None


class JudgeModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Judges triples of question, reference and answer that ``assemble`` turned into pairs of texts.

    A0 and A1: every pair goes through an encoder, and a linear layer reads what is in the place of [CLS] of all of
    them, one after the other. A2: between the two stands a second pass, ``PeerDecoder``.

    The linear layer gives one logit, z. The paper's gives two and takes their softmax, which is the sigmoid of their
    difference: the same functions of the input.

    Args:
        config: What it is made of. The weights are random: use ``from_base`` or ``from_pretrained``.

    Source:
        Vu & Moschitti 2021, section 5.
    """

    config_class = JudgeConfig
    base_model_prefix = "judge"
    main_input_name = "pair_0_input_ids"
    accepts_loss_kwargs = False  # the loss is a mean over the batch

    def __init__(self, config: JudgeConfig) -> None:
        super().__init__(config)
        base = config.base_config()
        count = len(config.pairs) if config.encoders == "own" else 1
        self.encoders = nn.ModuleList(_new_encoder(base) for _ in range(count))
        self.peers = nn.ModuleList(PeerDecoder(base, config.dropout) for _ in config.pairs if config.peer_attention)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(base.hidden_size * len(config.pairs), 1)
        self.post_init()  # type: ignore[no-untyped-call]
        for peer in self.peers:
            _start_as_identity(peer)
        self._adapted = _add_adapters(self.encoders[0], config) if config.encoders == "adapters" else []

    @classmethod
    def from_base(cls, base: str | None = None, revision: str | None = None, **settings: Any) -> JudgeModel:
        """Start a judge from the weights of an encoder; what is above it is random.

        Args:
            base: Folder or Hub id of an encoder of transformers; None for the base of this package's models.
            revision: Branch, tag or commit on the Hub.
            **settings: Keys of ``JudgeConfig``.

        Returns:
            The judge, in float32 and evaluation mode.

        Raises:
            InputError: The base cannot be loaded, or a setting is not what it must be.
            MissingPackageError: The base is None and its files are nowhere.
        """
        source = str(base_model_folder()) if base is None else base
        encoder = _read_encoder(source, revision)
        config = JudgeConfig(base=_base_values(encoder.config), **settings)
        positions = longest_input(encoder)
        if positions is not None and config.max_tokens > positions:
            raise parameter_error("max_tokens", f"at most {positions}, the positions of {source}", config.max_tokens)
        model = cls(config)
        weights = encoder.state_dict()
        for own in model.encoders:
            _copy_weights(own, weights)
        model.train(False)
        return model

    def forward(self, labels: Tensor | None = None, weights: Tensor | None = None, **tokens: Tensor) -> JudgeOutput:
        """Judge a batch.

        Args:
            labels: Shape (n,), 1 for correct and 0 for not.
            weights: Shape (n,), what each of them counts in the loss; None counts all alike.
            **tokens: ``pair_0_input_ids`` and so on, as ``pad`` names them; shape (n, length) each.

        Returns:
            Logits, and with labels the loss.
        """
        states, masks = [], []
        for number, name in enumerate(self.config.pairs):
            prefix = f"pair_{number}_"
            pair = {key.removeprefix(prefix): value for key, value in tokens.items() if key.startswith(prefix)}
            states.append(self._encoder(number, name)(**pair).last_hidden_state)
            masks.append(pair["attention_mask"] == 0)
        if self.config.peer_attention:
            (first, second), (left, right) = states, masks
            states = [self.peers[0](first, left, second, right), self.peers[1](second, right, first, left)]
        read = torch.cat([state[:, 0] for state in states], dim=-1)
        logits = self.classifier(self.dropout(read))[:, 0]
        if labels is None:
            return JudgeOutput(logits=logits)
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), labels.float(), weight=weights)
        return JudgeOutput(loss=loss, logits=logits)

    def _encoder(self, number: int, pair: str) -> nn.Module:
        """Return the encoder of a pair, with its adapter at work."""
        for layer in self._adapted:
            layer.set_adapter(_adapter_name(pair))
        _train_all_adapters(self._adapted)
        return self.encoders[number if self.config.encoders == "own" else 0]


class PeerDecoder(nn.Module):
    """The second pass of one member of a pair of pairs (peer attention).

    The paper encodes both members and then decodes each with the other's output as in an encoder-decoder. Here: one
    layer of a transformer decoder whose input is what the member's own encoder gave, whose memory is what the other's
    gave, and which sees all positions; so it works over any encoder. Layer normalisation comes first and what the
    layer adds is 0 before training, so that A2 starts as A1 of the same pairs does. Number of layers and start are
    ours; the paper does not give them, as far as known.

    Args:
        base: The encoder's configuration.
        dropout: Part that is dropped while training.

    Source:
        Vu & Moschitti 2021, section 5 (peer attention) and appendix; layers as in Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, base: Any, dropout: float) -> None:
        super().__init__()
        size = base.hidden_size
        heads = getattr(base, "num_attention_heads", 1)
        self.layer = nn.TransformerDecoderLayer(
            size, heads, 4 * size, dropout, activation="gelu", batch_first=True, norm_first=True
        )

    def forward(self, own: Tensor, own_blank: Tensor, other: Tensor, other_blank: Tensor) -> Tensor:
        """Read a member again beside the other: shape (n, length, size); True in a mask is padding."""
        read = self.layer(own, other, tgt_key_padding_mask=own_blank, memory_key_padding_mask=other_blank)
        assert isinstance(read, Tensor)
        return read


def _start_as_identity(peer: Any) -> None:
    """Make a second pass add nothing to what it reads."""
    for part in (peer.layer.self_attn.out_proj, peer.layer.multihead_attn.out_proj, peer.layer.linear2):
        nn.init.zeros_(part.weight)
        nn.init.zeros_(part.bias)


def _new_encoder(config: Any) -> Any:
    """Make an encoder with random weights, without the pooler, which judges do not use."""
    encoder = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


def _base_values(config: Any) -> dict[str, Any]:
    """Return an encoder's configuration without what says where it came from or how it was stored."""
    dropped = {"_name_or_path", "architectures", "auto_map", "dtype", "torch_dtype", "transformers_version"}
    return {name: value for name, value in config.to_diff_dict().items() if name not in dropped}


def _read_encoder(source: str, revision: str | None) -> Any:
    """Load a trained encoder, all of it but the pooler."""
    load: Any = AutoModel.from_pretrained  # whose result its types do not know
    try:
        encoder, found = load(
            source, revision=revision, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise cannot_load(source, revision, error) from error
    lacking = sorted(name for name in found["missing_keys"] if "pooler" not in name)
    if lacking:
        raise InputError(f"The base {source} has no weights {', '.join(lacking[:3])}; its config.json has.")
    return encoder.float()


def _copy_weights(encoder: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy an encoder's weights; those of adapters stay."""
    for name, tensor in encoder.state_dict().items():
        if ".lora_" not in name:
            tensor.copy_(weights[name.replace(".base_layer.", ".")])


def _adapter_name(pair: str) -> str:
    return pair.replace("-", "_")


def _add_adapters(encoder: Any, config: JudgeConfig) -> list[Any]:
    """Give the linear layers of an encoder one low-rank adapter per pair; return those layers."""
    peft = require("peft", extra="ava", purpose="encoders='adapters'")
    settings = peft.LoraConfig(
        r=config.adapter_rank, lora_alpha=config.adapter_alpha, target_modules="all-linear", lora_dropout=0.0
    )
    first, *others = map(_adapter_name, config.pairs)
    tuner = peft.LoraModel(encoder, settings, first)
    for name in others:
        tuner.peft_config[name] = settings
        tuner.inject_adapter(encoder, name)
    adapted = [module for module in encoder.modules() if hasattr(module, "lora_A") and hasattr(module, "set_adapter")]
    _train_all_adapters(adapted)
    return adapted


def _train_all_adapters(layers: Iterable[Any]) -> None:
    """Let every adapter learn; peft lets only the one that was set last."""
    for layer in layers:
        for part in (layer.lora_A, layer.lora_B):
            part.requires_grad_(True)


def save_judge(model: JudgeModel, tokenizer: Any, folder: str | Path) -> None:
    """Write a judge as a folder that ``load_network_judge`` and the Hub take: safetensors, no pickles.

    Args:
        model: The judge.
        tokenizer: Its tokenizer.
        folder: Made if it is not there.
    """
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)


AutoModel.register(JudgeConfig, JudgeModel, exist_ok=True)
