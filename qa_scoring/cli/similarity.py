"""``qa-scoring similarity``: train the similarity model."""

from __future__ import annotations

from pathlib import Path

import click

from qa_scoring.cli.progress import progress_bar


@click.group(name="similarity")
def command() -> None:
    """Train the model of semantic answer similarity."""


@command.command(name="train")
@click.argument("config", metavar="CONFIG.toml")
@click.option("--data", metavar="DIR", help="Where the sources' paths start.  [default: CONFIG.toml's folder]")
@click.option("--out", metavar="DIR", help="Where the files go.  [default: a folder with the name in CONFIG.toml]")
@click.option("--device", default="cpu", show_default=True, help="A device of torch, such as cuda.")
def train_command(config: str, data: str | None, out: str | None, device: str) -> None:
    """Train a head over the base model on the pairs that CONFIG.toml describes.

    Writes head.safetensors (the folder is then a model for sas_metric), training_log.jsonl (loss and held-out
    Pearson) and config.toml (with all defaults).
    """
    from qa_scoring.similarity.training_config import read_config

    settings = read_config(config)
    from qa_scoring.similarity.training import train  # imports torch: after the configuration is known to be right

    result = train(
        settings,
        Path(config).parent if data is None else data,
        settings.name if out is None else out,
        device=device,
        progress=progress_bar,
    )
    click.echo(f"Model: {result.head}")
    click.echo(f"Log: {result.log}")
    click.echo(f"Configuration: {result.config}")
