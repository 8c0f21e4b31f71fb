"""AVA, a learned judge of answers (Vu & Moschitti 2021).

The maths is in ``qa_scoring.ava``; this file holds documentation, features and one call.
"""

import evaluate

import qa_scoring.ava
import qa_scoring.hf.metric
import qa_scoring.rows

_DESCRIPTION = """\
AVA: is an answer correct, given the question and one or more references? A learned judge gives the probability, and
the share of answers judged correct estimates the accuracy of the system. A judge for English ships with the package;
judges that you train (`qa-scoring judge train`) serve as well, from the Hub or a local folder.
"""

_CITATION = """\
@inproceedings{vu-moschitti-2021-ava,
  title = {{AVA}: an Automatic e{V}aluation Approach for Question Answering Systems},
  author = {Vu, Thuy and Moschitti, Alessandro},
  booktitle = {Proceedings of the 2021 Conference of the North American Chapter of the Association for Computational
    Linguistics: Human Language Technologies},
  year = {2021}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n predictions: records with 'id' and 'prediction_text', n strings, or a mapping from id to string.
        The empty string says that there is no answer.
    references: n references: records with 'id', 'answers' ({'text': [...]} or a list of {'text': ...}) and, where there
        is no 'questions', 'question'; n strings, n lists of strings, a mapping by id, or a whole SQuAD data set. No
        answers: an unanswerable question.
    questions: n questions, one per reference, or a mapping by id; default: those inside the references.
    model (str): 'embedded' (English), a Hub id, or the folder of a judge. Default: the configuration the metric was
        loaded with, else the embedded one.
    revision (str): branch, tag or commit on the Hub.
    threshold (float): least probability of a correct answer, from 0 to 1; default: the judge's own.
    aggregate (str): over several references: 'mean' (default, the paper) or 'max' of the probabilities; without effect
        for judges that read all references together, such as the embedded one.
    human_labels (list): n verdicts of people, 1 or True, 0 or False, None where there is none; adds 'ppi_accuracy' and
        its interval: the accuracy, corrected by these verdicts.
    batch_size (int): inputs per batch; default: batches of about the same number of tokens.
    device (str): 'cuda', 'mps', 'cpu'; default: the first of them that is there.
    dtype (str): 'float32' (default), 'bfloat16' or 'float16'.
    max_length (int): longest input in tokens. Default: the judge's own.
    cache_dir (str): folder that keeps the probabilities; where all of them are there, no model is loaded.
    groups (list): n labels, one per reference (strings, numbers or tuples); adds 'groups'.
    confidence_level (float): for example 0.95; adds 'confidence_intervals' (bootstrap over the rows).
    n_resamples (int): resamples of the bootstrap. Default 2000.
    seed (int): seed of the bootstrap. Default 42.
    details (bool): adds 'details', one dict per example.
    missing (str): 'error' (default), or 'score_zero': questions without a prediction are judged incorrect, predictions
        without a question are left out.
Returns:
    'ava_accuracy': share of answers judged correct, from 0 to 1; 'ava_score': mean probability; 'total': number of
    rows; the same with 'HasAns_' and 'NoAns_' (0 and None for a subset without rows); 'threshold'; 'truncated',
    'truncated_ids': answers for which a text was cut; with human labels 'ppi_accuracy', 'ppi_confidence_interval' and
    'human_labels', their number. An empty answer is correct where there is no reference, and only there.
Examples:
    >>> import qa_scoring
    >>> metric = evaluate.load(qa_scoring.metric_path("ava_metric"))
    >>> result = metric.compute(
    ...     predictions=["It was Marie Curie."], references=[["Curie"]], questions=["Who discovered radium?"]
    ... )
    >>> result["ava_accuracy"]
    1.0
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class AnswerEvaluation(qa_scoring.hf.metric.AnswerMetric):
    """AVA."""

    reads_questions = True

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=qa_scoring.hf.metric.answer_features(questions=True),
            reference_urls=["https://aclanthology.org/2021.naacl-main.412"],
        )

    def _check(self, aggregate="mean", threshold=None, **unchecked):
        qa_scoring.ava.check_verdicts(aggregate, threshold)

    def _compute(
        self,
        predictions,
        references,
        questions=None,
        model=None,
        revision=None,
        threshold=None,
        aggregate="mean",
        human_labels=None,
        batch_size=None,
        device=None,
        dtype=None,
        max_length=None,
        cache_dir=None,
        groups=None,
        confidence_level=None,
        n_resamples=2000,
        seed=qa_scoring.rows.DEFAULT_SEED,
        details=False,
        missing="error",
    ):
        return self._keep(
            qa_scoring.ava.score_ava(
                predictions,
                references,
                questions=questions,
                model=self._configured(model),
                revision=revision,
                threshold=threshold,
                aggregate=aggregate,
                human_labels=human_labels,
                batch_size=batch_size,
                device=device,
                dtype=dtype,
                max_length=max_length,
                cache_dir=cache_dir,
                groups=groups,
                confidence_level=confidence_level,
                n_resamples=n_resamples,
                seed=seed,
                details=details,
                missing=missing,
            )
        )
