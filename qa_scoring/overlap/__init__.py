"""Overlap of strings: exact match, token F1, no-answer thresholds, precision-recall curves."""
