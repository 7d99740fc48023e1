"""Compiled pieces that more than one search is made of: arrays in, arrays out, one idea each."""
