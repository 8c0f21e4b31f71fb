"""Hugging Face: the metric classes' base."""
