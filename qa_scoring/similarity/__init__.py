"""Semantic similarity of answer pairs."""
