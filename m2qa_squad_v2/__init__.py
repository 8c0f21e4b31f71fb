"""The evaluate metric m2qa_squad_v2."""
