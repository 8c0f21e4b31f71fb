"""What an upload may be: size, kind, rows; every refusal is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qa_scoring.app import limits
from qa_scoring.errors import InputError


def refusal(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        limits.check_upload(path, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("big.json", b" " * (21 * 1024**2), "21.0 MB"),
        ("rows.zip", b"PK\x03\x04\x14\0\0\0", "a zip archive"),
        ("program.json", b"\x7fELF\x02\x01\x01\0\0", "a program"),
        ("program.csv", b"MZ\x90\0\x03", "a program"),
        ("wide.json", '{"a": "b"}'.encode("utf-16"), "not text in UTF-8"),
        ("text.parquet", b"id,prediction\n", "not a Parquet file"),
        ("broken.parquet", b"PAR1" + b"\0" * 100, "not valid Parquet"),
        ("many.csv", b"id,prediction\n" + b"a,b\n" * 1_000_000, "1,000,000 rows"),
        ("many.jsonl", b"{}\n" * 1_000_000, "1,000,000 rows"),
        ("many.json", b"[" + b"{}," * 1_000_000 + b"{}]", "more than 1,000,000 JSON objects"),
    ],
)
def test_refused(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    message = refusal(tmp_path, name, content)
    assert name in message
    assert expected in message
    assert str(tmp_path) not in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"q1": "Paris"}'),
        ("a.csv", b'id,prediction\nq1,"two\nlines"\n'),
        ("maze.csv", b"MZ,prediction\nq1,Paris\n"),
        ("a.jsonl", b'{"id": "q1", "prediction": "x"}\n' * limits.ROWS),
    ],
)
def test_taken(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    limits.check_upload(tmp_path / name, name)


def test_a_link_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(InputError, match="not a file"):
        limits.check_upload(tmp_path / "link.json", "link.json")


@pytest.mark.parametrize("nested", [False, True])
def test_parquet_that_unpacks_to_gigabytes_is_refused_unread(tmp_path: Path, nested: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    long, rows = "x" * 1_000_000, 5_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([long]))
    column = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), texts) if nested else texts
    path = tmp_path / "bomb.parquet"
    parquet.write_table(pa.table({"answers": column}), path, compression="zstd")
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match="more than 128 MB when it is unpacked"):
        limits.check_upload(path, "bomb.parquet")


def test_parquet_with_too_many_rows_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "many.parquet"
    parquet.write_table(pa.table({"prediction": pa.array(["a"] * (limits.ROWS + 1))}), path)
    with pytest.raises(InputError, match="50,001 rows"):
        limits.check_upload(path, "many.parquet")


def test_long_texts_are_named_by_row() -> None:
    limits.check_texts([{"answers": ["x" * limits.CHARACTERS]}], "a.json")
    with pytest.raises(InputError, match=r"a\.json, row 1: .* has 20,001 characters"):
        limits.check_texts([json.loads('{"n": 1}'), {"answers": {"text": ["x" * 20_001]}}], "a.json")
