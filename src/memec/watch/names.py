"""What the actions of a world are called."""

from memec.envs.world import World

CLASSIC_CONTROL = {
    "CartPole": ["push left", "push right"],
    "Acrobot": ["torque -1", "no torque", "torque +1"],
    "MountainCar": ["push left", "no push", "push right"],
    "LunarLander": ["nothing", "left engine", "main engine", "right engine"],
}


def action_names(world: World) -> list[str]:
    """Return a name for every action: the environment's own where it has one, else its number."""
    meanings = getattr(world.environment.unwrapped, "get_action_meanings", None)
    names: list[str] = []
    if callable(meanings):
        names = [str(name).lower() for name in meanings()]
    else:
        names = CLASSIC_CONTROL.get(world.id.partition("-v")[0], [])
    if len(names) != world.actions:
        return [f"action {world.first_action + action}" for action in range(world.actions)]
    return names
