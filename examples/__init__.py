"""What others may plug into memec."""
