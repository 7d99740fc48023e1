"""Makes the rooms known to Gymnasium, so that `gymnasium.make("memec/FourRoom-v0")` finds them."""

import gymnasium

ROOMS = {
    "memec/OpenRoom-v0": "memec.envs.rooms:OpenRoom",
    "memec/FourRoom-v0": "memec.envs.rooms:FourRoom",
}


def register() -> None:
    """Register the rooms; doing it again changes nothing."""
    for room_id, entry_point in ROOMS.items():
        if room_id not in gymnasium.registry:
            # A room ends its own episodes and a step costs microseconds: every wrapper would cost more than the room.
            gymnasium.register(room_id, entry_point=entry_point, order_enforce=False, disable_env_checker=True)
