"""Examples that load with one click, written for this page: two systems' answers, in seven languages."""

from __future__ import annotations

import csv
import io
import json
from typing import NamedTuple


class Row(NamedTuple):
    """One question of an example.

    Args:
        question: The question.
        prediction: The answer of a system.
        other: The answer of another one.
        references: The right answers; none where the question has none.
        group: A column to group by.
        no_answer: How sure the first system is that there is no answer, from 0 to 1.
    """

    question: str
    prediction: str
    other: str
    references: list[str]
    group: str
    no_answer: float


class Example(NamedTuple):
    """Rows in one language.

    Args:
        language: Registry code.
        rows: The rows.
    """

    language: str
    rows: list[Row]

    def table(self) -> list[list[str]]:
        """Return the first system's rows in cells, in the order of ``inputs.COLUMNS``."""
        return [
            [
                f"{self.language}-{number}",
                row.question,
                row.prediction,
                _cell(row.references),
                row.group,
                str(row.no_answer),
            ]
            for number, row in enumerate(self.rows, start=1)
        ]

    def with_values(self) -> str:
        """Return the first system's rows with their no-answer values, as CSV."""
        return _csv(
            ("question", "prediction", "references", "no_answer"),
            [[row.question, row.prediction, _cell(row.references), str(row.no_answer)] for row in self.rows],
        )

    def side_by_side(self) -> str:
        """Return both systems' answers as CSV, under ``a`` and ``b``."""
        return _csv(
            ("question", "a", "b", "references"),
            [[row.question, row.prediction, row.other, _cell(row.references)] for row in self.rows],
        )


def _cell(references: list[str]) -> str:
    return json.dumps(references, ensure_ascii=False) if len(references) > 1 else "".join(references)


def _csv(header: tuple[str, ...], lines: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()


EXAMPLES = {
    "English": Example(
        "en",
        [
            Row(
                "Who repaired the lighthouse lamp?", "Ada Brook, the keeper", "Ada Brook", ["Ada Brook"], "people", 0.05
            ),
            Row("How many boats came back?", "7", "seven", ["seven", "seven boats"], "numbers", 0.22),
            Row("What did the keeper drink?", "some coffee", "strong tea", ["tea"], "things", 0.64),
            Row("When was the pier built?", "spring 1902", "1920", ["1902", "spring 1902"], "numbers", 0.31),
            Row("Who paid for the new lamp?", "", "the village", [], "people", 0.97),
            Row("What colour was the first lamp?", "green", "", [], "things", 0.83),
        ],
    ),
    "Deutsch (German)": Example(
        "de",
        [
            Row("Wer leitete das Orchester?", "die Dirigentin Lena Voss", "Lena Voss", ["Lena Voss"], "Personen", 0.08),
            Row(
                "Wo fand das Konzert statt?",
                "im „Alten Speicher“",
                "im Hafen",
                ["Alter Speicher", "im Alten Speicher"],
                "Orte",
                0.27,
            ),
            Row("Wie viele Gäste kamen?", "rund 300", "300 Gäste", ["rund 300 Gäste"], "Zahlen", 0.35),
            Row("Wann endete die Probe?", "", "um Mitternacht", ["gegen Mitternacht"], "Zahlen", 0.71),
            Row("Wer schrieb die Kritik?", "Jonas Reh", "", [], "Personen", 0.86),
        ],
    ),
    "Türkçe (Turkish)": Example(
        "tr",
        [
            Row("Pazar nerede kuruldu?", "Kadıköy’ün meydanında", "Kadıköy", ["Kadıköy meydanında"], "yer", 0.12),
            Row("Balıkçı kaç kilo hamsi sattı?", "kırk kilo", "kırk", ["kırk kilo", "40 kilo"], "sayı", 0.04),
            Row("Işık ne zaman söndü?", "akşam", "akşam saat dokuzda", ["akşam saat dokuzda"], "zaman", 0.58),
            Row("Fırıncının adı neydi?", "", "İsmail", [], "kişi", 0.93),
            Row("Tekne hangi limana döndü?", "Bodrum", "", [], "yer", 0.77),
        ],
    ),
    "中文 (Chinese)": Example(
        "zh",
        [
            Row("图书馆在哪里？", "在南京路的旧邮局里", "南京路", ["旧邮局里", "南京路的旧邮局"], "地点", 0.18),
            Row("谁设计了那座桥？", "工程师林晓", "林晓", ["林晓"], "人物", 0.06),
            Row("展览有多少件陶器？", "三十六件", "36件", ["36件"], "数字", 0.41),
            Row("第一批茶叶卖给了谁？", "", "一位商人", [], "人物", 0.95),
            Row("码头是哪一年拆除的？", "1931年", "", [], "数字", 0.69),
        ],
    ),
    "日本語 (Japanese)": Example(
        "ja",
        [
            Row(
                "祭りはどこで開かれましたか。",
                "川沿いの小さな神社",
                "神社",
                ["川沿いの神社", "小さな神社"],
                "場所",
                0.15,
            ),
            Row("太鼓をたたいたのは誰ですか。", "中学生の遥", "遥さん", ["遥"], "人", 0.09),
            Row("灯籠はいくつ流されましたか。", "百二十個", "120個", ["120個"], "数", 0.52),
            Row("翌年の会場はどこですか。", "", "公園", [], "場所", 0.91),
            Row("踊りを教えたのは誰ですか。", "祖母", "", [], "人", 0.74),
        ],
    ),
    "ไทย (Thai)": Example(
        "th",
        [
            Row(
                "ตลาดน้ำเปิดวันไหน",
                "ทุกวันเสาร์และอาทิตย์",
                "วันเสาร์",
                ["วันเสาร์และวันอาทิตย์", "เสาร์อาทิตย์"],
                "เวลา",
                0.21,
            ),
            Row("ใครเป็นคนพายเรือ", "คุณยายสมศรี", "ยายสมศรี", ["ยายสมศรี"], "คน", 0.07),
            Row("ขนมราคาเท่าไร", "ยี่สิบบาท", "20 บาท", ["20 บาท"], "จำนวน", 0.49),
            Row("สะพานเก่าอยู่ที่ไหน", "", "ริมคลอง", [], "สถานที่", 0.94),
            Row("วัดสร้างเมื่อใด", "ปีที่แล้ว", "", [], "เวลา", 0.66),
        ],
    ),
    "العربية (Arabic)": Example(
        "ar",
        [
            Row("أين وُلدت الكاتبة؟", "في مدينة حلب", "حلب", ["حلب", "مدينة حلب"], "أماكن", 0.11),
            Row("من رسم الخريطة القديمة؟", "الرحّالة سالم", "سالم", ["سالم الرحالة"], "أشخاص", 0.24),
            Row("كم كتابًا في الخزانة؟", "أربعون كتابًا", "أربعون", ["٤٠ كتابًا", "أربعون"], "أعداد", 0.38),
            Row("متى أُغلق المتحف؟", "", "في الشتاء", [], "أزمنة", 0.96),
            Row("من دفع ثمن المصباح؟", "أهل القرية", "", [], "أشخاص", 0.72),
        ],
    ),
}
"""Name on the page → the example."""
