"""The command line: ``qa-scoring COMMAND``, one file per command.

Command modules import nothing heavy at the top: ``qa-scoring --help`` imports all of them.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from qa_scoring import __version__
from qa_scoring.errors import QAScoringError

_COMMANDS = (
    "score",
    "compare",
    "squad2",
    "predict",
    "tune-threshold",
    "plot",
    "agreement",
    "similarity",
    "judge",
    "languages",
    "publish",
    "demo",
)


class BadInput(click.ClickException):
    """One line on standard error, exit code 2."""

    exit_code = 2


class _Commands(click.Group):
    """A group whose commands are the functions ``command`` of the modules of their names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"qa_scoring.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except QAScoringError as error:
            raise BadInput(" ".join(str(error).split())) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qa-scoring")
def main() -> None:
    """Score answers of question-answering systems."""
