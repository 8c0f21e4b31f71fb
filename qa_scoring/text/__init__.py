"""Text: normalisation, the language registry, and the tokenizers."""
