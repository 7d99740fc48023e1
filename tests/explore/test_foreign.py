"""A strategy that is none of memec's is used, recorded and saved as its own are, and its mistakes are named."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from examples.own_parts.strategy import EpsilonByScore
from numpy.random import Generator
from pydantic import BaseModel

from memec.agents import AGENTS, MFEC, OWN
from memec.errors import MemecError, OutsideError
from memec.explore import Belief, Mellowmax
from memec.explore.foreign import Foreign
from memec.plugins import Plugins
from memec.train import RunFolder
from tests.agents.common import assert_same, contents
from tests.every_agent import SMALL


class First:
    """The least that a strategy can be."""

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        return 0


class Fails(First):
    """Goes wrong in one way, after a while."""

    def __init__(self, how: str) -> None:
        self._how = how
        self._decisions = 0

    def choose(self, belief: Belief, step: int, rng: Generator) -> Any:
        self._decisions += 1
        if self._decisions < 60:
            return 1 if self._decisions % 2 else 0
        if self._how == "leaves":
            raise SystemExit(3)
        if self._how == "raises":
            raise RuntimeError("out of\nideas")
        if self._how == "mutates":
            belief.mean[0] = 7.0
        return {"float": 1.0, "none": None, "too large": 2, "negative": -1, "mutates": 0}[self._how]


@dataclass
class WithFields(First):
    width: int = 3
    names: tuple[str, ...] = ("a",)


class WithModel(BaseModel):
    rate: float = 0.5

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        return 0


class WithRepr(First):
    def __init__(self, power: int) -> None:
        self.power = power

    def __repr__(self) -> str:
        return f"WithRepr(power={self.power})"


@pytest.mark.parametrize("agent", OWN)
@pytest.mark.parametrize("own", [First, EpsilonByScore])
def test_every_agent_explores_by_a_strategy_of_the_users(agent: str, own: Any) -> None:
    made: Any = AGENTS[agent]
    trained = made("CartPole-v1", explore=own(), **SMALL[agent]).learn(150)
    assert trained.steps == 150 and set(trained.diagnostics()) >= ({"epsilon"} if own is EpsilonByScore else set())


@pytest.mark.parametrize(
    ("own", "recorded"),
    [
        (WithFields(width=5), {"width": 5, "names": ["a"]}),
        (WithModel(rate=0.25), {"rate": 0.25}),
        (WithRepr(2), {"repr": "WithRepr(power=2)"}),
        (First(), {}),
        (EpsilonByScore(window=7), {"window": 7, "smallest": 0.02}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_it_is_set_to_is_recorded(tmp_path: Path, own: Any, recorded: dict[str, Any]) -> None:
    MFEC("CartPole-v1", explore=own, memory={"capacity": 50}).learn(60, run=tmp_path / "run")
    settings = RunFolder.open(tmp_path / "run").record()["settings"]["agent"]["explore"]
    assert settings == recorded | {"name": f"{type(own).__module__}:{type(own).__qualname__}"}


def test_what_it_learned_is_saved_with_the_agent_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    strategy = EpsilonByScore()
    agent = MFEC("CartPole-v1", explore=strategy, seed=2).learn(300)
    agent.save(tmp_path / "agent")
    again = EpsilonByScore()
    loaded = MFEC.load(tmp_path / "agent", explore=again)
    assert again.scores[:-1] == strategy.scores[:-1] and len(again.scores) > 3
    assert_same(
        contents(loaded.learn(100)), contents(MFEC.load(tmp_path / "agent", explore=EpsilonByScore()).learn(100))
    )


def test_without_it_a_saved_agent_acts_but_does_not_explore_and_loses_nothing(tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1", explore=EpsilonByScore(), seed=2).learn(300)
    agent.save(tmp_path / "agent")
    loaded = MFEC.load(tmp_path / "agent")
    observation = np.array([0.1, 0.2, 0.0, 0.1], np.float32)
    assert loaded.predict(observation)[0] == agent.predict(observation)[0]
    for explore in (loaded.learn, lambda steps: loaded.predict(observation, deterministic=False)):
        with pytest.raises(MemecError, match="EpsilonByScore, which is none of memec's: pass it as explore="):
            explore(10)  # type: ignore[operator]
    loaded.save(tmp_path / "again")
    whole = MFEC.load(tmp_path / "again", explore=EpsilonByScore())
    np.testing.assert_array_equal(whole.arrays()["insight.scores"][:-1], agent.arrays()["insight.scores"][:-1])
    with pytest.raises(MemecError, match=r"has the explore .*EpsilonByScore.* pass it as explore=.*not .*mellowmax"):
        MFEC.load(tmp_path / "agent", explore=Mellowmax())
    with pytest.raises(MemecError, match=r'window": 3'):
        MFEC.load(tmp_path / "agent", explore=EpsilonByScore(window=3))


def test_to_predict_and_to_be_evaluated_teaches_it_nothing() -> None:
    class Counts(First):
        count = 0

        def choose(self, belief: Belief, step: int, rng: Generator) -> int:
            self.count += 1
            return 0

        def arrays(self) -> dict[str, Any]:
            return {"count": np.array([self.count])}

        def restore(self, arrays: dict[str, Any]) -> None:
            self.count = int(arrays["count"][0])

    counts = Counts()
    agent = MFEC("CartPole-v1", explore=counts).learn(100, evaluate_every=50, evaluation_episodes=2)
    for _ in range(5):
        agent.predict(np.zeros(4, np.float32), deterministic=False)
    assert counts.count == 100


def test_standard_deviations_come_where_it_asks_for_them_and_the_agent_has_them() -> None:
    seen: list[Belief] = []

    class Asks(First):
        needs_std = True

        def choose(self, belief: Belief, step: int, rng: Generator) -> int:
            seen.append(belief)
            return 0

    MFEC("CartPole-v1", explore=Asks()).learn(30)
    assert all(belief.std is not None and belief.std.shape == (2,) for belief in seen)
    with pytest.raises(MemecError, match="takes memories behind each value, which d3qn does not have"):
        AGENTS["d3qn"]("CartPole-v1", explore=Asks())  # type: ignore[call-arg, arg-type]


def test_a_belief_can_be_kept() -> None:
    kept: list[tuple[Belief, list[float]]] = []

    class Keeps(First):
        def choose(self, belief: Belief, step: int, rng: Generator) -> int:
            kept.append((belief, belief.mean.tolist()))
            return step % 2

    MFEC("CartPole-v1", explore=Keeps()).learn(200)
    assert all(belief.mean.tolist() == was for belief, was in kept)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("float", r"chose 1\.0, a float: it must be a whole number"),
        ("none", "chose None, a NoneType"),
        ("too large", "chose 2, and the actions are 0 to 1"),
        ("negative", "chose -1, and the actions are 0 to 1"),
        ("raises", "raised RuntimeError in choose: out of ideas"),
        ("leaves", "raised SystemExit in choose: 3"),
        ("mutates", "changed the belief that choose was given, which may only be read"),
    ],
)
def test_what_a_strategy_does_wrong_is_named_and_what_was_learned_is_saved(tmp_path: Path, how: str, said: str) -> None:
    agent = MFEC("CartPole-v1", explore=Fails(how))
    with pytest.raises(OutsideError, match=rf"^The strategy tests.explore.test_foreign:Fails {said}[^\n]*$"):
        agent.learn(200, run=tmp_path / "run")
    record = RunFolder.open(tmp_path / "run").record()
    assert record["status"] == "failed" and "Fails" in record["reason"]
    assert RunFolder.open(tmp_path / "run").checkpoints.newest_step() == 59
    mended = MFEC("CartPole-v1", explore=Fails(how)).learn(80, resume=tmp_path / "run")
    assert mended.steps == 80


@pytest.mark.parametrize(
    ("explore", "said"),
    [
        (3, "builtins:int cannot be a strategy: it has no method choose"),
        (object(), "builtins:object cannot be a strategy: it has no method choose"),
        (lambda belief, step, rng: 0, "lambda> cannot be a strategy: it has no method choose"),
        (First, r"First is a class: pass First\(\.\.\.\)"),
        (Mellowmax, r"Mellowmax is a class: pass Mellowmax\(\.\.\.\)"),
        ("no_such_module:First", "There is no strategy 'no_such_module:First': no module is named 'no_such_module'"),
        ("tests.explore.test_foreign:Second", "There is no strategy .*has no attribute 'Second'"),
        ("tests.explore.test_foreign:Fails", r"Fails cannot be made with no settings: TypeError"),
        ("melowmax", "Unknown strategy 'melowmax': did you mean 'mellowmax'"),
    ],
)
@pytest.mark.parametrize("agent", OWN)
def test_what_is_no_strategy_is_refused(agent: str, explore: Any, said: str) -> None:
    made: Any = AGENTS[agent]
    with pytest.raises(MemecError, match=said) as refused:
        made("CartPole-v1", explore=explore)
    assert "\n" not in str(refused.value)


def test_learned_arrays_must_be_numbers_and_come_back() -> None:
    class Odd(First):
        def __init__(self, learned: Any) -> None:
            self._learned = learned

        def arrays(self) -> Any:
            return self._learned

    for learned in ({"x": np.array(["a"])}, {"x": np.array([None])}, 3):
        with pytest.raises(OutsideError, match=r"Odd raised .*Error in arrays"):
            Foreign(Odd(learned)).insight().arrays()
    with pytest.raises(MemecError, match="has no method restore"):
        Foreign(Odd({})).insight().restore({"x": np.zeros(1)})


# --- by name --------------------------------------------------------------------------------------------------------


def test_a_name_can_be_registered_once() -> None:
    plugins = Plugins("strategy", "memec.strategies", ["greedy"])
    plugins.register("first", First)
    plugins.register("first", First)  # as a module does that is imported again
    assert plugins.find("first") is First and plugins.names() == ["first"]
    for name, said in (("first", "test_foreign:First"), ("greedy", "memec's own"), ("a:b", "without colons")):
        with pytest.raises(MemecError, match=said):
            plugins.register(name, Fails)


def installed(tmp_path: Path, **entries: str) -> None:
    """Install a package that says which strategies it has."""
    for number, (name, value) in enumerate(entries.items()):
        folder = tmp_path / f"some_package_{number}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: some-package-{number}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[memec.strategies]\n{name.rstrip('_')} = {value}\n")


def test_an_installed_package_offers_a_strategy_that_is_imported_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "some_module.py").write_text("from tests.explore.test_foreign import First\n")
    (tmp_path / "broken_module.py").write_text("raise OSError('no\\nmodel')\n")
    installed(tmp_path, first="some_module:First", broken="broken_module:X", twice="some_module:First", twice_="a:B")
    plugins = Plugins("strategy", "memec.strategies", [])
    assert plugins.names() == ["broken", "first", "twice"] and "some_module" not in sys.modules
    assert plugins.find("first").__name__ == "First" and isinstance(sys.modules.pop("some_module"), ModuleType)
    with pytest.raises(MemecError, match=r"'broken' \(broken_module:X\) raised OSError: no model$"):
        plugins.find("broken")
    with pytest.raises(MemecError, match=r"'twice' is installed twice, as .* and .*: say which by module:Name"):
        plugins.find("twice")


def test_a_file_that_names_a_module_does_not_have_it_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')\n")
    MFEC("CartPole-v1", explore=First()).learn(60, run=tmp_path / "run").save(tmp_path / "agent")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    record["settings"]["agent"]["explore"]["name"] = "evil:First"
    assert MFEC.settings_type.read(record["settings"]["agent"]).explore.name == "evil:First"
    assert "evil" not in sys.modules
