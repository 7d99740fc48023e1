"""Files with a right checksum and hostile contents are refused in a sentence, or do no harm."""

from pathlib import Path

import pytest

from memec.agents import OWN
from memec.errors import MemecError

from . import hostile


@pytest.mark.parametrize("agent", OWN)
def test_no_content_of_any_array_breaks_an_agent(agent: str, tmp_path: Path) -> None:
    """A bounded form of `python -m tests.train.hostile`."""
    ended, findings = hostile.try_all(agent, tmp_path, 40)
    assert findings == [] and sum(ended.values()) == 40
    assert ended["refused"] >= 5 and ended["works"] >= 5


@pytest.mark.parametrize(
    ("agent", "name", "place", "value"),
    [
        ("mfec", "insight.spread", 0, 0.5),  # half a decision
        ("vpec", "insight.counts", 0, 1e9 + 0.5),
        ("vpec", "insight.counts", 2, 2.0),  # neither yes nor no
        ("vpec", "graph.present", 0, False),  # counted, and not there
    ],
)
def test_what_contradicts_itself_is_refused(agent: str, name: str, place: int, value: float, tmp_path: Path) -> None:
    prey = hostile.Prey(agent, tmp_path)
    prey.prepare()
    arrays, about = hostile.read_arrays(tmp_path / "agent")
    arrays[name] = arrays[name].copy()
    assert arrays[name].size, "nothing to change"
    arrays[name][place] = value
    hostile.write_arrays(tmp_path / "changed", arrays, about)
    with pytest.raises(MemecError, match="does not fit"):
        hostile.AGENTS[agent].load(tmp_path / "changed")
