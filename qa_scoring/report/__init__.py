"""Reports: plots and tables."""
