"""The demo: three metrics behind one page, the only part of the package that needs gradio."""
