"""What makes short runs of each agent meet everything: small memories, networks that are trained at once."""

from typing import Any

NETWORK = {"train_start_steps": 50, "replay_capacity": 150, "batch_size": 8}
SMALL: dict[str, dict[str, Any]] = {
    "mfec": {"memory": {"capacity": 80}},
    "nec": {"memory": {"capacity": 80}, **NETWORK},
    "d3qn": {**NETWORK, "target_update_steps": 60},
    "vpec": {"memory": {"capacity": 64}},
}
