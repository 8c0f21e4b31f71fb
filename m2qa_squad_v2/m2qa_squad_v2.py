"""Multilingual SQuAD 2.0 exact match and F1, after M2QA's metric (Engländer et al. 2024).

The maths is in ``qa_scoring.multilingual_squad``; this file holds documentation, features and one call.
"""

import evaluate

import qa_scoring.hf.metric
import qa_scoring.multilingual_squad
import qa_scoring.rows

_DESCRIPTION = """\
Exact match and token F1 of predicted answers in over sixty languages, with everything of SQuAD 2.0:
unanswerable questions, no-answer values and thresholds, HasAns and NoAns figures. The tokenizer follows the
language (jieba for Chinese, MeCab for Japanese, newmm for Thai, NLTK's rule for languages with spaces, ...).
"""

_CITATION = """\
@inproceedings{englander-etal-2024-m2qa,
  title = {M2QA: Multi-domain Multilingual Question Answering},
  author = {Engl{\\"a}nder, Leon and Sterz, Hannah and Poth, Clifton and
            Pfeiffer, Jonas and Kuznetsov, Ilia and Gurevych, Iryna},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2024},
  year = {2024}
}
@inproceedings{rajpurkar-etal-2018-know,
  title = {Know What You Don't Know: Unanswerable Questions for {SQuAD}},
  author = {Rajpurkar, Pranav and Jia, Robin and Liang, Percy},
  booktitle = {Proceedings of ACL 2018 (Volume 2: Short Papers)},
  year = {2018}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n predictions: records with 'id', 'prediction_text' and, in all rows or none,
        'no_answer_probability' (any finite number, higher is surer that there is no answer); or n strings; or a
        mapping from id to string. The empty string says that there is no answer.
    references: n references: records with 'id' and 'answers' ({'text': [...], 'answer_start': [...]} or a list of
        {'text': ..., 'answer_start': ...}; 'answer_start' optional); or n strings; or n lists of strings; or a
        mapping by id; or a whole SQuAD data set. No answers: an unanswerable question. Rows are matched by id
        when both sides have ids, else by position.
    language (str or list): code, name or tag such as 'de', 'german', 'zh-Hant', or one per reference; default:
        the configuration the metric was loaded with.
    tokenizer (str or callable): in place of the language's: 'whitespace', 'char', 'unicode', 'icu', 'jieba',
        'rjieba', 'nltk', ... or a function from string to list of strings.
    use_word_tokenizer (bool): False splits at white space. Default True.
    normalization (str): 'squad' (default) or 'unicode'.
    scheme (str): reproduce a published script: 'squad', 'm2qa', 'mlqa', 'cmrc', 'korquad', 'jaquad'.
    no_answer_threshold (float): no-answer values strictly above it count as an empty answer. Default 1.0.
    groups (list): n labels, one per reference (strings, numbers or tuples); adds 'groups'.
    confidence_level (float): for example 0.95; adds 'confidence_intervals' (bootstrap over the rows).
    n_resamples (int): resamples of the bootstrap. Default 2000.
    seed (int): seed of the bootstrap. Default 42.
    details (bool): adds 'details', one dict per example, scores in [0, 1] before the threshold.
    missing (str): 'error' (default), or 'score_zero': questions without a prediction score 0, predictions
        without a question are left out.
Returns:
    'exact', 'f1': means over all rows, in percent; 'total': number of rows; the same with 'HasAns_' and 'NoAns_'
    (0 and None for a subset without rows); 'best_exact', 'best_exact_thresh', 'best_f1', 'best_f1_thresh': over
    all no-answer thresholds (None without no-answer values).
Examples:
    >>> metric = evaluate.load("m2qa_squad_v2", "de")
    >>> result = metric.compute(predictions=["in Köln"], references=[["Köln"]])
    >>> result["exact"], round(result["f1"], 2)
    (0.0, 66.67)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class M2QAMetric(qa_scoring.hf.metric.AnswerMetric):
    """Multilingual SQuAD 2.0 exact match and F1."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=qa_scoring.hf.metric.answer_features(),
            codebase_urls=["https://github.com/UKPLab/m2qa"],
            reference_urls=[
                "https://aclanthology.org/2024.findings-emnlp.365",
                "https://rajpurkar.github.io/SQuAD-explorer/",
            ],
        )

    def _check(
        self,
        language=None,
        tokenizer=None,
        use_word_tokenizer=True,
        normalization="squad",
        scheme=None,
        no_answer_threshold=1.0,
        **unchecked,
    ):
        qa_scoring.multilingual_squad.check_threshold(no_answer_threshold)
        qa_scoring.multilingual_squad.check_policy(
            self._configured(language),
            tokenizer=tokenizer,
            use_word_tokenizer=use_word_tokenizer,
            normalization=normalization,
            scheme=scheme,
        )

    def _compute(
        self,
        predictions,
        references,
        language=None,
        tokenizer=None,
        use_word_tokenizer=True,
        normalization="squad",
        scheme=None,
        no_answer_threshold=1.0,
        groups=None,
        confidence_level=None,
        n_resamples=2000,
        seed=qa_scoring.rows.DEFAULT_SEED,
        details=False,
        missing="error",
    ):
        return self._keep(
            qa_scoring.multilingual_squad.score_multilingual_squad(
                predictions,
                references,
                language=self._configured(language),
                tokenizer=tokenizer,
                use_word_tokenizer=use_word_tokenizer,
                normalization=normalization,
                scheme=scheme,
                no_answer_threshold=no_answer_threshold,
                groups=groups,
                confidence_level=confidence_level,
                n_resamples=n_resamples,
                seed=seed,
                details=details,
                missing=missing,
            )
        )
