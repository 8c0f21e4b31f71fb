"""Six rankers on TREC-QA: systems whose answers people have judged, to be judged by a judge as well.

Measured are the questions of dev and test with at least two correct candidates and one incorrect one, so that every
candidate has a reference other than itself. A row of the file that is written is a candidate with the score that a
ranker gives it; its references are the other correct candidates of the question. Candidates stand in an order drawn by
seed, because the published files put the correct ones first, where ties would favour them.

Run it from the repository's root, DATA being the folder with train.csv, dev.csv and test.csv::

    python benchmarks/trecqa_systems.py DATA --out trecqa_systems.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qa_scoring.judge.answer_selection import group_candidates, read_candidates
from qa_scoring.statistics.ranking import RankingFigures, ranking_figures
from qa_scoring.text.normalize import squad_words

SEED = 20
K1, B = 1.2, 0.75  # Robertson & Zaragoza 2009, section 3.2, and Lucene's defaults
BATCH = 64


@dataclass(frozen=True)
class Question:
    """A question and its candidates: n texts, n labels."""

    text: str
    candidates: list[str]
    labels: list[bool]
    split: str

    def references(self, place: int) -> list[str]:
        """Return the correct candidates other than this one."""
        labelled = enumerate(zip(self.candidates, self.labels, strict=True))
        return [text for number, (text, correct) in labelled if correct and number != place]


Scores = list[NDArray[np.float64]]  # per question, shape (n,)
Ranker = Callable[[Sequence[Question]], Scores]


def read_questions(folder: Path, split: str) -> list[Question]:
    rng = random.Random(SEED)
    questions = []
    for group in group_candidates(read_candidates(folder / f"{split}.csv")):
        if len(group.correct) >= 2 and group.incorrect:
            labelled = [(text, True) for text in group.correct] + [(text, False) for text in group.incorrect]
            rng.shuffle(labelled)
            texts, labels = zip(*labelled, strict=True)
            questions.append(Question(group.question, list(texts), list(labels), split))
    return questions


# -------------------------------------------------------------------------------------- rankers


def by_chance(questions: Sequence[Question]) -> Scores:
    rng = np.random.default_rng(SEED)
    return [rng.random(len(question.candidates)) for question in questions]


def word_overlap(questions: Sequence[Question]) -> Scores:
    """Score the part of the question's distinct words that the candidate has."""

    def shared(question: str, candidate: str) -> float:
        words = set(squad_words(question))
        return len(words & set(squad_words(candidate))) / len(words)

    return [np.array([shared(question.text, text) for text in question.candidates]) for question in questions]


def tf_idf(questions: Sequence[Question]) -> Scores:
    """Score the cosine of TF-IDF vectors; the document frequencies are those of the candidates."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=squad_words)
    vectorizer.fit([text for question in questions for text in question.candidates])
    return [
        (vectorizer.transform(question.candidates) @ vectorizer.transform([question.text]).T).toarray()[:, 0]
        for question in questions
    ]


def bm25(questions: Sequence[Question]) -> Scores:
    """Score by Okapi BM25 over all candidates, with Lucene's inverse document frequency, which is never negative."""
    documents = [[Counter(squad_words(text)) for text in question.candidates] for question in questions]
    everything = [document for candidates in documents for document in candidates]
    length = float(np.mean([document.total() for document in everything]))
    frequencies = Counter(word for document in everything for word in document)

    def score(words: set[str], document: Counter[str]) -> float:
        norm = K1 * (1 - B + B * document.total() / length)
        found = [(document[word], frequencies[word]) for word in words & document.keys()]
        idf = [np.log1p((len(everything) - n + 0.5) / (n + 0.5)) for _, n in found]
        return float(sum(i * f * (K1 + 1) / (f + norm) for i, (f, _) in zip(idf, found, strict=True)))

    words = [set(squad_words(question.text)) for question in questions]
    return [
        np.array([score(w, document) for document in candidates])
        for w, candidates in zip(words, documents, strict=True)
    ]


def mean_pooled(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the base model's normalised mean-pooled embeddings, shape (texts, hidden)."""
    import torch

    from qa_scoring.encoders.base_model import base_model_folder, load_encoder

    encoder, tokenizer = load_encoder(base_model_folder())
    parts = []
    with torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(
                list(texts[start : start + BATCH]), padding=True, truncation=True, max_length=256, return_tensors="pt"
            )
            hidden = encoder(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            pooled = (hidden * mask).sum(1) / mask.sum(1)
            parts.append(torch.nn.functional.normalize(pooled, dim=-1).numpy())
    return np.concatenate(parts)


def minilm_cosine(questions: Sequence[Question]) -> Scores:
    vectors = mean_pooled([text for question in questions for text in (question.text, *question.candidates)])
    ends = np.cumsum([1 + len(question.candidates) for question in questions])
    return [(part[1:] @ part[0]).astype(np.float64) for part in np.split(vectors, ends[:-1])]


UNTRAINED: dict[str, Ranker] = {
    "random": by_chance,
    "word overlap": word_overlap,
    "TF-IDF": tf_idf,
    "BM25": bm25,
    "MiniLM cosine": minilm_cosine,
}
FEATURES = ("word overlap", "TF-IDF", "BM25", "MiniLM cosine")


def train_ranker(questions: Sequence[Question], scores: dict[str, Scores]) -> Callable[[dict[str, Scores]], Scores]:
    """Train a logistic regression from the scores of other rankers to the labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression())
    labels = np.concatenate([question.labels for question in questions])
    model.fit(np.concatenate([features(scores, place) for place in range(len(questions))]), labels)

    def rank(scores: dict[str, Scores]) -> Scores:
        return [model.decision_function(features(scores, place)) for place in range(len(scores[FEATURES[0]]))]

    return rank


def features(scores: dict[str, Scores], place: int) -> NDArray[np.float64]:
    """Return the features of one question's n candidates, shape (n, 2 × rankers): scores, and scores less the best."""
    own = np.stack([scores[name][place] for name in FEATURES], axis=1)
    return np.concatenate([own, own - own.max(axis=0)], axis=1)


def score_systems(train: Sequence[Question], measured: Sequence[Question]) -> dict[str, Scores]:
    scores = {name: rank(measured) for name, rank in UNTRAINED.items()}
    ranker = train_ranker(train, {name: UNTRAINED[name](train) for name in FEATURES})
    return {**scores, "logistic regression": ranker(scores)}


# --------------------------------------------------------------------------------------- output


def system_rows(questions: Sequence[Question], scores: dict[str, Scores]) -> Iterator[dict[str, Any]]:
    for name, by_question in scores.items():
        for question, values in zip(questions, by_question, strict=True):
            for place, (text, correct) in enumerate(zip(question.candidates, question.labels, strict=True)):
                yield {
                    "system": name,
                    "source": question.split,
                    "question": question.text,
                    "references": question.references(place),
                    "answer": text,
                    "score": round(float(values[place]), 9),
                    "correct": correct,
                }


def figures_by_people(questions: Sequence[Question], scores: Scores) -> RankingFigures:
    return ranking_figures([question.labels for question in questions], scores)


def main() -> None:
    parser = argparse.ArgumentParser(description="Rank TREC-QA's candidates with six systems.")
    parser.add_argument("data", type=Path, help="folder with train.csv, dev.csv and test.csv")
    parser.add_argument("--out", type=Path, required=True, help="JSON Lines, a candidate of a system a row")
    arguments = parser.parse_args()
    train = read_questions(arguments.data, "train")
    measured = [question for split in ("dev", "test") for question in read_questions(arguments.data, split)]
    scores = score_systems(train, measured)
    with cast(Path, arguments.out).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in system_rows(measured, scores))
    print(f"| by people, {len(measured)} questions | P@1 | MAP | MRR |\n|---|---:|---:|---:|")
    for name, by_question in scores.items():
        figures = figures_by_people(measured, by_question)
        values = (figures.precision_at_1, figures.mean_average_precision, figures.mean_reciprocal_rank)
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |")


if __name__ == "__main__":
    main()
