"""How long runs take: measured before, and better known once runs of the same study have finished."""

from memec.experiments.grid import GAMES, GridRun

STEPS_PER_SECOND = {
    ("mfec", "cartpole"): 4_000.0,
    ("mfec", "acrobot"): 1_000.0,
    ("mfec", "openroom"): 25_000.0,
    ("mfec", "fourroom"): 25_000.0,
    ("nec", "cartpole"): 1_200.0,
    ("nec", "acrobot"): 500.0,
    ("nec", "openroom"): 4_000.0,
    ("nec", "fourroom"): 4_000.0,
    ("d3qn", "cartpole"): 1_200.0,
    ("d3qn", "acrobot"): 1_000.0,
    ("d3qn", "openroom"): 7_000.0,
    ("d3qn", "fourroom"): 7_000.0,
    ("vpec", "cartpole"): 3_000.0,
    ("vpec", "acrobot"): 1_500.0,
    ("vpec", "openroom"): 3_000.0,
    ("vpec", "fourroom"): 3_000.0,
    ("vpec", "mountaincar"): 5_000.0,
    ("vpec", "lunarlander"): 600.0,
    ("mfec", "atari"): 900.0,
    ("nec", "atari"): 100.0,
    ("d3qn", "atari"): 45.0,
}
"""A first guess, from short runs on one core of a 2026 x86-64, lowered for the evaluations of a trained agent."""
SLOWEST_STEPS_PER_SECOND = 100.0


class Pace:
    """What is known about the speed of runs."""

    def __init__(self) -> None:
        self._measured: dict[str, tuple[float, float]] = {}

    def learn(self, run: GridRun, seconds: float | None) -> None:
        """Take note of how long a finished run took."""
        if seconds:
            for name in (run.curve, _kind(run)):
                steps, before = self._measured.get(name, (0.0, 0.0))
                self._measured[name] = (steps + run.settings.training.steps, before + seconds)

    def steps_per_second(self, run: GridRun) -> float:
        """Return how fast a run goes: as others of its curve, else of its agent there, else as measured before."""
        for name in (run.curve, _kind(run)):
            if name in self._measured:
                steps, seconds = self._measured[name]
                return steps / seconds
        environment = "atari" if run.environment in GAMES else run.environment
        return STEPS_PER_SECOND.get((run.agent, environment), SLOWEST_STEPS_PER_SECOND)

    def seconds(self, run: GridRun, from_step: int = 0) -> float:
        """Return how long a run takes from a step on."""
        return max(0, run.settings.training.steps - from_step) / self.steps_per_second(run)


def all_together(seconds: list[float], workers: int) -> float:
    """Return how long runs take that are done by some workers, each after another."""
    return max(sum(seconds) / max(workers, 1), max(seconds, default=0.0))


def in_words(seconds: float) -> str:
    """Return a time as people say it: 42 s, 12 min, 3 h 20 min, 2 d 4 h."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


def _kind(run: GridRun) -> str:
    return f"{run.environment}/{run.agent}"
