"""The evaluate metric sas_metric."""
