"""``python -m qa_scoring.cli``: the command line without the script."""

from qa_scoring.cli import main

main(prog_name="qa-scoring")
