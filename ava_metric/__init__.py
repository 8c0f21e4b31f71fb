"""The evaluate metric ava_metric."""
