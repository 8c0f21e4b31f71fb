"""Benchmarks: what the metrics cost, against named peers."""
