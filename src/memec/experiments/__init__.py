"""The paper's settings, and what runs them."""
