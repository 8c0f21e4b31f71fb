"""Small pieces of HTML: scores, tokens, and what the normaliser and the tokenizer made of one example.

Pure functions from values to strings. Whatever comes from a user is escaped; right-to-left texts run right to left.
"""

from __future__ import annotations

import html
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from qa_scoring.app.tokenizing import Tokenized
from qa_scoring.errors import InputError
from qa_scoring.overlap.scoring import Tokens, token_f1
from qa_scoring.text.languages import find_language

SHOWN_TOKENS = 200

CSS = """
.qa-hidden {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap}
.qa-cards {display: flex; flex-wrap: wrap; gap: .75rem; margin: .5rem 0 1rem}
.qa-card {flex: 1 1 9rem; padding: .75rem; border: 1px solid var(--border-color-primary); border-radius: .5rem}
.qa-card dt {font-weight: 600}
.qa-card dd {margin: 0}
.qa-card .qa-value {font-size: 1.5rem; font-variant-numeric: tabular-nums}
.qa-sides {display: flex; flex-wrap: wrap; gap: 1rem}
.qa-sides > section {flex: 1 1 16rem; min-width: 0}
.qa-sides h4, .qa-sides dd {margin: 0 0 .5rem 0}
.qa-sides h4 {font-size: 1.1rem; font-weight: 600}
.qa-sides dt {font-weight: 600}
.qa-text {margin: 0; white-space: pre-wrap; overflow-wrap: anywhere}
.qa-example > p.qa-text {margin-top: .5rem}
.qa-tokens {display: flex; flex-wrap: wrap; gap: .3rem; margin: 0; padding: 0; list-style: none}
.qa-tokens li {margin: 0; padding: 0 .4rem; border: 1px dashed var(--body-text-color-subdued); border-radius: .3rem;
  overflow-wrap: anywhere; white-space: pre-wrap}
.qa-tokens li.qa-shared {border: 2px solid var(--color-accent); background: var(--color-accent-soft); font-weight: 600}
.qa-scroll {overflow-x: auto; overflow-wrap: break-word}
.qa-scroll table {width: 100%; border-collapse: collapse}
.qa-scroll th, .qa-scroll td {padding: .4rem; text-align: start; vertical-align: top;
  border-bottom: 1px solid var(--border-color-primary)}
.qa-scroll tbody th {font-weight: 400; min-width: 7rem; overflow-wrap: anywhere}
.qa-scroll td {min-width: 9rem}
"""
"""The style of everything here; it follows the theme, light or dark."""


@dataclass(frozen=True)
class Card:
    """One headline figure.

    Args:
        name: What it is.
        value: The figure, as it is shown.
        note: What it means, in a few words.
    """

    name: str
    value: str
    note: str = ""


_CARD_NAMES = {"exact": "Exact match", "f1": "F1", "sas": "SAS", "ava_accuracy": "AVA"}
_VERDICTS = {"exact": ("✗ no", "✓ yes"), "ava_accuracy": ("✗ wrong", "✓ correct")}


def answer_card(score: str, value: float | None, note: str = "") -> Card:
    """Make the card of one answer's score.

    Args:
        score: ``"exact"``, ``"f1"``, ``"sas"`` or ``"ava_accuracy"``.
        value: From 0 to 1; None where it is not shown.
        note: What it means, in a few words.

    Returns:
        The card: a verdict in words for scores that are 0 or 1.

    Example:
        >>> answer_card("exact", 1.0).value, answer_card("f1", 0.5).value, answer_card("sas", None).value
        ('✓ yes', '0.500', 'not shown')
    """
    if value is None:
        return Card(_CARD_NAMES[score], "not shown")
    shown = _VERDICTS[score][bool(value)] if score in _VERDICTS else f"{value:.3f}"
    return Card(_CARD_NAMES[score], shown, note)


def score_cards(cards: Iterable[Card]) -> str:
    """Show figures side by side.

    Args:
        cards: The figures, in the order to show them.

    Returns:
        HTML.

    Example:
        >>> score_cards([Card("F1", "0.5")])
        '<dl class="qa-cards"><div class="qa-card"><dt>F1</dt><dd class="qa-value">0.5</dd></div></dl>'
    """
    parts = []
    for card in cards:
        note = f"<dd>{html.escape(card.note)}</dd>" if card.note else ""
        parts.append(
            f'<div class="qa-card"><dt>{html.escape(card.name)}</dt>'
            f'<dd class="qa-value">{html.escape(card.value)}</dd>{note}</div>'
        )
    return f'<dl class="qa-cards">{"".join(parts)}</dl>'


def shared_flags(prediction: Tokens, reference: Tokens) -> tuple[list[bool], list[bool]]:
    """Say which tokens two answers share, repeats counted as token F1 counts them.

    Args:
        prediction: Tokens of the prediction.
        reference: Tokens of the reference.

    Returns:
        One flag per token of either side; of a token that one side has more often, the first ones are shared.

    Example:
        >>> shared_flags(["to", "be", "to"], ["to", "go"])
        ([True, False, False], [True, False])
    """
    common = Counter(prediction) & Counter(reference)

    def flags(tokens: Tokens) -> list[bool]:
        left = common.copy()
        found = []
        for token in tokens:
            found.append(left[token] > 0)
            left[token] -= 1
        return found

    return flags(prediction), flags(reference)


def token_chips(
    tokens: Sequence[str],
    shared: Sequence[bool] | None = None,
    *,
    language: str | None = None,
    shown: int = SHOWN_TOKENS,
) -> str:
    """Show tokens one by one.

    Args:
        tokens: The tokens.
        shared: One flag per token, whether the other side has it; None marks nothing. A shared token has a tick, a
            frame and a word for screen readers: colour alone says nothing.
        language: Code or name, for fonts and screen readers; None where it is not known.
        shown: How many to show; the number of the others is named.

    Returns:
        HTML.

    Example:
        >>> token_chips(["two", "words"])
        '<ul class="qa-tokens" dir="ltr"><li><bdi>two</bdi></li><li><bdi>words</bdi></li></ul>'
    """
    if not tokens:
        return '<p class="qa-text"><em>no tokens</em></p>'
    items = []
    for place, token in enumerate(tokens[:shown]):
        text = f"<bdi>{html.escape(token)}</bdi>" if token.strip() else "<em>blank</em>"
        if shared is None:
            items.append(f"<li>{text}</li>")
        elif shared[place]:
            tick = '<span aria-hidden="true">✓ </span>'
            items.append(f'<li class="qa-shared">{tick}{text}<span class="qa-hidden"> (shared)</span></li>')
        else:
            items.append(f'<li>{text}<span class="qa-hidden"> (not shared)</span></li>')
    more = f'<p class="qa-text">… and {len(tokens) - shown:,} more</p>' if len(tokens) > shown else ""
    # dir="auto" looks past the tokens, each of which is isolated, so the direction of the row is worked out here
    return f'<ul class="qa-tokens" dir="{_direction(tokens)}"{_lang(language)}>{"".join(items)}</ul>{more}'


def example_details(detail: dict[str, Any], language: str | None = None) -> str:
    """Show how one example got its exact match and F1.

    Args:
        detail: One of the dicts that ``score_multilingual_squad(..., details=True)`` gives.
        language: Code or name of the example's language; None where it is not known.

    Returns:
        HTML: both texts as given, normalised and as tokens; which tokens are shared, and the F1 they give.

    Example:
        >>> from qa_scoring import score_multilingual_squad
        >>> scored = score_multilingual_squad(["in Köln"], ["Köln"], language="de", details=True)
        >>> "1 of 2 tokens" in example_details(scored.result["details"][0], "de")
        True
    """
    references, winner = detail["references"], detail["best_reference"]
    tokens, expected = detail["prediction_tokens"], detail["reference_tokens"] or []
    mine, theirs = shared_flags(tokens, expected)
    flags = (None, None) if winner is None else (mine, theirs)
    answer = _side(
        "Answer",
        detail["prediction"],
        detail["normalized_prediction"],
        token_chips(tokens, flags[0], language=language),
        language,
    )
    if winner is None:
        reference = ""
    else:
        title = "Reference" if len(references) == 1 else f"Best reference, {winner + 1} of {len(references)}"
        chips = token_chips(expected, flags[1], language=language)
        reference = _side(title, references[winner], detail["normalized_reference"], chips, language)
    return (
        f'<div class="qa-example"><div class="qa-sides">{answer}{reference}</div>'
        f'<p class="qa-text">{html.escape(_how_f1_came_about(detail))}</p></div>'
    )


def tokenizer_table(rows: Iterable[Tokenized], language: str | None = None) -> str:
    """Show what several tokenizers make of one text.

    Args:
        rows: One per tokenizer.
        language: Code or name of the text's language.

    Returns:
        HTML.

    Example:
        >>> tokenizer_table([Tokenized("char", "char-1", ["a", "b"], default=True)]).count("<tr>")
        2
    """
    body = []
    for row in rows:
        default = "<br>the language’s default" if row.default else ""
        if row.missing:
            cells = f"<td>{html.escape(row.missing)}</td>"
        else:
            chips = token_chips(row.tokens, language=language)
            cells = f"<td>{len(row.tokens):,} {'token' if len(row.tokens) == 1 else 'tokens'}{chips}</td>"
        version = html.escape(row.version or "not installed")
        name = f"<strong>{html.escape(row.tokenizer)}</strong><br>{version}{default}"
        body.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Tokenizer", "Tokens"))
    return (
        '<div class="qa-scroll" role="region" aria-label="Tokens under each tokenizer" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _side(title: str, given: str | None, normalized: str, chips: str, language: str | None) -> str:
    """Show one side of a comparison: the text as given, normalised, and in tokens."""
    rows = (("As given", _passage(given, language)), ("Normalised", _passage(normalized, language)), ("Tokens", chips))
    listed = "".join(f"<dt>{name}</dt><dd>{content}</dd>" for name, content in rows)
    return f"<section><h4>{title}</h4><dl>{listed}</dl></section>"


def _passage(text: str | None, language: str | None) -> str:
    if not text:
        return f'<p class="qa-text"><em>{"none" if text is None else "empty"}</em></p>'
    return f'<p class="qa-text" dir="auto"{_lang(language)}>{html.escape(text)}</p>'


def _how_f1_came_about(detail: dict[str, Any]) -> str:
    if detail["prediction"] is None:
        return "There is no prediction for this question; it counts as wrong."
    if detail["best_reference"] is None:
        return "The question has no answer: an empty answer is right, any other one is wrong."
    tokens, expected = detail["prediction_tokens"], detail["reference_tokens"]
    if not tokens or not expected:
        return f"One side has no tokens; F1 is {detail['f1']:.3f}."
    shared = sum(shared_flags(tokens, expected)[0])
    f1 = token_f1(tokens, expected)
    text = (
        f"Shared: {shared} of {len(tokens)} tokens of the answer (precision {shared / len(tokens):.3f}) and of "
        f"{len(expected)} of the reference (recall {shared / len(expected):.3f}); F1 is {f1:.3f}."
    )
    if abs(f1 - detail["f1"]) > 1e-9:  # a scheme that counts otherwise, or texts that differ in spaces only
        text += f" The F1 of this example is {detail['f1']:.3f}: its rule does not count shared tokens alone."
    return text


def _direction(tokens: Iterable[str]) -> str:
    """Return the direction of the first character that has one, as ``dir="auto"`` would."""
    for token in tokens:
        for character in token:
            direction = unicodedata.bidirectional(character)
            if direction in ("L", "R", "AL"):
                return "ltr" if direction == "L" else "rtl"
    return "ltr"


def _lang(language: str | None) -> str:
    try:
        return "" if language is None else f' lang="{find_language(language).code}"'
    except InputError:  # of a row with a language of its own
        return ""
