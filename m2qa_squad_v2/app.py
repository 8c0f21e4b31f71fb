"""The demo of all three metrics, opened on the tab that shows ``m2qa_squad_v2``."""

from qa_scoring.app.page import launch

if __name__ == "__main__":
    launch("Score")
