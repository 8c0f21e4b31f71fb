"""Sessions at once, by the benchmark's own script, which checks every answer; the full run is in ``benchmarks``."""

from __future__ import annotations

import json

import pytest

from benchmarks import demo_sessions


def test_sessions_at_once_get_their_own_answers() -> None:
    pytest.importorskip("torch")
    figures = demo_sessions.measure(sessions=4, rounds=1)
    assert figures["requests"] == 80
    assert figures["uploads_kept_bytes"] == 0


def test_the_committed_report_is_of_ten_sessions_whose_memory_stays_bounded() -> None:
    report = json.loads((demo_sessions.ROOT / "benchmarks/results/demo_sessions.json").read_text(encoding="utf-8"))
    peaks = report["memory_peak_of_each_round_mb"]
    assert report["sessions"] == 10
    assert report["requests"] == 10 * demo_sessions.REQUESTS * len(peaks)
    assert max(peaks) < 1.1 * peaks[0]
