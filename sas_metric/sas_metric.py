"""Semantic Answer Similarity (Risch et al. 2021).

The maths is in ``qa_scoring.sas``; this file holds documentation, features and one call.
"""

import evaluate

import qa_scoring.hf.metric
import qa_scoring.rows
import qa_scoring.sas

_DESCRIPTION = """\
Semantic Answer Similarity: how close in meaning is a predicted answer to the gold answers, from 0 to 1. A model for
English ships with the package; any cross-encoder (which reads prediction and gold together), bi-encoder (which compares
their vectors) or encoder for BERTScore (which matches the vectors of their tokens) serves as well, from the Hub or a
local folder.
"""

_CITATION = """\
@inproceedings{risch-etal-2021-semantic,
  title = {Semantic Answer Similarity for Evaluating Question Answering Models},
  author = {Risch, Julian and M{\\"o}ller, Timo and Gutsch, Julian and Pietsch, Malte},
  booktitle = {Proceedings of the 3rd Workshop on Machine Reading for Question Answering},
  year = {2021}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n predictions: records with 'id' and 'prediction_text', n strings, or a mapping from id to string.
        The empty string says that there is no answer.
    references: n references: records with 'id' and 'answers' ({'text': [...]} or a list of {'text': ...}), n strings,
        n lists of strings, a mapping by id, or a whole SQuAD data set. No answers: an unanswerable question.
    scorer (str): 'cross-encoder' (default), 'bi-encoder' or 'bertscore'.
    model (str): 'embedded' (English), 'stsb-roberta-large' (the paper's, English), 'gbert-large-sts' (German),
        'multilingual' (bi-encoder), 'bertscore-vanilla', 'bertscore-trained', any Hub id, or a local folder. Default:
        the configuration the metric was loaded with, else the embedded one.
    revision (str): branch, tag or commit on the Hub.
    layer (int): which layer BERTScore reads, from 0; default: the one that is known to suit the model.
    language (str): code, name or tag of the answers' language. Default 'en'.
    aggregate (str): over several references: 'max' (default) or 'mean'.
    symmetric (bool): average both orders of a pair. Default False.
    exact_match_is_one (bool): identical strings have similarity 1 without asking the model. Default False.
    activation (str): 'sigmoid' or 'identity', in place of what the model's configuration says.
    label (str or int): of a cross-encoder with two or more labels (NLI), the one whose probability is the score.
    batch_size (int): pairs per batch; default: batches of about the same number of tokens.
    device (str): 'cuda', 'mps', 'cpu'; default: the first of them that is there.
    dtype (str): 'float32' (default), 'bfloat16' or 'float16'; with backend='onnx' 'float32' or 'int8'.
    backend (str): 'torch' (default), or 'onnx' (cross-encoders on the CPU).
    max_length (int): longest input in tokens; the longer side is cut first. Default: the model's own.
    cache_dir (str): folder that keeps the scores of pairs; where all of them are there, no model is loaded.
    groups (list): n labels, one per reference (strings, numbers or tuples); adds 'groups'.
    confidence_level (float): for example 0.95; adds 'confidence_intervals' (bootstrap over the rows).
    n_resamples (int): resamples of the bootstrap. Default 2000.
    seed (int): seed of the bootstrap. Default 42.
    details (bool): adds 'details', one dict per example.
    missing (str): 'error' (default), or 'score_zero': questions without a prediction score 0, predictions
        without a question are left out.
Returns:
    'sas': mean similarity over all rows, from 0 to 1; 'total': number of rows; the same with 'HasAns_' and 'NoAns_'
    (0 and None for a subset without rows); 'truncated', 'truncated_ids': answers that were cut to fit the model. Two
    empty answers have similarity 1, an empty and another one 0; neither reaches the model.
Examples:
    >>> import qa_scoring
    >>> metric = evaluate.load(qa_scoring.metric_path("sas_metric"))
    >>> result = metric.compute(predictions=["6 miles"], references=[["six miles"]])
    >>> result["sas"] > 0.7
    True
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SemanticAnswerSimilarity(qa_scoring.hf.metric.AnswerMetric):
    """Semantic Answer Similarity."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=qa_scoring.hf.metric.answer_features(),
            reference_urls=["https://aclanthology.org/2021.mrqa-1.15"],
        )

    def _check(self, model=None, scorer="cross-encoder", language="en", **unchecked):
        qa_scoring.sas.choose_model(self._configured(model), scorer, language)

    def _compute(
        self,
        predictions,
        references,
        scorer="cross-encoder",
        model=None,
        revision=None,
        layer=None,
        language="en",
        aggregate="max",
        symmetric=False,
        exact_match_is_one=False,
        activation=None,
        label=None,
        batch_size=None,
        device=None,
        dtype=None,
        backend="torch",
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
            qa_scoring.sas.score_sas(
                predictions,
                references,
                scorer=scorer,
                model=self._configured(model),
                revision=revision,
                layer=layer,
                language=language,
                aggregate=aggregate,
                symmetric=symmetric,
                exact_match_is_one=exact_match_is_one,
                activation=activation,
                label=label,
                batch_size=batch_size,
                device=device,
                dtype=dtype,
                backend=backend,
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
