"""What is changed in other libraries, and why: the only file that knows their versions.

``enable_question_answering`` changes three things, once, and ``disable_question_answering`` takes them back. Loading
a metric of this package calls it. Every other task stays as it is.

* transformers 5.3 removed the task ``question-answering``: it is registered again, with our pipeline, through
  transformers' registry of pipelines. Where transformers still has its own (below 5.3), that one stays. Can go when
  transformers 4 and 5 are no longer what users have.
* ``evaluate.evaluator("question-answering")`` gives our evaluator: the one of evaluate (0.4.6 and before) passes the
  confidence of the returned answer as the probability that there is none, and never passes questions to the metric.
  Can go when evaluate does both.
* ``Evaluator.prepare_pipeline`` of evaluate looks for ``transformers.TFPreTrainedModel``, which transformers 5 does
  not have, whenever it is given a pipeline, of any task: evaluate's own name ``transformers`` answers with a class
  that has no instances. Nothing changes in transformers itself. Can go when evaluate no longer looks for it.

Two functions change gradio (6.31 and before), for the demo:

* ``separate_uploads``: equal files that two people upload lie in one place there, and who reads first and deletes the
  file takes it from the other. Can go when gradio gives each its own.
* ``delete_broken_uploads``: what came of an upload whose sender went away stays, as long as the app runs and after. Can
  go when gradio deletes it, as it does with uploads that are too large.
"""

from __future__ import annotations

import functools
import secrets
import types
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

TASK = "question-answering"
DEFAULT_MODEL = ("distilbert/distilbert-base-cased-distilled-squad", "564e9b5")
"""transformers' model for the task where none is named, and its revision."""

_undo: list[Callable[[], None]] = []


def enable_question_answering(pipeline_class: type, evaluator_class: type) -> None:
    """Make the task work again in transformers and evaluate; a second call changes nothing.

    Args:
        pipeline_class: The pipeline that transformers lacks.
        evaluator_class: The evaluator that evaluate gives.
    """
    if _undo:
        return
    import transformers
    from transformers import AutoModelForQuestionAnswering, pipelines

    registry = pipelines.PIPELINE_REGISTRY
    if TASK not in registry.supported_tasks:
        removed = getattr(pipelines, "REMOVED_TASKS", {})
        reason = removed.pop(TASK, None)
        registry.register_pipeline(
            TASK,
            pipeline_class,
            pt_model=AutoModelForQuestionAnswering,
            default={"model": DEFAULT_MODEL},
            type="text",
        )
        del pipeline_class._registered_impl  # type: ignore[attr-defined]  # else it is saved as code of the model

        def unregister() -> None:
            del registry.supported_tasks[TASK]
            if reason is not None:
                removed[TASK] = reason

        _undo.append(unregister)

    tasks = import_module("evaluate.evaluator").SUPPORTED_EVALUATOR_TASKS  # evaluate.evaluator is a function
    replaced = tasks[TASK]
    tasks[TASK] = {**replaced, "implementation": evaluator_class}
    _undo.append(lambda: tasks.__setitem__(TASK, replaced))

    if not hasattr(transformers, "TFPreTrainedModel"):
        base: Any = import_module("evaluate.evaluator.base")
        base.transformers = _WithoutTensorFlow(transformers)
        _undo.append(lambda: setattr(base, "transformers", transformers))


def disable_question_answering() -> None:
    """Take everything back that ``enable_question_answering`` changed."""
    while _undo:
        _undo.pop()()


class _WithoutTensorFlow(types.ModuleType):
    """The module transformers, with a class of TensorFlow models that has no instances."""

    class TFPreTrainedModel:
        pass

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def separate_uploads() -> None:
    """Let gradio keep every uploaded file in a folder of its own; a second call changes nothing."""
    from gradio import route_utils

    uploaded = route_utils.GradioUploadFile
    if "separate" in vars(uploaded):
        return

    class SeparateUpload(uploaded):  # type: ignore[misc, valid-type]
        separate = True

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.sha.update(secrets.token_bytes())  # of its content, after which gradio names the folder

    route_utils.GradioUploadFile = SeparateUpload


def delete_broken_uploads() -> None:
    """Make gradio delete what came of an upload that broke off; a second call changes nothing."""
    from gradio.route_utils import GradioMultiPartParser as Parser

    parse = Parser.parse
    if hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    async def parse_or_delete(self: Any) -> Any:
        try:
            return await parse(self)
        except BaseException:  # a request that is cancelled, too
            for file in self._files_to_close_on_error:
                file.close()
                Path(file.name).unlink(missing_ok=True)
            raise

    Parser.parse = parse_or_delete
