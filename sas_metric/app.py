"""The demo of all three metrics, opened on the tab that shows ``sas_metric``."""

from qa_scoring.app.page import launch

if __name__ == "__main__":
    launch("Judge one answer")
