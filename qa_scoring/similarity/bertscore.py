"""BERTScore: the tokens of two answers are matched greedily by the cosine of their vectors (Zhang et al. 2020).

Each answer is read alone, and its token vectors are kept as long as a pair needs them. As in the package
``bert-score`` 0.3.13 with its defaults: tokens such as [CLS] and [SEP] can be matched with but are not averaged over,
every other token weighs the same (no inverse document frequencies, which would make a score depend on its neighbours),
and nothing is rescaled with a baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qa_scoring.encoders.batching import TOKENS_PER_BATCH, token_batches
from qa_scoring.encoders.hub import cannot_load, check_usable, commit_of, longest_input
from qa_scoring.encoders.scorers import Keep, Pair, Progress, Scores, keep_nothing
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.extras import distribution_version
from qa_scoring.signature import Value

# Batches are sorted by length inside windows of so many tokens: most vectors are used and dropped within one.
_TOKENS_PER_WINDOW = 32 * TOKENS_PER_BATCH

# The layer that bert-score 0.3.13 reads of encoders (its model2layers), tuned on judgements of translations.
# fmt: off
TUNED_LAYERS = {
    "bert-base-uncased": 9, "bert-large-uncased": 18, "bert-base-cased-finetuned-mrpc": 9,
    "bert-base-multilingual-cased": 9, "bert-base-chinese": 8, "roberta-base": 10, "roberta-large": 17,
    "roberta-large-mnli": 19, "distilroberta-base": 5, "distilbert-base-uncased": 5,
    "distilbert-base-uncased-distilled-squad": 4, "distilbert-base-multilingual-cased": 5,
    "albert-base-v1": 10, "albert-large-v1": 17, "albert-xlarge-v1": 16, "albert-xxlarge-v1": 8,
    "albert-base-v2": 9, "albert-large-v2": 14, "albert-xlarge-v2": 13, "albert-xxlarge-v2": 8,
    "xlm-roberta-base": 9, "xlm-roberta-large": 17, "microsoft/mpnet-base": 8, "ProsusAI/finbert": 10,
    "allenai/scibert_scivocab_uncased": 8, "allenai/scibert_scivocab_cased": 9,
    "google/electra-small-discriminator": 11, "google/electra-base-discriminator": 9,
    "google/electra-large-discriminator": 14, "SpanBERT/spanbert-base-cased": 8, "SpanBERT/spanbert-large-cased": 17,
    "microsoft/deberta-base": 9, "microsoft/deberta-base-mnli": 9, "microsoft/deberta-large": 16,
    "microsoft/deberta-large-mnli": 18, "microsoft/deberta-xlarge": 18, "microsoft/deberta-xlarge-mnli": 40,
    "microsoft/deberta-v2-xlarge": 10, "microsoft/deberta-v2-xlarge-mnli": 17, "microsoft/deberta-v2-xxlarge": 21,
    "microsoft/deberta-v2-xxlarge-mnli": 22, "microsoft/deberta-v3-xsmall": 10, "microsoft/deberta-v3-small": 4,
    "microsoft/deberta-v3-base": 9, "microsoft/mdeberta-v3-base": 10, "microsoft/deberta-v3-large": 12,
    "princeton-nlp/unsup-simcse-bert-base-uncased": 10, "princeton-nlp/unsup-simcse-bert-large-uncased": 18,
    "princeton-nlp/unsup-simcse-roberta-base": 8, "princeton-nlp/unsup-simcse-roberta-large": 13,
    "princeton-nlp/sup-simcse-bert-base-uncased": 10, "princeton-nlp/sup-simcse-bert-large-uncased": 18,
    "princeton-nlp/sup-simcse-roberta-base": 10, "princeton-nlp/sup-simcse-roberta-large": 16,
    "dbmdz/bert-base-turkish-cased": 10, "dbmdz/distilbert-base-turkish-cased": 4,
}
# fmt: on
# Where the Hub has put models that had no organization when the table was made.
_ORGANIZATIONS_SINCE = ("google-bert", "FacebookAI", "distilbert", "albert")


def tuned_layer(model: str) -> int | None:
    """Return the layer that bert-score reads of a model.

    Args:
        model: Hub id or folder.

    Returns:
        Its number; None if the model is not in ``TUNED_LAYERS``.

    Example:
        >>> tuned_layer("FacebookAI/roberta-large"), tuned_layer("roberta-large"), tuned_layer("org/roberta-large")
        (17, 17, None)
    """
    organization, _, name = model.rpartition("/")
    return TUNED_LAYERS.get(name if organization in _ORGANIZATIONS_SINCE else model)


# What transformers 4 raises, beside OSError and ValueError, where a tokenizer's files are not there.
_WITHOUT_TOKENIZER = (TypeError, AttributeError, ImportError)


class TokenVectors(NamedTuple):
    """The tokens of one text, in one layer of a model.

    Args:
        unit: Shape (tokens, size), each row of length 1.
        counted: Shape (tokens,), whether a token counts; [CLS], [SEP] and the like do not.
    """

    unit: NDArray[np.float32]
    counted: NDArray[np.bool_]


def greedy_f1(prediction: TokenVectors, reference: TokenVectors) -> float:
    """Match every token with the nearest one of the other text, and take F1.

    Args:
        prediction: Its m tokens.
        reference: Its n tokens.

    Returns:
        F1 of precision (the mean of the best cosines over the tokens of the prediction) and recall (over those of the
        reference), both clipped to [0, 1] first; 0 where a text has no token that counts.

    Example:
        >>> north, east = np.eye(2, dtype=np.float32)
        >>> greedy_f1(
        ...     TokenVectors(np.array([north, east]), np.array([True, True])),
        ...     TokenVectors(np.array([north]), np.array([True])))
        0.6666666666666666

    Source:
        Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT, section 3, "BERTScore", without importance
        weights.
    """
    if not prediction.counted.any() or not reference.counted.any():
        return 0.0
    cosines = prediction.unit @ reference.unit.T
    precision, recall = np.clip(
        [
            cosines.max(axis=1)[prediction.counted].mean(dtype=np.float64),
            cosines.max(axis=0)[reference.counted].mean(dtype=np.float64),
        ],
        0.0,
        1.0,
    )
    return 0.0 if precision + recall == 0.0 else float(2.0 * precision * recall / (precision + recall))


class BERTScoreScorer:
    """Scores pairs by greedy matching of token vectors; every distinct text is read once.

    Args:
        model: A transformers encoder in evaluation mode that ends with the layer to read.
        tokenizer: Its tokenizer.
        max_length: Longest text, in tokens; the rest is cut.
        batch_size: Texts per batch; None fills batches by tokens.
        facts: What the signature says of model, revision and layer.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, max_length: int, batch_size: int | None, facts: Mapping[str, Value]
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._batch_size = batch_size
        self.facts: Mapping[str, Value] = {
            "scorer": "bertscore",
            **facts,
            "dtype": str(model.dtype).removeprefix("torch."),
            "activation": "f1-clipped-at-0",
            "max_length": max_length,
        }

    def score(self, pairs: Sequence[Pair], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score pairs as soon as both sides have been read, and forget vectors that no later pair needs."""
        position: dict[str, int] = {}
        rows = np.array([[position.setdefault(text, len(position)) for text in pair] for pair in pairs])
        tokens, truncated = self._tokens(list(position))
        batches = list(self._batches([len(ids) for ids in tokens]))
        read_in = np.empty(len(tokens), dtype=np.int64)  # batch of each text
        for number, batch in enumerate(batches):
            read_in[batch] = number
        ready = read_in[rows].max(axis=1)  # batch after which a pair can be scored
        needed_until = np.zeros(len(tokens), dtype=np.int64)
        np.maximum.at(needed_until, rows, ready[:, np.newaxis])
        pairs_of, texts_of = _members(ready, len(batches)), _members(needed_until, len(batches))
        vectors: dict[int, TokenVectors] = {}
        scores, cut = np.empty(len(pairs)), truncated[rows].any(axis=1)
        for number, batch in enumerate(progress(batches)):
            vectors.update(zip(batch, self._read([tokens[text] for text in batch]), strict=True))
            for row in pairs_of[number]:
                first, second = rows[row].tolist()
                scores[row] = greedy_f1(vectors[first], vectors[second])
            for text in texts_of[number]:
                del vectors[text]
            keep(pairs_of[number], Scores(scores[pairs_of[number]], cut[pairs_of[number]]))
        return Scores(scores, cut)

    def _tokens(self, texts: list[str]) -> tuple[list[list[int]], NDArray[np.bool_]]:
        """Return the token numbers of texts, cut to what the model can read, and which were cut."""

        def numbers(texts: list[str], max_length: int) -> list[list[int]]:
            tokens: list[list[int]] = self._tokenizer(texts, truncation=True, max_length=max_length)["input_ids"]
            return tokens

        stripped = [text.strip() for text in texts]
        tokens = numbers(stripped, self._max_length + 1)
        truncated = np.array([len(ids) > self._max_length for ids in tokens])
        for row in np.flatnonzero(truncated).tolist():
            (tokens[row],) = numbers([stripped[row]], self._max_length)
        return tokens, truncated

    def _batches(self, lengths: list[int]) -> Iterator[list[int]]:
        window = np.cumsum(lengths) // _TOKENS_PER_WINDOW
        for texts in np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(window)) + 1):
            of_window = [lengths[text] for text in texts]
            for batch in token_batches(of_window, self._batch_size, device=self._model.device.type):
                yield texts[batch].tolist()

    def _read(self, batch: list[list[int]]) -> Iterator[TokenVectors]:
        """Yield the vectors of texts, given as token numbers."""
        import torch

        tokens = [torch.tensor(ids) for ids in batch]
        padded = torch.nn.utils.rnn.pad_sequence(
            tokens, batch_first=True, padding_value=self._tokenizer.pad_token_id or 0
        )
        lengths = torch.tensor([len(ids) for ids in batch])
        mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
        with torch.inference_mode():
            hidden = self._model(input_ids=padded.to(self._model.device), attention_mask=mask.to(self._model.device))[0]
            unit = torch.nn.functional.normalize(hidden.float(), dim=-1).cpu().numpy()
        marks = [mark for mark in (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id) if mark is not None]
        for vectors, ids in zip(unit, batch, strict=True):
            yield TokenVectors(vectors[: len(ids)], ~np.isin(ids, marks))


def _members(group: NDArray[np.int64], count: int) -> list[list[int]]:
    """Return the positions that have each of the values 0, 1, ... count - 1."""
    order = np.argsort(group, kind="stable")
    return [part.tolist() for part in np.split(order, np.searchsorted(group[order], np.arange(1, count)))]


def load_bertscore(
    model: str,
    *,
    revision: str | None,
    layer: int | None,
    batch_size: int | None,
    device: str,
    dtype: Any,
    max_length: int | None,
) -> BERTScoreScorer:
    """Load an encoder from the Hub or a folder, up to one layer.

    Args:
        model: Hub id or folder.
        revision: Branch, tag or commit on the Hub.
        layer: The layer whose vectors are matched, from 0 (the embeddings); None takes the one of ``TUNED_LAYERS``.
        batch_size: Texts per batch; None fills batches by tokens.
        device: Where it runs.
        dtype: The torch type of its weights.
        max_length: Longest text in tokens; None takes the model's own.

    Returns:
        The scorer.

    Raises:
        InputError: The model cannot be loaded or is no encoder, or it has no such layer.
    """
    from safetensors import SafetensorError
    from transformers import AutoModel, AutoTokenizer

    network: Any
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(model, revision=revision, trust_remote_code=False)
        network, loaded = AutoModel.from_pretrained(
            model,
            revision=revision,
            trust_remote_code=False,
            use_safetensors=True,  # never a pickle
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError, *_WITHOUT_TOKENIZER) as error:
        raise cannot_load(model, revision, error) from error
    lacking = sorted(name for name in loaded["missing_keys"] if "pooler" not in name)
    if lacking:
        raise InputError(f"The weights of {model} lack {lacking[0]}: they are not those of a {type(network).__name__}.")
    check_usable(model, network, tokenizer, max_length)
    layer = _keep_layers(model, network, layer)
    _check_reads(model, network, layer)
    if network.config.model_type == "roberta":
        _prefix_space(tokenizer)
    positions = longest_input(network) or getattr(network.config, "max_position_embeddings", 512)
    return BERTScoreScorer(
        network.eval().to(device=device, dtype=dtype),
        tokenizer,
        max_length=max_length or int(min(tokenizer.model_max_length, positions)),
        batch_size=batch_size,
        facts={
            "model": model,
            "revision": commit_of(model, revision, organization=None),
            "layer": layer,
            "transformers": distribution_version("transformers"),
        },
    )


def _keep_layers(model: str, network: Any, layer: int | None) -> int:
    """Drop the layers above the one to read, and return its number."""
    from torch.nn import ModuleList

    config = network.config
    count = getattr(config, "num_hidden_layers", None)
    stacks = [module for module in network.modules() if isinstance(module, ModuleList) and len(module) == count]
    shared = config.model_type == "albert"  # one layer, used again and again
    if config.is_encoder_decoder or not isinstance(count, int) or not (stacks or shared):
        raise _no_encoder(model, network)
    layer = tuned_layer(model) if layer is None else layer
    if layer is None:
        raise InputError(
            f"BERTScore matches the vectors of one layer, and no layer is known to suit {model}: pass layer=... from 0 "
            f"to {count}. The last, {count}, is best for models trained on similarity (Risch et al. 2021)."
        )
    if layer > count:
        raise parameter_error("layer", f"from 0 to {count}, the layers of {model}", layer)
    if shared:
        config.num_hidden_layers = layer
    else:
        del stacks[0][layer:]
    return layer


def _check_reads(model: str, network: Any, layer: int) -> None:
    import torch

    tokens = torch.ones((1, 2), dtype=torch.long)
    try:
        with torch.inference_mode():
            network.eval()(input_ids=tokens, attention_mask=tokens)
    except Exception as error:  # whatever the code of a model that needs more than text, or more layers, raises
        raise _no_encoder(model, network, f" up to layer {layer}") from error


def _no_encoder(model: str, network: Any, part: str = "") -> InputError:
    return InputError(
        f"{model} is a {type(network).__name__}, which cannot be read{part} as an encoder of text. Choose an encoder "
        f"such as BERT, RoBERTa, XLM-R, MPNet or DeBERTa."
    )


def _prefix_space(tokenizer: Any) -> None:
    """Make RoBERTa read the first word as it reads words inside a text, as bert-score does."""
    from tokenizers.pre_tokenizers import ByteLevel

    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and isinstance(backend.pre_tokenizer, ByteLevel):
        backend.pre_tokenizer.add_prefix_space = True
