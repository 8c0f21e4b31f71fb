"""What the tests share: the data folder, the metric as users load it, and small helpers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("QA_SCORING_DATA", REPOSITORY.parent / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what Hugging Face caches in a folder of this run, and never ask a hub."""
    # datasets and evaluate read these when they are imported, which is after this fixture only in subprocesses
    os.environ.setdefault("HF_HOME", str(tmp_path_factory.mktemp("hf_home")))
    os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session", autouse=True)
def _offline(_own_cache: None) -> Iterator[None]:
    """Never ask a hub, even where a test file was the first to import the library that does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield


def data_path(*parts: str) -> Path:
    """Return a path in the data folder, or skip the test that asks for it."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the data folder (set QA_SCORING_DATA)")
    return path


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def load_metric() -> Callable[..., Any]:
    """Load m2qa_squad_v2 through ``evaluate.load``, as users do."""
    import evaluate

    import qa_scoring

    return lambda *args, **options: evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"), *args, **options)
