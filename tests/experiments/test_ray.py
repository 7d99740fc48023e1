"""The same study on a Ray cluster of two nodes, one of which dies on the way."""

import csv
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memec.errors import MemecError
from memec.experiments.engine import Job, work
from memec.experiments.grid import GridRun, plan
from memec.experiments.ray_engine import RayEngine
from memec.experiments.reproduce import make_engine

pytestmark = pytest.mark.filterwarnings("default")  # Ray leaves sockets and files to the garbage collector


def grid() -> list[GridRun]:
    assignments = [
        "training.evaluate_every_steps=500",
        "training.evaluation_episodes=2",
        "checkpoint.every_steps=500",
    ]
    return plan(
        "openroom", seeds=1, agents=["mfec"], strategies=["mellowmax", "boltzmann", "ucb"], steps=60_000,
        assignments=assignments,
    )  # fmt: skip


def jobs(study: Path) -> list[Job]:
    return [Job(run.name, run.folder(study), run.settings, run.preset, "") for run in grid()]


def measured(folder: Path) -> list[dict[str, str]]:
    with (folder / "evaluations.csv").open(newline="") as lines:
        return [row | {"seconds": ""} for row in csv.DictReader(lines)]


def under_way(folder: Path) -> bool:
    return (folder / "evaluations.csv").exists() and len(measured(folder)) > 1


@pytest.fixture
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.worker = made.add_node(num_cpus=1)
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_node_that_dies_changes_no_result(cluster: Any, tmp_path: Path) -> None:
    alone = jobs(tmp_path / "alone")
    for job in alone:
        assert work(job).status == "finished"
    shared = jobs(tmp_path / "shared")
    engine = RayEngine(cluster.address, tmp_path / "shared")
    assert engine.cores() == 2
    ended = []
    node_is_there = True
    for tick in engine.run(shared):
        if tick is not None:
            ended.append(tick)
        if node_is_there and sum(under_way(job.folder) for job in shared) >= 2:
            cluster.remove_node(cluster.worker, allow_graceful=False)
            node_is_there = False
    assert not node_is_there and sorted((end.name, end.status) for end in ended) == sorted(
        (job.name, "finished") for job in shared
    )
    for local, remote in zip(alone, shared, strict=True):
        assert measured(local.folder) == measured(remote.folder)
    assert not list((tmp_path / "shared").glob(".shared-*"))

    # a node that does not see the study's folder sends the run back
    sent_back = [job._replace(folder=tmp_path / "sent" / job.name) for job in shared[:1]]
    engine = RayEngine(cluster.address, tmp_path / "sent", shared=False)
    assert [end.status for end in engine.run(sent_back) if end is not None] == ["finished"]
    assert measured(sent_back[0].folder) == measured(alone[0].folder)
    assert list((sent_back[0].folder / "checkpoint").glob("step-*"))


def test_an_address_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(MemecError, match="No Ray cluster answers"):
            make_engine("ray", tmp_path, workers=None, address=address)
    with pytest.raises(MemecError, match="host:port"):
        make_engine("ray", tmp_path, workers=None, address="somewhere")


def test_without_ray_the_user_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MemecError, match=r"pip install 'memec\[ray\]'"):
        make_engine("ray", tmp_path, workers=None, address=None)


def test_an_unknown_engine_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(MemecError, match="local"):
        make_engine("locl", tmp_path, workers=None, address=None)
