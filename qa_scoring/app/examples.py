"""Examples that load with one click, written for this page."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """Rows in one language.

    Args:
        language: Registry code.
        table: Rows of cells, in the order of ``inputs.COLUMNS``.
    """

    language: str
    table: list[list[str]]


def _rows(code: str, *rows: tuple[str, str, str, str]) -> Example:
    """Build an example of (question, prediction, references, group) per row."""
    return Example(code, [[f"{code}-{number}", *row, ""] for number, row in enumerate(rows, start=1)])


EXAMPLES = {
    "English": _rows(
        "en",
        ("Who repaired the lighthouse lamp?", "Ada Brook, the keeper", "Ada Brook", "people"),
        ("How many boats came back?", "7", '["seven", "seven boats"]', "numbers"),
        ("What did the keeper drink?", "some coffee", "tea", "things"),
        ("When was the pier built?", "in the spring of 1902", '["1902", "spring 1902"]', "numbers"),
        ("Who paid for the new lamp?", "", "", "people"),
        ("What colour was the first lamp?", "green", "", "things"),
    ),
    "Deutsch (German)": _rows(
        "de",
        ("Wer leitete das Orchester?", "die Dirigentin Lena Voss", "Lena Voss", "Personen"),
        ("Wo fand das Konzert statt?", "im „Alten Speicher“", '["Alter Speicher", "im Alten Speicher"]', "Orte"),
        ("Wie viele Gäste kamen?", "rund 300", "rund 300 Gäste", "Zahlen"),
        ("Wann endete die Probe?", "", "gegen Mitternacht", "Zahlen"),
        ("Wer schrieb die Kritik?", "", "", "Personen"),
    ),
    "Türkçe (Turkish)": _rows(
        "tr",
        ("Pazar nerede kuruldu?", "Kadıköy’ün meydanında", "Kadıköy meydanında", "yer"),
        ("Balıkçı kaç kilo hamsi sattı?", "kırk kilo", '["kırk kilo", "40 kilo"]', "sayı"),
        ("Işık ne zaman söndü?", "akşam", "akşam saat dokuzda", "zaman"),
        ("Fırıncının adı neydi?", "", "", "kişi"),
    ),
    "中文 (Chinese)": _rows(
        "zh",
        ("图书馆在哪里？", "在南京路的旧邮局里", '["旧邮局里", "南京路的旧邮局"]', "地点"),
        ("谁设计了那座桥？", "工程师林晓", "林晓", "人物"),
        ("展览有多少件陶器？", "三十六件", "36件", "数字"),
        ("第一批茶叶卖给了谁？", "", "", "人物"),
    ),
    "日本語 (Japanese)": _rows(
        "ja",
        ("祭りはどこで開かれましたか。", "川沿いの小さな神社", '["川沿いの神社", "小さな神社"]', "場所"),
        ("太鼓をたたいたのは誰ですか。", "中学生の遥", "遥", "人"),
        ("灯籠はいくつ流されましたか。", "百二十個", "120個", "数"),
        ("翌年の会場はどこですか。", "", "", "場所"),
    ),
    "ไทย (Thai)": _rows(
        "th",
        ("ตลาดน้ำเปิดวันไหน", "ทุกวันเสาร์และอาทิตย์", '["วันเสาร์และวันอาทิตย์", "เสาร์อาทิตย์"]', "เวลา"),
        ("ใครเป็นคนพายเรือ", "คุณยายสมศรี", "ยายสมศรี", "คน"),
        ("ขนมราคาเท่าไร", "ยี่สิบบาท", "20 บาท", "จำนวน"),
        ("สะพานเก่าอยู่ที่ไหน", "", "", "สถานที่"),
    ),
    "العربية (Arabic)": _rows(
        "ar",
        ("أين وُلدت الكاتبة؟", "في مدينة حلب", '["حلب", "مدينة حلب"]', "أماكن"),
        ("من رسم الخريطة القديمة؟", "الرحّالة سالم", "سالم الرحالة", "أشخاص"),
        ("كم كتابًا في الخزانة؟", "أربعون كتابًا", '["٤٠ كتابًا", "أربعون"]', "أعداد"),
        ("متى أُغلق المتحف؟", "", "", "أزمنة"),
    ),
}
"""Name on the page → the example."""
