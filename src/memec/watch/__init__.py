"""The live page and the memory explorer."""
