"""An embedding that is none of memec's is used, recorded and asked for again, and its mistakes are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples.own_parts.encoder import RandomFeatures

from memec import MFEC
from memec.embed import ForeignEmbedding
from memec.errors import MemecError, OutsideError
from memec.train import RunFolder
from tests.command import Memec
from tests.train.torture import compare


class Wrong:
    """Goes wrong in one way after a while."""

    key_size = 4

    def __init__(self, how: str) -> None:
        self._how = how
        self._calls = 0

    def __call__(self, observation: Any) -> Any:
        self._calls += 1
        if self._calls < 40:
            return np.array(observation, np.float32)
        if self._how == "raises":
            raise RuntimeError("no weights")
        return {
            "another size": np.zeros(5, np.float32),
            "NaN": np.full(4, np.nan, np.float32),
            "another dtype": np.zeros(4),
            "a list": [0.0] * 4,
        }[self._how]


def agent(**changes: Any) -> MFEC:
    return MFEC("CartPole-v1", memory={"capacity": 100}, seed=3, **({"embed": RandomFeatures(4)} | changes))


def test_a_callable_with_a_key_size_makes_the_keys(tmp_path: Path) -> None:
    trained = agent().learn(300, run=tmp_path / "run")
    own = RandomFeatures(4)
    observation = np.array([0.1, 0.0, 0.02, 0.3], np.float32)
    assert trained.memory.key_size == own.key_size
    np.testing.assert_array_equal(trained.embed(observation), own(observation))
    assert trained.recall(observation)[0].keys.shape[1] == own.key_size
    recorded = RunFolder.open(tmp_path / "run").record()["settings"]["agent"]["embed"]
    assert recorded == {
        "name": "examples.own_parts.encoder:RandomFeatures", "size": 4, "key_size": 32, "width": 1.0, "seed": 0,
    }  # fmt: skip


def test_a_run_goes_on_with_it_and_asks_for_it(tmp_path: Path) -> None:
    agent().learn(300, run=tmp_path / "whole")
    agent().learn(150, run=tmp_path / "parts").save(tmp_path / "agent")
    for other, given in (({}, "kind"), ({"kind": "identity"}, "identity"), (RandomFeatures(4, seed=1), '"seed": 1')):
        with pytest.raises(
            MemecError, match=rf"has the embed .*RandomFeatures.* pass it as embed=\.\.\., not .*{given}"
        ):
            agent(embed=other).learn(300, resume=tmp_path / "parts")
    agent().learn(300, resume=tmp_path / "parts")
    compare(tmp_path / "whole", tmp_path / "parts")
    with pytest.raises(MemecError, match="RandomFeatures, which is none of memec's: pass it as embed="):
        MFEC.load(tmp_path / "agent")
    loaded = MFEC.load(tmp_path / "agent", embed=RandomFeatures(4))
    np.testing.assert_array_equal(loaded.memory.keys, agent().learn(150).memory.keys)


def test_it_is_named_on_the_command_line(memec: Memec) -> None:
    name = "examples.own_parts.encoder:RandomFeatures"
    words = ("train", "CartPole-v1", "--agent", "mfec", "--embed", name, "--set", "embed.size=4", "--evaluate-every", 0)
    assert memec(*words, "--steps", 200, "--out", "whole").status == 0
    assert memec(*words, "--steps", 100, "--out", "run").status == 0
    for command in (("evaluate", "run", "--episodes", 1), ("train", "--resume", "run", "--steps", 200)):
        refused = memec(*command)
        assert refused.status == 2 and f"if you trust it, say so with --embed {name}" in refused.error
        assert memec(*command, "--embed", name).status == 0
    compare(Path("whole"), Path("run"))
    other = memec("evaluate", "run", "--embed", "tests.embed.test_foreign:Wrong")
    assert other.status == 2 and "not tests.embed.test_foreign:Wrong" in other.error
    assert memec(*words[:-4], "--out", "none").error.startswith(f"memec: The embedding {name} cannot be made with no")
    assert not Path("none").exists()
    assert memec(*words, "--agent", "nec", "--out", "none").status == 2


def test_its_batch_form_is_used_where_it_has_one() -> None:
    class Batched(RandomFeatures):
        asked = 0

        def batch(self, observations: Any) -> Any:
            self.asked += 1
            return np.stack([self(observation) for observation in observations])

    own = Batched(4)
    trained = agent(embed=own).learn(50)
    trained.predict(np.zeros((5, 4), np.float32))
    assert own.asked == 1


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("another size", r"gave a key of shape \(5,\), and by its key_size that should be \(4,\)"),
        ("NaN", "gave a key with NaN or infinity"),
        ("another dtype", "gave an array of float64 for a key, which must be an array of float32"),
        ("a list", "gave a list for a key, which must be an array of float32"),
        ("raises", "raised RuntimeError in __call__: no weights"),
    ],
)
def test_what_an_embedding_does_wrong_is_named_and_what_was_learned_is_saved(
    tmp_path: Path, how: str, said: str
) -> None:
    with pytest.raises(OutsideError, match=rf"^The embedding tests.embed.test_foreign:Wrong {said}\.$"):
        agent(embed=Wrong(how)).learn(200, run=tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").record()["status"] == "failed"
    assert RunFolder.open(tmp_path / "run").checkpoints.newest_step() == 39


@pytest.mark.parametrize("own", [3, object(), lambda observation: observation, np.zeros, "no_module:Encoder"])
def test_what_is_no_embedding_is_refused(own: Any) -> None:
    with pytest.raises(MemecError, match=r"cannot be an embedding|There is no embedding"):
        agent(embed=own)


def test_a_key_size_must_be_one() -> None:
    for size in (0, -1, 2.0, True, None):
        own = RandomFeatures(4)
        own.key_size = size  # type: ignore[assignment]
        with pytest.raises(MemecError, match="a whole number from 1 on"):
            ForeignEmbedding(own)
    with pytest.raises(MemecError, match="RandomFeatures is a class"):
        agent(embed=RandomFeatures)
