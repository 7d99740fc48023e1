"""Why the default agent loses where it loses: written by hand, shown beside the losses that are measured."""

REASONS: dict[tuple[str, str], str] = {}
"""By world and peer; what has no reason here is shown as not understood yet."""
