"""The tokenizers, held against the packages they wrap, and against what those packages may not do here.

No tokenizer loses a character, breaks under threads, prints, leaves files behind, or listens to what other code
did to the package it wraps; a missing package is an error, never another tokenizer.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import subprocess
import sys
import threading
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_scoring import score_multilingual_squad
from qa_scoring.errors import InputError, MissingPackageError
from qa_scoring.text.languages import LANGUAGES
from qa_scoring.text.normalize import squad_words
from qa_scoring.text.tokenizers import TOKENIZER_NAMES, custom_tokenizer, load_tokenizer
from tests.conftest import data_path, read_json

unhurried = settings(deadline=None)

# Text for every tokenizer: scripts with and without spaces, marks, quotes, digits, what a word boundary may be.
SAMPLES = [language.sample for language in LANGUAGES] + [
    "在 iPhone 8 和 Galaxy 9 之间",
    "２０１８年１０月３日",
    "𠮷野家で牛丼",
    "コンピュータ ｺﾝﾋﾟｭｰﾀ",
    "เด็กน้ำ กรุงเทพฯ",
    "ພາສາລາວ ២០១៨ ၂၀၁၈",
    "I cannot “wanna” – gimme",
    "a\u0301b x\u200dy z\u00adw",
]


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        timeout=120,
        check=False,
    )


# ------------------------------------------------------------------------------------------------- registry


def test_registry_names() -> None:
    assert set(TOKENIZER_NAMES) == {
        *("whitespace", "char", "tsheg", "unicode"),
        *("nltk-rule", "nltk-rule-dashes", "nltk-rule-arabic", "nltk"),
        *("jieba", "jieba-blanks", "rjieba", "fugashi", "newmm", "khmercut", "icu"),
    }


@pytest.mark.parametrize("name", ["", "Jieba", "jieba ", "spacy", "plain:whitespace"])
def test_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_tokenizer(name)
    assert repr(name) in str(caught.value)
    assert ", ".join(TOKENIZER_NAMES) in str(caught.value)


def test_the_same_name_gives_the_same_object() -> None:
    assert load_tokenizer("jieba") is load_tokenizer("jieba")


VERSIONS = {
    "whitespace": "1",
    "char": "1",
    "tsheg": "1",
    "unicode": rf"1\+unicode\.{re.escape(unicodedata.unidata_version)}",
    "nltk-rule": r"3\.8\.1",
    "nltk-rule-dashes": r"3\.9\.3",
    "nltk-rule-arabic": r"3\.8\.1",
    "nltk": r"<nltk>",
    # jieba 0.42.1's dictionary has this checksum: CRC-32 of dict.txt in its sdist on PyPI
    "jieba": r"<jieba>\+dict\.1394096d",
    "jieba-blanks": r"<jieba>\+dict\.1394096d",
    "rjieba": r"<rjieba>",
    "fugashi": r"<fugashi>\+unidic-lite\.<unidic-lite>",
    "newmm": r"<pythainlp>",
    "khmercut": r"<khmercut>",
    "icu": r"<icu4py>\+icu\.\d+\.\d+.*",
}


@pytest.mark.parametrize("name", TOKENIZER_NAMES)
def test_version_names_the_package_and_its_dictionary(name: str) -> None:
    pattern = re.sub("<(.+?)>", lambda found: re.escape(metadata.version(found[1])), VERSIONS[name])
    tokenizer = load_tokenizer(name)
    assert tokenizer.name == name
    assert re.fullmatch(pattern, tokenizer.version)


# ------------------------------------------------------------------------------------------ missing packages

WRAPPED = [
    ("rjieba", "rjieba", "zh-fast"),
    ("fugashi", "fugashi", "ja"),
    ("fugashi", "unidic_lite", "ja"),
    ("newmm", "pythainlp", "th"),
    ("khmercut", "khmercut", "km"),
    ("icu", "icu4py", "icu"),
]


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for module in list(sys.modules):
        if module == package or module.startswith(f"{package}."):
            monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    load_tokenizer.cache_clear()


@pytest.fixture
def _fresh_tokenizers() -> Iterator[None]:
    load_tokenizer.cache_clear()
    yield
    load_tokenizer.cache_clear()


@pytest.mark.usefixtures("_fresh_tokenizers")
@pytest.mark.parametrize(("name", "package", "extra"), WRAPPED)
def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, name: str, package: str, extra: str) -> None:
    hide(monkeypatch, package)
    with pytest.raises(MissingPackageError) as caught:
        load_tokenizer(name)
    assert f'pip install "qa-scoring[{extra}]"' in str(caught.value)
    assert package in str(caught.value)
    assert isinstance(caught.value, ImportError)
    assert extra in metadata.metadata("qa-scoring").get_all("Provides-Extra")


NEVER_REPLACED = """
import sys
sys.modules[{package!r}] = None
from qa_scoring import score_multilingual_squad
from qa_scoring.errors import MissingPackageError
try:
    score_multilingual_squad(["x y"], ["x"], language={language!r})
except MissingPackageError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("language", "package", "install"),
    [
        ("zh", "jieba", "pip install jieba"),  # not an extra: every installation has it
        ("ja", "fugashi", 'pip install "qa-scoring[ja]"'),
        ("ja", "unidic_lite", 'pip install "qa-scoring[ja]"'),
        ("th", "pythainlp", 'pip install "qa-scoring[th]"'),
        ("km", "khmercut", 'pip install "qa-scoring[km]"'),
        ("lo", "icu4py", 'pip install "qa-scoring[icu]"'),
        ("my", "icu4py", 'pip install "qa-scoring[icu]"'),
    ],
)
def test_missing_package_of_a_language_is_never_replaced(language: str, package: str, install: str) -> None:
    run = run_python(NEVER_REPLACED.format(language=language, package=package))
    assert run.returncode == 0, run.stderr
    assert install in run.stdout


# ------------------------------------------------------------------------------------- what is common to all


@pytest.mark.parametrize("name", TOKENIZER_NAMES)
def test_no_words_give_no_tokens(name: str) -> None:
    assert load_tokenizer(name)([]) == []


def check_nothing_is_lost(name: str, text: str, *, dropped: str = "") -> None:
    words = squad_words(text)
    before = list(words)
    tokens = load_tokenizer(name)(words)
    assert words == before
    assert type(tokens) is list
    assert all(tokens)
    if name == "jieba-blanks":
        tokens = [token for token in tokens if token != " "]
    assert not any(character.isspace() for token in tokens for character in token)
    assert "".join(tokens) == "".join(words).translate(str.maketrans("", "", dropped))


TSHEGS = "\u0f0b\u0f0c"
# MeCab reads C strings: to it a NUL is a space.
DROPPED = {"tsheg": TSHEGS, "fugashi": "\x00"}

any_text = st.text() | st.lists(st.sampled_from([*SAMPLES, " ", TSHEGS, "\x00", "の", "ก็"]), max_size=4).map("".join)


def test_a_word_that_begins_with_a_combining_mark_keeps_no_space() -> None:
    pytest.importorskip("icu4py")
    check_nothing_is_lost("icu", "b a \u0bc6")


@pytest.mark.parametrize("name", TOKENIZER_NAMES)
@unhurried
@given(any_text)
def test_no_character_is_lost(name: str, text: str) -> None:
    check_nothing_is_lost(name, text, dropped=DROPPED.get(name, ""))


@pytest.mark.parametrize("name", TOKENIZER_NAMES)
def test_no_character_of_a_long_answer_is_lost(name: str) -> None:
    for text in ("東京都庁は新宿にある", "清华大学位于北京", "กรุงเทพมหานครเป็นเมืองหลวง", "ភ្នំពេញជារាជធានី", "one two "):
        check_nothing_is_lost(name, (text * 2000)[:10_000])


@pytest.mark.parametrize("name", TOKENIZER_NAMES)
def test_eight_threads_give_the_tokens_of_one(name: str) -> None:
    tokenize = load_tokenizer(name)
    texts = [squad_words(text) for text in SAMPLES]
    expected = [tokenize(words) for words in texts]
    start = threading.Barrier(8)

    def work(seed: int) -> list[list[str]]:
        order = list(range(len(texts))) * 5
        random.Random(seed).shuffle(order)
        found: list[list[str]] = [[] for _ in texts]
        start.wait()
        for index in order:
            found[index] = tokenize(texts[index])
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [expected] * 8


LOAD_IN_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from qa_scoring.text.tokenizers import load_tokenizer
sys.setswitchinterval(1e-5)
with ThreadPoolExecutor(8) as pool:
    results = list(pool.map(lambda _: load_tokenizer({name!r})(["北京大学", "ភ្នំពេញ", "กรุงเทพ"]), range(8)))
assert results == results[:1] * 8 and results[0], results
"""


@pytest.mark.parametrize("name", ["jieba", "rjieba", "fugashi", "newmm", "khmercut", "icu"])
def test_first_use_may_come_from_eight_threads_at_once(name: str) -> None:
    run = run_python(LOAD_IN_THREADS.format(name=name))
    assert run.returncode == 0, run.stderr


def files_below(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


USE = """
from qa_scoring.text.tokenizers import load_tokenizer
assert load_tokenizer({name!r})(["北京大学", "ភ្នំពេញ", "กรุงเทพ"])
"""


@pytest.mark.parametrize("name", TOKENIZER_NAMES)
def test_no_output_and_no_files(name: str, tmp_path: Path) -> None:
    run = run_python(USE.format(name=name), TMPDIR=str(tmp_path), HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert files_below(tmp_path) == []


# ---------------------------------------------------------------------------------------------------- Chinese


def squad_answers(*path: str) -> Iterator[str]:
    for article in read_json(data_path(*path))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield from (answer["text"] for answer in question["answers"])


def m2qa_answers(language: str) -> Iterator[str]:
    # Encrypted as published, so that no crawler reads it; the password stands in its README. Never written out.
    with zipfile.ZipFile(data_path("m2qa", f"{language}.zip")) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                for line in archive.read(name, pwd=b"m2qa").decode("utf-8").splitlines():
                    yield from json.loads(line)["answers"]["text"]


CHINESE_GOLDS: dict[str, tuple[Callable[[], Iterator[str]], int]] = {
    "xquad": (partial(squad_answers, "xquad", "xquad.zh.json"), 1190),
    "cmrc": (partial(squad_answers, "cmrc2018", "cmrc2018_dev.json"), 9657),
    "drcd": (partial(squad_answers, "drcd", "DRCD_dev.json"), 7048),
    "m2qa": (partial(m2qa_answers, "chinese"), 2700),
}


def chinese_golds(name: str) -> list[list[str]]:
    read, count = CHINESE_GOLDS[name]
    texts = list(read())
    assert len(texts) == count
    return [squad_words(text) for text in texts]


@pytest.fixture(scope="module")
def plain_jieba(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[str]]:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    segmenter = jieba.Tokenizer()
    segmenter.tmp_dir = str(tmp_path_factory.mktemp("jieba"))
    return lambda words: list(segmenter.cut(" ".join(words)))


@pytest.mark.parametrize("gold_set", CHINESE_GOLDS)
def test_jieba_tokens_are_those_of_plain_jieba(gold_set: str, plain_jieba: Callable[[list[str]], list[str]]) -> None:
    with_blanks, without = load_tokenizer("jieba-blanks"), load_tokenizer("jieba")
    for words in chinese_golds(gold_set):
        expected = plain_jieba(words)
        assert with_blanks(words) == expected
        assert without(words) == [token for token in expected if token != " "]


@pytest.mark.parametrize("gold_set", CHINESE_GOLDS)
def test_rjieba_tokens_are_those_of_jieba(gold_set: str) -> None:
    jieba, rjieba = load_tokenizer("jieba"), load_tokenizer("rjieba")
    assert [words for words in chinese_golds(gold_set) if rjieba(words) != jieba(words)] == []


# TOKENIZATION.md, section 1: golds for which M2QA's metric counts a space as a token.
@pytest.mark.parametrize(("gold_set", "count"), [("m2qa", 660), ("xquad", 92)])
def test_golds_with_a_blank_token(gold_set: str, count: int) -> None:
    tokenize = load_tokenizer("jieba-blanks")
    assert sum(" " in tokenize(words) for words in chinese_golds(gold_set)) == count


def test_blank_tokens_count_as_common_tokens_in_m2qa_only() -> None:
    def f1(**choice: Any) -> float:
        return score_multilingual_squad(["Galaxy 9"], ["iPhone 8"], language="zh", **choice).result["f1"]

    assert load_tokenizer("jieba-blanks")(["iphone", "8"]) == ["iphone", " ", "8"]
    assert load_tokenizer("jieba")(["iphone", "8"]) == ["iphone", "8"]
    assert f1(scheme="m2qa") == pytest.approx(100 / 3)
    assert f1() == 0.0


CHANGE_JIEBA = """
import json, sys, jieba
from qa_scoring.text.tokenizers import load_tokenizer
jieba.setLogLevel(60)
texts = ["清华大学位于北京", "他来到了网易杭研大厦", "李小福是创新办主任也是云计算方面的专家"]
plain = lambda: [list(jieba.cut(text)) for text in texts]
def change():
    jieba.add_word("位于北京"); jieba.del_word("清华大学"); jieba.load_userdict([{word!r}])
    jieba.suggest_freq(("主", "任"), tune=True)
before = plain()
if {when!r} == "before":
    change()
ours = load_tokenizer("jieba")
first = [ours([text]) for text in texts]
change()
print(json.dumps([before, plain(), first, [ours([text]) for text in texts]]))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_changes_to_the_shared_jieba_do_not_reach_ours(when: str, tmp_path: Path) -> None:
    run = run_python(CHANGE_JIEBA.format(when=when, word="云计算方面 100000"), TMPDIR=str(tmp_path))
    assert run.returncode == 0, run.stderr
    before, changed, first, second = json.loads(run.stdout)
    assert changed != before  # the changes are real,
    assert {"位于北京", "云计算方面"} <= {token for tokens in changed for token in tokens}
    assert first == second == before  # and ours are not


def test_plain_jieba_does_what_ours_must_not(tmp_path: Path) -> None:
    # The control for test_no_output_and_no_files.
    run = run_python("import jieba; list(jieba.cut('北京大学'))", TMPDIR=str(tmp_path))
    assert "Building prefix dict" in run.stderr
    assert files_below(tmp_path) == ["jieba.cache"]


QUIET_LOGGING = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
from qa_scoring.text.tokenizers import load_tokenizer
load_tokenizer("jieba")(["北京大学"])
"""


def test_jieba_sends_nothing_to_the_callers_log() -> None:
    run = run_python(QUIET_LOGGING)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# --------------------------------------------------------------------------------------------------- Japanese

FUGASHI = """
import json
from qa_scoring.text.tokenizers import load_tokenizer
tokenizer = load_tokenizer("fugashi")
print(json.dumps([tokenizer.version, tokenizer(["東京都庁は新宿にある", "2018年"])]))
"""


def test_fugashi_takes_unidic_lite_though_others_are_set_up(tmp_path: Path) -> None:
    # Another dictionary, as MeCab and fugashi look for one: MECABRC, ~/.mecabrc and the module `unidic`. It is
    # empty, so taking it fails.
    (tmp_path / "other").mkdir()
    (tmp_path / ".mecabrc").write_text(f"dicdir = {tmp_path / 'other'}\n")
    (tmp_path / "unidic.py").write_text(f"DICDIR = {str(tmp_path / 'other')!r}\nVERSION = 'other'\n")
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    elsewhere = {"MECABRC": str(tmp_path / ".mecabrc"), "HOME": str(tmp_path), "PYTHONPATH": paths}
    usual = run_python(FUGASHI)
    run = run_python(FUGASHI, **elsewhere)
    assert run.returncode == 0, run.stderr
    assert run.stdout == usual.stdout
    version, tokens = json.loads(run.stdout)
    assert f"unidic-lite.{metadata.version('unidic-lite')}" in version
    assert tokens == ["東京", "都庁", "は", "新宿", "に", "ある", "2018", "年"]
    # The control: fugashi left to itself does look there.
    control = run_python("import fugashi; print(fugashi.GenericTagger('-Owakati').parse('東京都庁'))", **elsewhere)
    assert control.returncode != 0


def test_fugashi_reads_past_a_nul() -> None:
    assert load_tokenizer("fugashi")(["日本\x00東京", "タワー"]) == ["日本", "東京", "タワー"]


# ----------------------------------------------------------------------------------- Thai, Khmer, Lao, Burmese


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("newmm", "กรุงเทพมหานครเป็นเมืองหลวง", ["กรุงเทพมหานคร", "เป็น", "เมืองหลวง"]),
        ("newmm", "ปี 2018", ["ปี", "2018"]),
        ("icu", "北京大学位于 北京", ["北京", "大学", "位于", "北京"]),
        ("icu", "one two, 3", ["one", "two", "3"]),
        ("icu", "«один»", ["«", "один", "»"]),
        ("tsheg", "བོད་ཀྱི་སྐད༌ཡིག་", ["བོད", "ཀྱི", "སྐད", "ཡིག"]),
        ("char", "서울 시 a1", ["서", "울", "시", "a", "1"]),
        ("whitespace", "one  two\tthree", ["one", "two", "three"]),
    ],
)
def test_tokens(name: str, text: str, tokens: list[str]) -> None:
    assert load_tokenizer(name)(squad_words(text)) == tokens


@pytest.mark.parametrize("name", ["icu", "newmm", "khmercut", "fugashi", "jieba", "rjieba"])
def test_blanks_between_words_are_no_tokens(name: str) -> None:
    assert load_tokenizer(name)(["one", "two", "three"]) == ["one", "two", "three"]


# ------------------------------------------------------------------------------------ the script-aware splitter


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("กรุงเทพ", ["ก", "รุ", "ง", "เท", "พ"]),  # vowel sign below stays; leading vowel joins what follows
        ("น้ำ", ["น้ำ"]),  # tone mark and SARA AM
        ("มา", ["ม", "า"]),  # SARA AA is a letter of its own
        ("นะ", ["นะ"]),  # SARA A joins the consonant before it
        ("ไทย", ["ไท", "ย"]),
        ("ເວົ້າ", ["ເວົ້", "າ"]),
        ("ນ້ຳ", ["ນ້ຳ"]),
        ("ភ្នំពេញ", ["ភ្នំ", "ពេ", "ញ"]),  # stacked by COENG
        ("ရန်ကုန်မြို့", ["ရ", "န်", "ကု", "န်", "မြို့"]),
        ("သတ္တ", ["သ", "တ္တ"]),  # stacked by VIRAMA
        ("སྐད་ཡིག", ["སྐ", "ད", "་", "ཡི", "ག"]),  # stacked by subjoined letters
        ("北京大学", ["北", "京", "大", "学"]),
        ("𠮷野家", ["𠮷", "野", "家"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),  # variation selector
        ("ガギ", ["ガ", "ギ"]),
        ("か\u3099", ["か\u3099"]),  # combining voiced mark
        ("ｶﾞｷﾞ", ["ｶﾞ", "ｷﾞ"]),
        ("人々", ["人", "々"]),
        ("北京2008奥运 in Beijing", ["北", "京", "2008", "奥", "运", "in", "beijing"]),
        ("iPhone８です", ["iphone８", "で", "す"]),
        ("ปี2018", ["ปี", "2018"]),
        ("한국어 문장", ["한국어", "문장"]),  # Korean is spaced
        ("Hà Nội", ["hà", "nội"]),
        ("नई दिल्ली", ["नई", "दिल्ली"]),  # so are the Indic scripts
        ("«Спартак» Москва", ["«спартак»", "москва"]),
    ],
)
def test_script_aware_splitter(text: str, tokens: list[str]) -> None:
    assert load_tokenizer("unicode")(squad_words(text)) == tokens


@unhurried
@given(st.text(st.characters(max_codepoint=0xDFF)))
def test_script_aware_splitter_splits_spaced_scripts_at_white_space_only(text: str) -> None:
    words = squad_words(text)
    assert load_tokenizer("unicode")(words) == words


# --------------------------------------------------------------------------------------------- custom functions


class Splitter:
    def __call__(self, text: str) -> list[str]:
        return text.split("x")


@pytest.mark.parametrize("function", [Splitter(), lambda text: text.split("x"), partial(re.split, "x")])
def test_custom_function_gets_the_normalised_text(function: Callable[[str], list[str]]) -> None:
    tokenizer = custom_tokenizer(function)
    assert tokenizer(["axb", "c"]) == ["a", "b c"]
    result = score_multilingual_squad(["1 x 2"], ["1x3"], tokenizer=function).result
    assert 0.0 <= result["f1"] < 100.0


def test_custom_function_is_named_in_the_signature() -> None:
    tokenizer = custom_tokenizer(Splitter())
    assert tokenizer.name == f"custom({__name__}.Splitter)"
    signature = str(score_multilingual_squad(["a"], ["b"], tokenizer=Splitter()).signature)
    assert "custom" in signature
    assert "Splitter" in signature


@pytest.mark.parametrize("value", [None, "a b", ("a",), {"a"}, ["a", None], [1], [["a"]], iter(["a"]), [b"a"]])
def test_custom_function_that_returns_no_list_of_strings(value: object) -> None:
    with pytest.raises(InputError, match="must return a list of strings") as caught:
        score_multilingual_squad(["one two"], ["one"], tokenizer=lambda text: value)
    assert "'one two'" in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [3, ["jieba"], b"jieba", 1.5, True])
def test_tokenizer_that_is_neither_name_nor_function(value: object) -> None:
    with pytest.raises(InputError, match="'tokenizer' must be a tokenizer's name or a function"):
        score_multilingual_squad(["a"], ["b"], tokenizer=value)  # type: ignore[arg-type]


def test_errors_of_a_custom_function_are_the_callers_own() -> None:
    def fail(text: str) -> list[str]:
        raise KeyError(text)

    with pytest.raises(KeyError):
        score_multilingual_squad(["x y"], ["y"], tokenizer=fail)


def test_custom_function_named_nltk_rule_equals_the_tokenizer_of_that_name() -> None:
    rule = load_tokenizer("nltk-rule")
    choices = ("nltk-rule", lambda text: rule(text.split()))
    by_name, by_function = (
        score_multilingual_squad(["you “cannot” go"], ["I can not go"], tokenizer=choice).result for choice in choices
    )
    assert by_name == by_function
    assert 0.0 < by_name["f1"] < 100.0
