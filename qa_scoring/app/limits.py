"""What the demo takes, stated on the page, and the first look at an uploaded file."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from qa_scoring.errors import InputError, shorten

UPLOAD_BYTES = 20 * 1024**2
ROWS = 50_000
CHARACTERS = 20_000
GROUPS = 200
PAGE_ROWS = 100
ANSWER_CHARACTERS = 4_000  # of one answer, one question, and all references of one answer
REFERENCES = 50
TOKENIZED_CHARACTERS = 2_000
_OBJECTS = 20 * ROWS  # JSON objects and lists in a file: a question has some, with its answers
_UNPACKED_BYTES = 128 * 1024**2  # a Parquet file of a few kilobytes can hold gigabytes

TEXT = (
    f"Limits: files of up to {UPLOAD_BYTES // 1024**2} MB, {ROWS:,} rows, {CHARACTERS:,} characters in a text, "
    f"{GROUPS} groups. Files are deleted as soon as they are read."
)

_BINARY = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
}
_EXPECTED = "Upload JSON, JSON Lines, CSV, TSV or Parquet."


def plain_name(name: str) -> str:
    r"""Return a file's name without the invisible characters that turn the text around them.

    Args:
        name: As the user's computer has it.

    Returns:
        The name; a script's own right-to-left letters stay.

    Example:
        >>> plain_name("report\u202enosj.exe")
        'reportnosj.exe'
    """
    # Cc and Cf: controls, marks of direction; the joiner of emoji (U+200D) and the one of Persian (U+200C) belong
    return "".join(
        character
        for character in name
        if unicodedata.category(character) not in ("Cc", "Cf") or character in "\u200c\u200d"
    )


def short_name(name: str) -> str:
    """Return a file's name for a sentence.

    Args:
        name: The name.

    Returns:
        Its beginning and its end where it is long.

    Example:
        >>> short_name("x" * 200 + ".json")
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxx.json'
    """
    return name if len(name) <= 60 else f"{name[:40]}…{name[-19:]}"


def check_upload(path: Path, name: str) -> None:
    """Refuse a file that is too large, or none that is read here, before it is parsed.

    Args:
        path: Where the file lies.
        name: What the user calls it; its ending says how it is read.

    Raises:
        InputError: It is no file, too large, of another kind, or holds too many rows.
    """
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{name} is not a file.")
    size = path.stat().st_size
    if size > UPLOAD_BYTES:
        raise InputError(
            f"{name} has {size / 1024**2:.1f} MB; a file may have up to {UPLOAD_BYTES // 1024**2} MB. Use the command "
            f"line for larger ones."
        )
    content = path.read_bytes()
    suffix = Path(name).suffix.lower()
    if content.startswith(b"PAR1"):
        _check_parquet(path, name)
        return
    if b"\0" in content or suffix == ".parquet":
        kind = next((kind for start, kind in _BINARY.items() if content.startswith(start)), None)
        if kind is None:
            kind = "not a Parquet file" if suffix == ".parquet" else "not text in UTF-8"
        raise InputError(f"{name} is {kind}. {_EXPECTED}")
    if suffix in (".jsonl", ".ndjson"):
        check_rows(sum(1 for line in content.split(b"\n") if line.strip()), name)
    elif suffix in (".csv", ".tsv"):
        check_rows(_csv_rows(content, "\t" if suffix == ".tsv" else ","), name)
    elif content.count(b"{") + content.count(b"[") > _OBJECTS:
        raise InputError(
            f"{name} holds more than {_OBJECTS:,} JSON objects and lists, which is more than {ROWS:,} rows."
        )


def check_rows(count: int, name: str) -> None:
    """Refuse too many rows.

    Args:
        count: How many there are.
        name: Of what, for the message.

    Raises:
        InputError: There are more than ``ROWS``.
    """
    if count > ROWS:
        raise InputError(f"{name} has {count:,} rows; the page takes up to {ROWS:,}. Use the command line for more.")


def check_texts(texts: Iterable[Any], name: str) -> None:
    """Refuse a text that is too long.

    Args:
        texts: One item per row: strings, and lists or records that hold strings; anything else is passed over.
        name: Of what, for the message.

    Raises:
        InputError: A text has more than ``CHARACTERS`` characters.
    """
    for row, item in enumerate(texts):
        for text in _strings(item):
            if len(text) > CHARACTERS:
                raise InputError(
                    f"{name}, row {row}: the text {shorten(text, 40)} has {len(text):,} characters; the page takes up "
                    f"to {CHARACTERS:,}."
                )


def check_text(name: str, text: object, longest: int) -> None:
    """Validate a text that was typed or sent.

    Args:
        name: What it is, for the message.
        text: Anything.
        longest: Longest text, in characters.

    Raises:
        InputError: It is not a text, too long, or cannot be written as UTF-8.

    Example:
        >>> check_text("answer", "in Paris", longest=100)
    """
    if not isinstance(text, str):
        raise InputError(f"The {name} must be a text; got {type(text).__name__}.")
    if len(text) > longest:
        raise InputError(f"The {name} has {len(text):,} characters; at most {longest:,} are read here. Shorten it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"Character {error.start + 1} of the {name} is half of a pair (U+{ord(text[error.start]):04X}), which is "
            f"no text. Remove it."
        ) from error


def _strings(item: Any) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    elif isinstance(item, Mapping):
        for part in item.values():
            yield from _strings(part)
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from _strings(part)


def _csv_rows(content: bytes, delimiter: str) -> int:
    """Return how many records there are, without keeping them; broken files are reported where they are read."""
    text = io.StringIO(content.decode("utf-8", errors="replace"), newline="")
    previous = csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    try:
        return sum(1 for _ in csv.reader(text, delimiter=delimiter)) - 1
    except csv.Error:
        return 0
    finally:
        csv.field_size_limit(previous)


def _check_parquet(path: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        facts = parquet.read_metadata(path)
        check_rows(facts.num_rows, name)
        chunks = [
            facts.row_group(group).column(place)
            for group in range(facts.num_row_groups)
            for place in range(facts.num_columns)
        ]
        values = sum(chunk.num_values for chunk in chunks)
        packed = sum(chunk.total_uncompressed_size for chunk in chunks)
        size = max(packed, 8 * values)
        if size <= _UNPACKED_BYTES:
            # Repeated strings are stored once: how much they are unpacked is counted before it is done.
            texts = {chunk.path_in_schema for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"}
            table = parquet.read_table(path, read_dictionary=sorted(texts))
            size = sum(_unpacked(chunk) for column in table.columns for chunk in column.chunks)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name} is not valid Parquet: {error}.") from None
    if size > _UNPACKED_BYTES:
        raise InputError(f"{name} holds more than {_UNPACKED_BYTES // 1024**2} MB when it is unpacked; upload less.")


def _unpacked(array: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_dictionary(array.type):
        lengths = compute.binary_length(array.dictionary.cast(pa.large_binary()))
        return compute.sum(compute.cast(lengths.take(array.indices), pa.int64())).as_py() or 0
    if pa.types.is_struct(array.type):
        return sum(map(_unpacked, array.flatten()))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _unpacked(array.flatten())
    return int(array.nbytes)
