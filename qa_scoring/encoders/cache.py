"""Scores kept on disk, so that a second run over the same answers never calls the model, nor loads it.

One SQLite file per folder. A scorer is a key made of everything that changes its scores; what was scored is a digest of
its texts, in order. Several processes may use one file: it is in WAL mode, writers wait for each other, and whoever
comes second with a score finds it there.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from qa_scoring.encoders.scorers import Keep, Progress, Scorer, Scores, Texts, keep_nothing
from qa_scoring.errors import InputError, parameter_error
from qa_scoring.signature import Value

FILE = "scores.sqlite3"
SCHEMA = 1
_APPLICATION = 0x71617363  # "qasc": SQLite's mark of whose file this is
_BUSY_SECONDS = 60.0
_SECONDS_PER_WRITE = 1.0  # of work that a kill can lose; anything milder loses nothing

_TABLES = (
    "CREATE TABLE scorers (scorer INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, facts TEXT NOT NULL)",
    "CREATE TABLE scores (scorer INTEGER NOT NULL REFERENCES scorers, pair BLOB NOT NULL, score REAL NOT NULL, "
    "truncated INTEGER NOT NULL, PRIMARY KEY (scorer, pair)) WITHOUT ROWID",
)


def cache_folder(cache_dir: object) -> Path:
    """Make sure that there is a folder for the cache.

    Args:
        cache_dir: As in ``score_sas``.

    Returns:
        The folder.

    Raises:
        InputError: It is no path, or no folder can be made there.
    """
    if not isinstance(cache_dir, (str, os.PathLike)) or not os.fspath(cache_dir):
        raise parameter_error("cache_dir", "None or a folder", cache_dir)
    folder = Path(os.fsdecode(cache_dir)).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cache_dir={str(folder)!r} cannot be a folder: {error.strerror or error}.") from error
    return folder.resolve()


class ScoreCache:
    """The scores of any number of scorers, in one file.

    Args:
        folder: Where the file is, or will be.

    Raises:
        InputError: The file is not one of this version, or cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        with self._connection() as connection:
            if self._is_empty(connection):
                self._switch_to_wal(connection)
                connection.execute("BEGIN IMMEDIATE")  # of several processes one makes the tables
                if self._is_empty(connection):
                    for table in _TABLES:
                        connection.execute(table)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA}")
                connection.execute("COMMIT")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise InputError(f"{self._path} is a database of another program. Pass another cache_dir.")
        if schema != SCHEMA:
            raise InputError(
                f"{self._path} was written by another version of qa-scoring (schema {schema}; this one has {SCHEMA}). "
                f"Pass another cache_dir, or delete the file."
            )

    def facts(self, key: bytes) -> dict[str, Value] | None:
        """Return what the signature says of a scorer, or None for one that has no scores here."""
        with self._connection() as connection:
            row = connection.execute("SELECT facts FROM scorers WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def add_scorer(self, key: bytes, facts: Mapping[str, Value]) -> None:
        """Make a scorer known, unless it is."""
        with self._connection() as connection:
            connection.execute("INSERT OR IGNORE INTO scorers (key, facts) VALUES (?, ?)", (key, json.dumps({**facts})))

    def find(self, key: bytes, digests: Sequence[bytes]) -> dict[bytes, tuple[float, bool]]:
        """Return the score and the truncated flag of those of the pairs that are here."""
        with self._connection() as connection:
            connection.execute("CREATE TEMP TABLE asked (pair BLOB NOT NULL)")
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO asked VALUES (?)", ((digest,) for digest in digests))
            found = connection.execute(
                "SELECT scores.pair, score, truncated FROM scorers JOIN asked JOIN scores "
                "ON scores.scorer = scorers.scorer AND scores.pair = asked.pair WHERE key = ?",
                (key,),
            ).fetchall()
            connection.execute("COMMIT")
        return {pair: (score, bool(truncated)) for pair, score, truncated in found}

    def add(self, key: bytes, rows: Sequence[tuple[bytes, float, bool]]) -> None:
        """Keep the digest, score and truncated flag of pairs, all of them or none."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            (scorer,) = connection.execute("SELECT scorer FROM scorers WHERE key = ?", (key,)).fetchone()
            connection.executemany(
                "INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?)",
                ((scorer, digest, score, int(truncated)) for digest, score, truncated in rows),
            )
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation: a connection must not cross a thread or a fork."""
        try:
            connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA temp_store = MEMORY")
                yield connection
            finally:
                connection.close()  # rolls back what was not committed
        except sqlite3.OperationalError as error:  # permissions, a full disk, locked for too long
            raise InputError(
                f"{self._path} cannot be read or written: {error}. Pass another cache_dir, or mend it."
            ) from error
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self._path} is no intact SQLite file: {error}. Pass another cache_dir, or delete the file."
            ) from error

    @staticmethod
    def _switch_to_wal(connection: sqlite3.Connection) -> None:
        """Wait for other processes that do the same: of this statement SQLite's own waiting leaves some cases out."""
        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    @staticmethod
    def _is_empty(connection: sqlite3.Connection) -> bool:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return bool(application == 0 and tables == 0)


class CachedScorer:
    """A scorer that asks another one only for items whose scores are not on disk.

    Args:
        cache: Where scores are kept.
        key: What the scorer's key is made of: everything that changes a score.
        load: Loads the scorer; called when it is needed, so not at all where all scores are kept.
    """

    def __init__(self, cache: ScoreCache, key: Mapping[str, object], load: Callable[[], Scorer[Any]]) -> None:
        self._cache = cache
        self._key = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=16).digest()
        self._load = load
        facts = cache.facts(self._key)
        if facts is None:
            facts = dict(load().facts)
            cache.add_scorer(self._key, facts)
        self.facts: Mapping[str, Value] = facts

    def score(self, items: Sequence[Texts], progress: Progress, keep: Keep = keep_nothing) -> Scores:
        """Score items, those on disk without the model; the others are written while they are scored."""
        digests = [texts_digest(item) for item in items]
        found = self._cache.find(self._key, digests)
        scores = np.empty(len(items))
        truncated = np.empty(len(items), dtype=np.bool_)
        here = [row for row, digest in enumerate(digests) if digest in found]
        scores[here] = [found[digests[row]][0] for row in here]
        truncated[here] = [found[digests[row]][1] for row in here]
        keep(here, Scores(scores[here], truncated[here]))
        missing = [row for row, digest in enumerate(digests) if digest not in found]
        if missing:
            rest = self._score_and_write([items[row] for row in missing], [digests[row] for row in missing], progress)
            scores[missing], truncated[missing] = rest.scores, rest.truncated
            keep(missing, rest)
        return Scores(scores, truncated)

    def _score_and_write(self, items: Sequence[Texts], digests: Sequence[bytes], progress: Progress) -> Scores:
        unwritten: list[tuple[bytes, float, bool]] = []
        written_at = time.monotonic()

        def write() -> None:
            nonlocal written_at
            if unwritten:
                self._cache.add(self._key, unwritten)
                unwritten.clear()
            written_at = time.monotonic()

        def keep(rows: Sequence[int], batch: Scores) -> None:
            for row, score, cut in zip(rows, batch.scores.tolist(), batch.truncated.tolist(), strict=True):
                if np.isfinite(score):
                    unwritten.append((digests[row], score, cut))
            if time.monotonic() - written_at > _SECONDS_PER_WRITE:
                write()

        scorer = self._load()
        try:
            return scorer.score(items, progress, keep)
        finally:
            write()


def texts_digest(texts: Texts) -> bytes:
    """Digest texts, in order.

    Args:
        texts: The texts.

    Returns:
        BLAKE2b, 16 bytes.

    Example:
        >>> texts_digest(("a", "bc")) == texts_digest(("ab", "c"))
        False
    """
    total = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        total.update(len(encoded).to_bytes(8, "big") + encoded)
    return total.digest()
