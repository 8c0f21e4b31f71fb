"""The demo: ``python app.py`` serves it locally, and a Hub Space runs this file."""

from qa_scoring.app.page import launch

if __name__ == "__main__":
    launch()
