"""A page that is served on this machine, for the tests of the wiring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("gradio")


class Served(NamedTuple):
    connect: Callable[[], Any]  # a client with a session of its own
    uploads: Path  # where gradio keeps files


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    from gradio_client import Client

    from qa_scoring.app.page import launch

    folder = tmp_path_factory.mktemp("gradio")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder))
        app, url, _ = launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
        downloads = str(tmp_path_factory.mktemp("downloads"))
        yield Served(lambda: Client(url, verbose=False, download_files=downloads), folder)
        app.blocks.close(verbose=False) if hasattr(app, "blocks") else None
