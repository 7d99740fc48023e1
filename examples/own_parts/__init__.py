"""Parts of an agent that are none of memec's, and plug into it: see examples/README.md."""
