"""Similarity models that have a name here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedModel:
    """A model that has a short name here.

    Args:
        scorer: Which scorer reads it.
        hub_id: Its name on the Hub; None for the embedded one.
        languages: Registry codes it is meant for; empty for any.
        layer: Which layer BERTScore reads.
    """

    scorer: str
    hub_id: str | None
    languages: tuple[str, ...]
    layer: int | None = None


NAMED_MODELS = {
    "embedded": NamedModel("cross-encoder", None, ("en",)),
    "stsb-roberta-large": NamedModel("cross-encoder", "cross-encoder/stsb-roberta-large", ("en",)),
    "gbert-large-sts": NamedModel("cross-encoder", "deepset/gbert-large-sts", ("de",)),
    "multilingual": NamedModel("bi-encoder", "sentence-transformers/paraphrase-multilingual-mpnet-base-v2", ()),
    # "BERTScore vanilla" and "BERTScore trained" of Risch et al. 2021, section 3: the README says what of it is known.
    "bertscore-vanilla": NamedModel("bertscore", "google-bert/bert-base-uncased", ("en",), layer=2),
    "bertscore-trained": NamedModel(
        "bertscore", "T-Systems-onsite/cross-en-de-roberta-sentence-transformer", ("en", "de"), layer=12
    ),
}
