"""``qa-scoring predict``: answer the questions of a file with a model for extractive question answering."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from qa_scoring.extractive.examples import Examples
    from qa_scoring.extractive.spans import Reading


@click.command(name="predict")
@click.argument("model")
@click.argument("data")
@click.option("--output-dir", "-o", required=True, metavar="DIR", help="Where the files go.")
@click.option("--tokenizer", metavar="NAME", help="Hub id or folder.  [default: the model's]")
@click.option("--revision", metavar="REVISION", help="Of a model on the Hub: branch, tag or commit.")
@click.option("--device", metavar="NAME", help="cuda, mps or cpu; default: the first that is there.")
@click.option("--dtype", metavar="NAME", help="float32 (default), bfloat16 or float16.")
@click.option("--batch-size", type=int, metavar="N", help="Windows per batch; default: by tokens.")
@click.option(
    "--max-seq-len", type=int, metavar="N", help="Tokens of a window.  [default: 384, or what the model reads]"
)
@click.option(
    "--doc-stride", type=int, metavar="N", help="Tokens that windows share.  [default: 128, or half a window]"
)
@click.option("--max-question-len", type=int, default=64, show_default=True, metavar="N", help="Tokens of a question.")
@click.option("--max-answer-len", type=int, default=15, show_default=True, metavar="N", help="Tokens of an answer.")
@click.option("--n-best", type=int, default=20, show_default=True, metavar="N", help="Spans in nbest_predictions.json.")
@click.option("--null-threshold", type=float, metavar="TAU", help="No answer where the null odds are above TAU.")
@click.option(
    "--handle-impossible-answer/--no-handle-impossible-answer",
    default=None,
    help='Whether "no answer" is an answer.  [default: if DATA has a question without one]',
)
@click.option(
    "--align-to-words/--no-align-to-words",
    default=None,
    help="Whether answers are whole words.  [default: where words have spaces between them]",
)
def command(
    model: str,
    data: str,
    output_dir: str,
    tokenizer: str | None,
    revision: str | None,
    device: str | None,
    dtype: str | None,
    batch_size: int | None,
    max_seq_len: int | None,
    doc_stride: int | None,
    max_question_len: int,
    max_answer_len: int,
    n_best: int,
    null_threshold: float | None,
    handle_impossible_answer: bool | None,
    align_to_words: bool | None,
) -> None:
    """Answer the questions in DATA with MODEL, a Hub id or a folder.

    DATA: SQuAD JSON, or a table (CSV, TSV, JSON Lines, Parquet) with id, question and context. Writes
    predictions.json, nbest_predictions.json and null_odds.json, as the SQuAD script does.
    """
    from tqdm import tqdm

    from qa_scoring.errors import InputError
    from qa_scoring.extractive.examples import read_example_file
    from qa_scoring.extractive.loading import load_reader
    from qa_scoring.extractive.prediction_files import NULL_ODDS, PREDICTIONS, prepare_folder, write_predictions
    from qa_scoring.extractive.spans import AnswerSettings

    examples = read_example_file(data)
    if handle_impossible_answer is None:
        handle_impossible_answer = _has_unanswerable(examples)
    settings = AnswerSettings(
        n_best=n_best,
        max_answer_len=max_answer_len,
        handle_impossible_answer=handle_impossible_answer,
        null_threshold=null_threshold,
        align_to_words=align_to_words,
    )
    folder = prepare_folder(output_dir)
    reader = load_reader(model, tokenizer=tokenizer, revision=revision, device=device, dtype=dtype)
    readings: list[Reading] = []
    start = time.perf_counter()
    with tqdm(total=len(examples), desc="working", file=sys.stderr, disable=None, leave=False) as bar:
        try:
            for reading in reader.read(
                examples.questions,
                examples.contexts,
                ids=examples.ids,
                settings=settings,
                max_seq_len=max_seq_len,
                doc_stride=doc_stride,
                max_question_len=max_question_len,
                batch_size=batch_size,
                done=bar.update,
            ):
                readings.append(reading)
        except BaseException as error:  # an interrupt or a full device must not lose answers either
            if not readings:
                raise
            write_predictions(folder, _records(examples.ids, readings))
            kept = f"The first {len(readings)} of {len(examples)} questions were answered and are in {folder}."
            if isinstance(error, InputError):
                raise InputError(f"{error} {kept}") from error
            bar.close()
            click.echo(kept, err=True)
            raise
    write_predictions(folder, _records(examples.ids, readings))
    seconds = time.perf_counter() - start
    click.echo(f"{len(examples)} questions in {seconds:.1f} s ({len(examples) / seconds:.1f} per second): {folder}")
    if examples.answers is not None:
        files = [shlex.quote(str(path)) for path in (Path(data), folder / PREDICTIONS, folder / NULL_ODDS)]
        # the answers stand as they are written: no second threshold
        click.echo("Score: qa-scoring squad2 {} {} --na-prob-file {} --na-prob-thresh inf".format(*files))


def _has_unanswerable(examples: Examples) -> bool:
    from qa_scoring.records import read_references

    return examples.answers is not None and not all(read_references(examples.answers).answers)


def _records(ids: list[str], readings: list[Reading]) -> list[dict[str, Any]]:
    """Return one record per reading; the ids may be more."""
    return [{"id": key, **reading.dicts()[0]} for key, reading in zip(ids, readings, strict=False)]
