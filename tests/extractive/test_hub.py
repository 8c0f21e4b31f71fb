"""Readers from the Hub: the stand-in on the loopback serves a tiny model to a process with a fresh cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import REPOSITORY
from tests.extractive.conftest import CONTEXTS, QUESTION
from tests.similarity.test_hub import NEW, Hub

PROGRAM = """
import json, sys
import datasets, evaluate, transformers
import qa_scoring
from qa_scoring.errors import InputError
from qa_scoring.extractive.loading import load_reader

context, question = json.loads(sys.argv[1])
metric = evaluate.load(qa_scoring.metric_path("m2qa_squad_v2"), "en")
reader = load_reader("org/reader", revision="v1", device="cpu")
answers = [next(reader.read([question], [context])).answers[0].text]
answers.append(transformers.pipeline("question-answering", model="org/reader", device=-1)(question, context)["answer"])
data = datasets.Dataset.from_list([{"id": "1", "question": question, "context": context, "answers": ["Warsaw"]}])
result = evaluate.evaluator("question-answering").compute("org/reader", data, metric=metric, return_predictions=True)
answers.append(result["predictions"][0]["answer"])
errors = []
for name, revision in (("org/nothing", None), ("org/reader", "v9")):
    try:
        load_reader(name, revision=revision)
    except InputError as error:
        errors.append(str(error))
print(json.dumps({"answers": answers, "errors": errors}))
"""


def test_by_its_id(reader_folder: Callable[[str], Path], make_reader: Callable[[str], Any], tmp_path: Path) -> None:
    asked = [CONTEXTS["en"], QUESTION]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE"))}
    with Hub() as hub:
        hub.publish("org/reader", NEW, reader_folder("bert"), "main", "v1")
        thread = threading.Thread(target=hub.serve_forever, args=(0.05,))
        thread.start()
        environment |= {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(REPOSITORY),
        }
        command = [sys.executable, "-c", PROGRAM, json.dumps(asked)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        hub.shutdown()
        thread.join()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    [reading] = make_reader("bert").read([QUESTION], [CONTEXTS["en"]])
    assert found["answers"] == [reading.answers[0].text] * 3
    for error, name in zip(found["errors"], ("'org/nothing'", "'org/reader' at revision 'v9'"), strict=True):
        assert error.startswith(f"The model {name} cannot be loaded")
    assert "model.safetensors" in hub.sent()
