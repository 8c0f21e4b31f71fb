"""Answers that people judged, judged again by scorers: how right judges are, of answers and of whole systems."""
