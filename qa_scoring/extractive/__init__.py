"""Extractive question answering: models that point at the answer in a context, and what their logits say."""
