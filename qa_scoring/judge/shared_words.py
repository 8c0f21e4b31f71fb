"""What question, reference and answer have in common as strings; a part of what the shipped judge sees.

A change here is another model: the order and the meaning of the features are those its weights were trained with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from qa_scoring.judge.words import Words, read_words

_REFUSAL = re.compile(
    r"\b(?:(?:i|we) (?:do not|don't|did not|didn't|am not|'m not|cannot|can't|could not|couldn't|was unable|have no"
    r"|haven't)|no (?:information|data|answer|record|mention|idea|details)|not (?:known|sure|specified|mentioned"
    r"|provided|available|stated|given|enough|clear)|(?:is|are|was) (?:unknown|unclear)|unable to|as an ai|sorry"
    r"|apologi[sz]e|unanswerable|nobody knows|(?:does not|doesn't|do not|don't|did not|didn't) (?:say|state|mention"
    r"|specify|provide|contain|include|give|tell|answer|know)"
    r"|(?:cannot|can't|could not) be (?:determined|answered|found|said|known)"
    r"|n/a)\b"
)
_UNDECIDED = re.compile(
    r"\b(?:either|or maybe|or perhaps|or possibly|some say|others say|one of)\b|\bor\b.*\bor\b|, or\b"
)
_TURN = re.compile(r"\b(?:but|however|although|though|nevertheless|still|yet)\b")
_HEDGE = re.compile(
    r"\b(?:may|might|maybe|perhaps|possibly|probably|likely|i (?:think|believe|guess|suppose)|could be|seems?|appears?"
    r"|unclear|presumably|if i (?:remember|recall)|not (?:certain|sure))\b"
)
_SEVERAL = re.compile(
    r"\b(?:what|which|who|where) (?:are|were)\b|\b(?:which|what) (?:\w+ ){0,2}(?!does\b|was\b|has\b)"
    r"\w+[^s\W]s\b(?! \w+s\b)"
    r"|\bname (?:all|both|the (?:two|three|four|five|six)|two|three|four)\b|\blist\b|\bboth\b"
    r"|\b(?:two|three|four|five|six|seven) (?:\w+ )?\w+s\b"
)
_CLAUSE = re.compile(r"[,;:.!?()\u2014\u2013]|\b(?:but|and|while|whereas|so|because|however|though|although)\b")
_NEGATIONS = frozenset((
    "no", "not", "never", "none", "neither", "nor", "without", "cannot", "wasn't", "isn't", "aren't", "didn't",
    "doesn't", "don't", "weren't", "hasn't", "haven't", "hadn't", "won't", "wouldn't", "can't", "couldn't",
    "shouldn't", "nobody", "nothing", "false", "wrong", "incorrect", "untrue", "unlike", "except", "mistaken", "myth",
))  # fmt: skip
_SET_ASIDE = frozenset((
    "not", "never", "than", "unlike", "except", "without", "neither", "nor", "instead", "isn't", "wasn't", "aren't",
    "weren't",
))  # fmt: skip
_SEPARATOR = re.compile(r"\s*(?:,|;|\band\b|&|/|\bor\b|\bas well as\b)\s*")
_YES, _NO = frozenset(("yes", "yeah", "true", "correct")), frozenset(("no", "nope", "false", "incorrect"))
_OPPOSITES = (
    "increase decrease", "increases decreases", "increased decreased", "increasing decreasing", "more less",
    "more fewer", "higher lower", "high low", "highest lowest", "before after", "always never", "above below",
    "over under", "open closed", "can cannot", "larger smaller", "large small", "big small", "bigger smaller",
    "same different", "hot cold", "warm cool", "warmer cooler", "left right", "north south", "east west",
    "northern southern", "eastern western", "first last", "with without", "allowed forbidden", "allowed prohibited",
    "allowed banned", "permitted prohibited", "positive negative", "inside outside", "true false", "won lost",
    "win lose", "faster slower", "fast slow", "day night", "connected disconnected", "early late", "earlier later",
    "longer shorter", "long short", "accept reject", "accepted rejected", "alive dead", "born died", "buy sell",
    "bought sold", "cheap expensive", "cheaper dearer", "clockwise anticlockwise", "cause prevent",
    "causes prevents", "dry wet", "easy difficult", "empty full", "enter leave", "rise fall", "rises falls",
    "rose fell", "gain lose", "gained lost", "good bad", "better worse", "best worst", "guilty innocent",
    "heavy light", "heavier lighter", "import export", "include exclude", "included excluded", "internal external",
    "legal illegal", "male female", "married single", "maximum minimum", "most least", "much little", "old new",
    "older younger", "old young", "oldest youngest", "optional required", "optional mandatory",
    "voluntary compulsory", "pass fail", "passed failed", "public private", "push pull", "rich poor",
    "safe dangerous", "safe unsafe", "start end", "starts ends", "started ended", "begin end", "strong weak",
    "stronger weaker", "succeeded failed", "success failure", "top bottom", "up down", "victory defeat",
    "wide narrow", "agree disagree", "agreed disagreed", "attract repel", "expand contract", "expands contracts",
    "float sink", "floats sinks", "melt freeze", "melts freezes", "support oppose", "supported opposed",
    "free paid", "thick thin", "solid liquid", "soft hard", "sweet sour", "summer winter", "sunrise sunset",
    "present absent", "possible impossible", "visible invisible", "active inactive", "approved rejected",
    "granted denied", "toward away", "toxic harmless",
)  # fmt: skip
OPPOSITE: dict[str, set[str]] = {}
"""English word → its opposites."""
for _one, _other in (pair.split() for pair in _OPPOSITES):
    OPPOSITE.setdefault(_one, set()).add(_other)
    OPPOSITE.setdefault(_other, set()).add(_one)
_SOUNDS = (
    (re.compile(r"tch|tsch|ch|sh|sch|cz|zh"), "s"), (re.compile(r"ph"), "f"), (re.compile(r"[cqg]|ck|kh|gh"), "k"),
    (re.compile(r"[wv]"), "f"), (re.compile(r"[dt]h?"), "t"), (re.compile(r"[zxj]"), "s"), (re.compile(r"[bp]"), "p"),
    (re.compile(r"[aeiouyh']"), ""),
)  # fmt: skip
_MOST_WORDS = 80  # of an answer, for spelling

QUESTION_WORDS = ("who", "when", "where", "how many", "how much", "how", "which", "what", "why", "year", "name", "does")


class SharedWords(NamedTuple):
    """What a reference and an answer share; every figure is from 0 to 1 but ``negation`` (-1 to 1).

    Args:
        recall: Part of the reference's words that the answer has.
        precision: Part of the answer's words that the reference has.
        f1: Token F1.
        novel_recall: Recall of the reference's words that the question does not have.
        novel_precision: Precision of the answer's words that the question does not have.
        included: 1 if the answer has the reference's words, one after the other.
        answer_included: 1 if the reference has the answer's words, one after the other.
        same: 1 if the words are the same.
        trigram_recall: Part of the reference's character trigrams that the answer has.
        trigram_precision: Part of the answer's character trigrams that the reference has.
        trigrams: Dice coefficient of the character trigrams.
        spelling: Mean, over the reference's words, of the likeness of the answer's likest word.
        worst_spelling: The smallest of them.
        last_word: 1 if the answer has the reference's last word.
        first_word: 1 if it has the first.
        initials: 1 if one of them is the other's initials.
        number: 1 if the reference has a number.
        new_number: 1 if the answer has a number that the question has not.
        numbers_found: 1 if the reference has numbers and the answer has them all.
        numbers_missed: 1 if the reference has numbers and the answer has none of them.
        other_number: 1 if the answer has a number that neither question nor reference has.
        near_number: Likeness of the nearest numbers, smaller divided by larger.
        same_quantity: 1 if both have a quantity and one of them is the same within 2 %, in whatever units.
        other_quantity: 1 if both have a quantity of one dimension and none is the same.
        items: Part of the reference's items (a list) whose words the answer has.
        list: 1 if the reference is a list.
        several: 1 if the question seems to ask for several things.
        missing_items: Part of the reference's items that the answer lacks, where the question asks for several.
        other_items: Part of the answer's items (a list) that share no word with reference and question.
        sounds: Mean, over the reference's words, of the likeness in consonants of the answer's likest word.
        opposites: 1 if the answer has the opposite of a word of the reference, and not the word.
        set_aside: 1 if the reference's words come right after a word that sets them aside ("not", "rather than").
        set_aside_before: 1 if something else is set aside before the reference's words ("not Rome but Paris").
        negated: 1 if the clause of the answer that shares most with the reference has a negation, the reference none.
        negated_elsewhere: 1 if another clause has one.
        yes_no: 1 if one says yes and the other no.
        negation: 1 if only the answer has a negation, -1 if only the reference.
        refusal: 1 if the answer sounds like a refusal.
        hedge: 1 if it sounds unsure.
        turn: 1 if it has a "but" or the like.
        alternatives: 1 if it has "or" and the reference has not.
        undecided: 1 if it sounds as if it gave several answers to choose from.
        reference_length: Words of the reference, 20 or more being 1.
        answer_length: Words of the answer, 60 or more being 1.
        answer_is_short: 1 if the answer has five words or fewer.
        reference_in_question: Part of the reference's words that the question has.
        answer_in_question: Part of the answer's words that the question has.
        longer: How much longer the answer is than the reference, at most 1 for five times as long.
    """

    recall: float
    precision: float
    f1: float
    novel_recall: float
    novel_precision: float
    included: float
    answer_included: float
    same: float
    trigram_recall: float
    trigram_precision: float
    trigrams: float
    spelling: float
    worst_spelling: float
    last_word: float
    first_word: float
    initials: float
    number: float
    new_number: float
    numbers_found: float
    numbers_missed: float
    other_number: float
    near_number: float
    same_quantity: float
    other_quantity: float
    items: float
    list: float
    several: float
    missing_items: float
    other_items: float
    sounds: float
    opposites: float
    set_aside: float
    set_aside_before: float
    negated: float
    negated_elsewhere: float
    yes_no: float
    negation: float
    refusal: float
    hedge: float
    turn: float
    alternatives: float
    undecided: float
    reference_length: float
    answer_length: float
    answer_is_short: float
    reference_in_question: float
    answer_in_question: float
    longer: float


def shared_words(question: str, reference: str, answer: str) -> SharedWords:
    """Describe what a reference and an answer share, given the question.

    Args:
        question: The question.
        reference: One reference.
        answer: The answer.

    Returns:
        The figures.

    Example:
        >>> found = shared_words("How far is it?", "10 miles", "about sixteen kilometres")
        >>> found.recall, found.same_quantity
        (0.0, 1.0)
    """
    q, r, t = read_words(question), read_words(reference), read_words(answer)
    tone = _tone(answer)
    shared = _shared(r.counts, t.counts)
    novel_reference, novel_answer = ([word for word in text.words if word not in q.counts] for text in (r, t))
    recall, precision = shared / max(1, len(r.words)), shared / max(1, len(t.words))
    trigrams = _shared(r.trigrams, t.trigrams)
    spelled = _likeness(r.words, frozenset(t.words[:_MOST_WORDS]))
    place = _find(r.words, t.words)
    items, listed = _items(reference), _items(answer)
    had = sum(all(word in t.counts for word in item) for item in items) / max(1, len(items))
    several = _asks_several(question)
    new_numbers = t.numbers - q.numbers
    denied = [not _NEGATIONS.isdisjoint(text.counts) for text in (t, r)]
    kept, elsewhere = _clauses(tone.clauses, r)
    return SharedWords(
        recall=recall,
        precision=precision,
        f1=2 * shared / max(1, len(r.words) + len(t.words)),
        novel_recall=sum(word in t.counts for word in novel_reference) / len(novel_reference)
        if novel_reference
        else recall,
        novel_precision=sum(word in r.counts for word in novel_answer) / len(novel_answer) if novel_answer else 0.0,
        included=float(place is not None),
        answer_included=float(_find(t.words, r.words) is not None),
        same=float(bool(r.words) and r.words == t.words),
        trigram_recall=trigrams / r.trigrams.total(),
        trigram_precision=trigrams / t.trigrams.total(),
        trigrams=2 * trigrams / (r.trigrams.total() + t.trigrams.total()),
        spelling=_mean(spelled),
        worst_spelling=min(spelled, default=0.0),
        last_word=float(bool(r.words) and r.words[-1] in t.counts),
        first_word=float(bool(r.words) and r.words[0] in t.counts),
        initials=float(_are_initials(r.words, t.words) or _are_initials(t.words, r.words)),
        number=float(bool(r.numbers)),
        new_number=float(bool(new_numbers)),
        numbers_found=float(bool(r.numbers) and r.numbers <= t.numbers),
        numbers_missed=float(bool(r.numbers) and not r.numbers & t.numbers),
        other_number=float(bool(new_numbers - r.numbers)),
        near_number=max((_near(one, other) for one in r.numbers for other in t.numbers), default=0.0),
        **_quantities(r, t),
        items=had,
        list=float(len(items) > 1),
        several=float(several),
        missing_items=1.0 - had if several and len(items) > 1 else 0.0,
        other_items=sum(not any(word in r.counts or word in q.counts for word in item) for item in listed)
        / max(1, len(listed))
        if len(listed) > 1
        else 0.0,
        sounds=_mean(_likeness(_sounds(r.words), frozenset(_sounds(t.words[:_MOST_WORDS])))),
        opposites=float(_has_opposite(r, t)),
        **_set_aside(t.words, place),
        negated=float(kept and not denied[1]),
        negated_elsewhere=float(elsewhere),
        yes_no=float(_says(r.words) * _says(t.words) < 0),
        negation=float(denied[0]) - float(denied[1]),
        refusal=tone.refusal,
        hedge=tone.hedge,
        turn=tone.turn,
        alternatives=float("or" in t.counts and "or" not in r.counts),
        undecided=tone.undecided,
        reference_length=min(1.0, len(r.words) / 20),
        answer_length=min(1.0, len(t.words) / 60),
        answer_is_short=float(len(t.words) <= 5),
        reference_in_question=sum(word in q.counts for word in r.words) / max(1, len(r.words)),
        answer_in_question=sum(word in q.counts for word in t.words) / max(1, len(t.words)),
        longer=min(1.0, max(0.0, (len(t.words) / max(1, len(r.words)) - 1) / 4)),
    )


def question_kind(question: str) -> list[float]:
    """Say which question words a question has.

    Args:
        question: The question.

    Returns:
        1 or 0 for each of ``QUESTION_WORDS``.

    Example:
        >>> dict(zip(QUESTION_WORDS, question_kind("How many moons?")))["how many"]
        1.0
    """
    padded = f" {' '.join(re.findall(r'[a-z]+', question.lower()))} "
    return [float(f" {words} " in padded) for words in QUESTION_WORDS]


def _shared(first: Counter[str], second: Counter[str]) -> int:
    if len(first) > len(second):
        first, second = second, first
    return sum(min(count, second[item]) for item, count in first.items() if item in second)


def _find(words: Sequence[str], text: Sequence[str]) -> int | None:
    """Return where the words come in a text, one after the other."""
    if not words:
        return None
    starts = (start for start in range(len(text) - len(words) + 1) if text[start] == words[0])
    return next((start for start in starts if text[start : start + len(words)] == words), None)


class _Tone(NamedTuple):
    refusal: float
    hedge: float
    turn: float
    undecided: float
    clauses: tuple[Words, ...]


@lru_cache(maxsize=20_000)
def _tone(answer: str) -> _Tone:
    """Read how an answer is said, and its clauses."""
    lower = " ".join(answer.lower().replace("’", "'").split())
    clauses = (read_words(part) for part in _CLAUSE.split(lower) if part.strip())
    return _Tone(
        refusal=float(bool(_REFUSAL.search(lower))),
        hedge=float(bool(_HEDGE.search(lower))),
        turn=float(bool(_TURN.search(lower))),
        undecided=float(bool(_UNDECIDED.search(lower))),
        clauses=tuple(clause for clause in clauses if clause.words),
    )


@lru_cache(maxsize=100_000)
def _letters(word: str) -> frozenset[str]:
    padded = f"<{word}>"
    return frozenset(padded[start : start + 2] for start in range(len(padded) - 1))


def _likeness(words: Sequence[str], text: frozenset[str]) -> list[float]:
    """Return, for every word, how like the likest word of the text is spelled: Dice of the pairs of letters."""
    letters = [_letters(other) for other in text]
    found = []
    for word in words:
        own = _letters(word)
        likest = (
            1.0 if word in text else max((len(own & other) / (len(own) + len(other)) for other in letters), default=0)
        )
        found.append(likest if word in text else 2 * likest)
    return found


@lru_cache(maxsize=100_000)
def _sound(word: str) -> str:
    """Write a word by its consonants, those that languages spell alike as one."""
    for pattern, by in _SOUNDS:
        word = pattern.sub(by, word)
    return re.sub(r"(.)\1+", r"\1", word)


@lru_cache(maxsize=20_000)
def _sounds(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sound for sound in map(_sound, words) if sound)


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures) if figures else 0.0


def _has_opposite(reference: Words, answer: Words) -> bool:
    """Whether the answer has the opposite of a word that only the reference has."""
    return any(
        word not in answer.counts
        and any(other in answer.counts and other not in reference.counts for other in OPPOSITE[word])
        for word in reference.words
        if word in OPPOSITE
    )


def _clauses(clauses: Sequence[Words], reference: Words) -> tuple[bool, bool]:
    """Say whether the clause that shares most with the reference has a negation, and whether another has."""
    if not clauses:
        return False, False
    shared = [sum(word in reference.counts for word in clause.words) for clause in clauses]
    best = shared.index(max(shared))
    negated = [not _NEGATIONS.isdisjoint(clause.words) for clause in clauses]
    return negated[best], any(flag for place, flag in enumerate(negated) if place != best)


def _are_initials(short: Sequence[str], words: Sequence[str]) -> bool:
    letters = "".join(short)
    if not 2 <= len(letters) <= 6 or len(words) < 2 or len(short) > len(letters) or not letters.isalpha():
        return False
    if len(short) > 1 and any(len(word) > 1 for word in short):
        return False
    all_words = "".join(word[0] for word in words)
    return letters in (all_words, "".join(word[0] for word in words if word not in ("of", "and", "for", "in", "de")))


def _near(one: float, other: float) -> float:
    if one == other:
        return 1.0
    return max(0.0, min(one, other) / max(one, other)) if one > 0 and other > 0 else 0.0


def _quantities(reference: Words, answer: Words) -> dict[str, float]:
    pairs = [
        (one.value, other.value)
        for one in reference.quantities
        for other in answer.quantities
        if one.dimension == other.dimension
    ]
    same = any(_near(one, other) >= 0.98 for one, other in pairs)
    return {"same_quantity": float(same), "other_quantity": float(bool(pairs) and not same)}


@lru_cache(maxsize=20_000)
def _asks_several(question: str) -> bool:
    return _SEVERAL.search(question.lower()) is not None


@lru_cache(maxsize=50_000)
def _items(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a list into the words of its items."""
    parts = (read_words(part).words for part in _SEPARATOR.split(text) if part.strip())
    return tuple(part for part in parts if part)


def _set_aside(words: Sequence[str], place: int | None) -> dict[str, float]:
    before = words[max(0, place - 3) : place] if place else ()
    aside = any(word in _SET_ASIDE for word in before[-2:]) and "but" not in before
    return {"set_aside": float(aside), "set_aside_before": float("but" in before or "instead" in words[:1])}


def _says(words: Sequence[str]) -> int:
    """Return 1 for yes, -1 for no, 0 for neither."""
    return 0 if not words else int(words[0] in _YES) - int(words[0] in _NO)
