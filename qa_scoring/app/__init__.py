"""The demo: a gradio page over the three metrics; plain functions do the work, the tabs only wire."""
