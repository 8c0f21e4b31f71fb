"""The tabs of the demo: each adds its widgets to the page that is being built and wires them."""
