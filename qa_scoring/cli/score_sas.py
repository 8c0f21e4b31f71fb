"""``qa-scoring score sas_metric``."""

from __future__ import annotations

from typing import Any

import click

from qa_scoring.cli.score import run, shared_options


@click.command(name="sas_metric")
@shared_options
@click.option("--scorer", default="cross-encoder", show_default=True, help="cross-encoder, bi-encoder or bertscore.")
@click.option("--model", metavar="NAME", help="Name, Hub id or local folder.  [default: the embedded one]")
@click.option("--revision", metavar="REVISION", help="Branch, tag or commit on the Hub.")
@click.option("--layer", type=int, metavar="N", help="Layer that bertscore reads; default: known for some models.")
@click.option("--language", "-l", default="en", show_default=True, help="Language of the answers.")
@click.option("--aggregate", default="max", show_default=True, help="Over several references: max or mean.")
@click.option("--symmetric", is_flag=True, help="Average both orders of a pair.")
@click.option("--exact-match-is-one", is_flag=True, help="Identical strings have similarity 1.")
@click.option("--activation", metavar="NAME", help="sigmoid or identity, in place of the model's own.")
@click.option("--label", metavar="LABEL", help="Name or index of the label that scores, of a model with several.")
@click.option("--batch-size", type=int, metavar="N", help="Pairs per batch; default: by tokens.")
@click.option("--device", metavar="NAME", help="cuda, mps or cpu; default: the first that is there.")
@click.option("--dtype", metavar="NAME", help="float32 (default), bfloat16, float16; int8 with onnx.")
@click.option("--backend", default="torch", show_default=True, help="torch or onnx (cross-encoders on the CPU).")
@click.option("--max-length", type=int, metavar="N", help="Longest input in tokens; default: the model's own.")
@click.option("--cache-dir", metavar="FOLDER", help="Keep the scores of pairs here, and read them from here.")
def command(predictions: str, references: str, **options: Any) -> None:
    """Semantic Answer Similarity: closeness in meaning, from 0 to 1."""
    from qa_scoring import files
    from qa_scoring.errors import InputError
    from qa_scoring.sas import score_sas

    if predictions == references == files.STANDARD_INPUT:
        raise InputError("Only one of the files can be standard input ('-').")
    run(score_sas, predictions, references, **options)
