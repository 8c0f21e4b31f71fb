"""``qa-scoring publish``: a metric, or the whole demo, as a Space of the Hub."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from qa_scoring import METRICS


@click.command(name="publish")
@click.argument("metric", type=click.Choice([*METRICS, "demo"]))
@click.option("--to", metavar="ORG/NAME", help="Push it to this Space of the Hub, which is made if it is not there.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Keep what was assembled in a new folder.")
@click.option("--private", is_flag=True, help="The Space is a private one.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@click.option("--wheel", type=click.Path(path_type=Path), help="A wheel of qa-scoring; default: one of what runs here.")
def command(metric: str, to: str | None, out: Path | None, private: bool, force: bool, wheel: Path | None) -> None:
    """Assemble a Space that stands on its own, and push it: METRIC is a metric, or "demo".

    A Space for evaluate.load("ORG/NAME") and its page: module, card, app, a wheel of this package with its embedded
    weights, and requirements pinned to the versions installed here. The login is that of huggingface_hub: 'hf auth
    login', or HF_TOKEN. --out without --to pushes nothing.
    """
    from qa_scoring.errors import InputError
    from qa_scoring.publishing import DEMO, assemble, check_destination, check_login, push

    if to is None and out is None:
        raise InputError("Say where: --to ORG/NAME pushes to the Hub, --out DIR only assembles.")
    if to is not None:
        check_destination(metric, to)
        check_login()
    with tempfile.TemporaryDirectory() as temporary:
        folder = out or Path(temporary) / "space"
        files = assemble(metric, folder, to=to, private=private, force=force, wheel=wheel)
        size = sum((folder / file).stat().st_size for file in files)
        click.echo(f"Assembled {len(files)} files, {size / 1e6:.1f} MB" + (f", in {out}:" if out else ":"))
        shown = [file for file in files if "/" not in file]
        for file in shown:
            click.echo(f"  {file}")
        if len(shown) < len(files):
            click.echo(f"  and {len(files) - len(shown)} files of the package")
        if to is not None:
            pushed = push(folder, files, to, private=private)
            click.echo(f"Pushed to {pushed.address}")
            if len(pushed.new) < len(files) or pushed.others:  # the Space was there already
                for what, names in zip(("new", "changed", "unchanged", "left as they were"), pushed[1:], strict=True):
                    click.echo(f"  {what}: {_shortened(names)}")
            if metric != DEMO:
                click.echo(f'Load it with evaluate.load("{to}")')


def _shortened(names: tuple[str, ...], most: int = 8) -> str:
    """Return the first names, and how many there are beside them."""
    if not names:
        return "none"
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
