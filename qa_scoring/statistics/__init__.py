"""Statistics over per-example rows."""
