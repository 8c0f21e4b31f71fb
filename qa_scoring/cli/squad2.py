"""``qa-scoring squad2``: a drop-in for the official SQuAD 2.0 script and for M2QA's variant of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command(name="squad2")
@click.argument("data_file", metavar="data.json")
@click.argument("prediction_file", metavar="pred.json")
@click.option("--out-file", "-o", metavar="eval.json", help="Write the figures to a file (default: standard output).")
@click.option("--na-prob-file", "-n", metavar="na_prob.json", help="Model estimates of probability of no answer.")
@click.option(
    "--na-prob-thresh",
    "-t",
    type=float,
    default=1.0,
    show_default=True,
    help='Predict "" if the no-answer probability exceeds this.',
)
@click.option("--out-image-dir", "-p", metavar="DIR", help="Save curves and histograms to a folder.")
@click.option("--verbose", "-v", is_flag=True, help="Print the signature to standard error.")
@click.option("--language", "-l", default="english", show_default=True, help="Language of the text, with -w.")
@click.option("--use-word-tokenizer", "-w", is_flag=True, help="Use M2QA's word tokenizer for the language.")
@click.option("--missing", type=click.Choice(["error", "score_zero"]), default="error", show_default=True)
def command(
    data_file: str,
    prediction_file: str,
    out_file: str | None,
    na_prob_file: str | None,
    na_prob_thresh: float,
    out_image_dir: str | None,
    verbose: bool,
    language: str,
    use_word_tokenizer: bool,
    missing: Any,
) -> None:
    """Evaluate SQuAD 2.0 predictions: the official script's arguments, keys and values."""
    from qa_scoring import files
    from qa_scoring.cli.progress import progress_bar
    from qa_scoring.errors import InputError
    from qa_scoring.multilingual_squad import PERCENT, precision_recall_curves, score_multilingual_squad
    from qa_scoring.records import read_predictions, with_no_answer_values

    references = files.read_reference_file(data_file)
    predicted = read_predictions(files.read_prediction_file(prediction_file))
    if predicted.ids is None:
        raise InputError(f"{prediction_file} must be a JSON object from id to text.")
    # Without a file of probabilities the script takes 0.0 for every question.
    values = files.read_no_answer_file(na_prob_file) if na_prob_file else dict.fromkeys(predicted.ids, 0.0)
    scored = score_multilingual_squad(
        with_no_answer_values(predicted, values),
        references,
        language=language if use_word_tokenizer else None,
        scheme="m2qa" if use_word_tokenizer else "squad",
        no_answer_threshold=na_prob_thresh,
        missing=missing,
        progress=progress_bar,
    )
    # The script's keys: those of subsets without questions, and of probabilities that were not given, are absent.
    figures = {
        key: value
        for key, value in scored.result.items()
        if not (key.startswith("HasAns_") and not scored.result["HasAns_total"])
        and not (key.startswith("NoAns_") and not scored.result["NoAns_total"])
        and not (key.startswith("best_") and na_prob_file is None)
    }
    if na_prob_file is not None and out_image_dir is not None:
        from qa_scoring.report.plots import save_plots

        save_plots(scored.rows, out_image_dir)
        if scored.rows.has_answer.any():
            for name, curve in precision_recall_curves(scored.rows).items():
                figures[f"pr_{name}_ap"] = PERCENT * curve.average_precision
    if out_file is None:
        click.echo(json.dumps(figures, indent=2))
    else:
        try:
            Path(out_file).write_text(json.dumps(figures), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{out_file} cannot be written: {error.strerror or error}.") from error
    if verbose:
        click.echo(f"signature: {scored.signature}", err=True)
