"""``qa-scoring judge``: data for judges, their training, calibration and measuring."""

from __future__ import annotations

from pathlib import Path

import click

from qa_scoring.cli.judge_data import data_command
from qa_scoring.cli.judge_measure import calibrate_command, contrast_command, evaluate_command, systems_command
from qa_scoring.cli.progress import progress_bar


@click.group(name="judge")
def command() -> None:
    """Build data for judges of answers (AVA), train, calibrate and measure them."""


for _part in (data_command, calibrate_command, evaluate_command, systems_command, contrast_command):
    command.add_command(_part)


@command.command(name="train")
@click.argument("config", metavar="CONFIG.toml")
@click.option("--data", metavar="DIR", help="Where the sources' paths start.  [default: CONFIG.toml's folder]")
@click.option("--out", metavar="DIR", help="Where the judge goes.  [default: a folder with the name in CONFIG.toml]")
@click.option("--device", help="cpu, cuda or mps.  [default: what is there]")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint of a run that was interrupted.")
@click.option("--keep-checkpoints", is_flag=True, help="Keep the Trainer's checkpoints, which hold files of torch.")
def train_command(
    config: str, data: str | None, out: str | None, device: str | None, resume: bool, keep_checkpoints: bool
) -> None:
    """Train a judge on the answers that CONFIG.toml describes.

    Writes config.json, model.safetensors and the tokenizer (a linear judge: judge.json; a matching judge:
    judge_head.safetensors), training_log.jsonl (loss, and
    F1 and accuracy on held-out questions) and config.toml (with all defaults).
    """
    from qa_scoring.config_files import read_toml
    from qa_scoring.judge.training_config import read_judge_config

    where = Path(config).parent if data is None else Path(data)
    if read_toml(Path(config)).get("family") == "matching":
        _train_matching(config, where, out, device, resume or keep_checkpoints)
        return
    settings = read_judge_config(config)
    from qa_scoring.judge.training import train_judge

    result = train_judge(
        settings,
        where,
        settings.name if out is None else out,
        device=device,
        resume=resume,
        keep_checkpoints=keep_checkpoints,
        progress=progress_bar,
    )
    _say(result.folder, result.log, result.config)


def _train_matching(config: str, data: Path, out: str | None, device: str | None, checkpoints: bool) -> None:
    from qa_scoring.errors import InputError
    from qa_scoring.judge.matching_training import read_matching_config, train_matching

    if checkpoints:
        raise InputError("A matching judge is trained in minutes and keeps no checkpoints: leave --resume out.")
    settings = read_matching_config(config)
    result = train_matching(settings, data, settings.name if out is None else out, device=device, progress=progress_bar)
    _say(result.folder, result.log, result.config)


def _say(folder: Path, log: Path, config: Path) -> None:
    click.echo(f"Judge: {folder}")
    click.echo(f"Log: {log}")
    click.echo(f"Configuration: {config}")
