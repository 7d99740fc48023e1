"""`python -m benchmarks.search.libraries [--game Pong] [--capacity N] [NAME ...]`: the search against libraries.

Each fills one index per action with recorded play, replaces a quarter, and is asked by play not seen before, on one
thread, in a process of its own. Its effort (lists probed, or candidates kept: each library's own number) is doubled
until it finds .99 of the neighbours of queries set aside, as one would who wants it to win. Distances of candidates are
re-ranked by the keys where the library's are of codes. Times are of the processor. The libraries are installed by
whoever asks for them.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.measure import gigabytes_held
from benchmarks.recordings import recorded_keys
from benchmarks.search.tables import HELD_OUT_STEPS, NEIGHBOURS, WRITTEN_AT_ONCE
from memec.memory.compiled.kernels import COMPILE, rerank

ACTIONS, TARGET, MOST_EFFORT = 6, 0.99, 4_096
ROUNDING = 1e-4  # of distances by the products that faiss takes them by
TUNED_BY, EVERY = 2_000, 10  # of the play held out: what efforts are found by, and which of its steps count
Keys, Slots = NDArray[np.float32], NDArray[np.int64]


class Index(Protocol):
    """The entries of one action in a library, by the rows of its table."""

    least_effort: int

    def add(self, rows: Slots, keys: Keys) -> None:
        """Add entries."""

    def replace(self, rows: Slots, keys: Keys) -> None:
        """Give entries other keys."""

    def search(self, query: Keys, effort: int) -> Slots:
        """Return rows that are near to the query [1, key size], more than wanted where they are to be re-ranked."""


class Faiss:
    """IVF with codes, which removes by a hash of ids; or a graph, which cannot remove."""

    def __init__(self, factory: str, effort: str, *, kept: int, least: int) -> None:
        self.factory, self.effort, self.kept, self.least_effort = factory, effort, kept, least
        self.index: Any = None

    def begin(self, sample: Keys) -> None:
        import faiss

        self.index = faiss.index_factory(sample.shape[1], self.factory)
        self.index.train(sample)
        if hasattr(self.index, "set_direct_map_type") and "x4fs" not in self.factory:
            self.index.set_direct_map_type(faiss.DirectMap.Hashtable)

    def add(self, rows: Slots, keys: Keys) -> None:
        if hasattr(self.index, "invlists"):
            self.index.add_with_ids(keys, rows)
        else:
            self.index.add(keys)  # ids are counted

    def replace(self, rows: Slots, keys: Keys) -> None:
        import faiss

        self.index.remove_ids(faiss.IDSelectorArray(rows) if "x4fs" not in self.factory else rows)
        self.index.add_with_ids(keys, rows)

    def search(self, query: Keys, effort: int) -> Slots:
        owner = self.index if self.effort == "nprobe" else self.index.hnsw
        setattr(owner, self.effort, effort)
        return self.index.search(query, self.kept)[1][0]


class Hnswlib:
    """The reference implementation of HNSW: a row that is added again is moved in the graph."""

    least_effort = 16

    def begin(self, sample: Keys, capacity: int) -> None:
        import hnswlib

        self.index = hnswlib.Index("l2", sample.shape[1])
        self.index.init_index(capacity, M=16, ef_construction=100)
        self.index.set_num_threads(1)

    def add(self, rows: Slots, keys: Keys) -> None:
        self.index.add_items(keys, rows)

    replace = add

    def search(self, query: Keys, effort: int) -> Slots:
        self.index.set_ef(effort)
        return self.index.knn_query(query, NEIGHBOURS)[0][0].astype(np.int64)


class Usearch:
    """HNSW that removes and adds."""

    least_effort = 16

    def begin(self, sample: Keys) -> None:
        from usearch.index import Index

        self.index = Index(ndim=sample.shape[1], metric="l2sq", connectivity=16, expansion_add=100)

    def add(self, rows: Slots, keys: Keys) -> None:
        self.index.add(rows, keys, threads=1)

    def replace(self, rows: Slots, keys: Keys) -> None:
        self.index.remove(rows, threads=1)
        self.index.add(rows, keys, threads=1)

    def search(self, query: Keys, effort: int) -> Slots:
        self.index.expansion_search = effort
        return np.asarray(self.index.search(query[0], NEIGHBOURS, threads=1).keys, np.int64)


class Deglib:
    """A dynamic exploration graph, made for adding and removing; its effort is by how much farther it may walk."""

    least_effort = 1

    def begin(self, sample: Keys, capacity: int) -> None:
        import deglib

        space = deglib.FloatSpace.create(sample.shape[1], deglib.Metric.FP32_L2)
        self.graph = deglib.builder.create_empty(capacity, space, 30)
        target = deglib.builder.OptimizationTarget.StreamingData
        self.builder = deglib.builder.GraphBuilder(self.graph, optimization_target=target, extend_k=60, extend_eps=0.1)
        self.builder.set_thread_count(1)

    def add(self, rows: Slots, keys: Keys) -> None:
        self.builder.add_entry(rows.astype(np.uint32), keys)
        self.builder.build()

    def replace(self, rows: Slots, keys: Keys) -> None:
        for row in rows.tolist():
            self.builder.remove_entry(row)
        self.builder.build()
        self.add(rows, keys)

    def search(self, query: Keys, effort: int) -> Slots:
        nearest = self.graph.search(query, eps=0.01 * effort, k=NEIGHBOURS, threads=1, return_distances=False)
        return np.asarray(nearest).ravel().astype(np.int64)


class Pynndescent:
    """Nearest-neighbour descent: what changes is taken in by improving the whole graph again."""

    least_effort = 1

    def __init__(self) -> None:
        self.index: Any = None

    def add(self, rows: Slots, keys: Keys) -> None:
        from pynndescent import NNDescent

        if self.index is None:
            self.index = NNDescent(keys, n_neighbors=30, random_state=0, n_jobs=1)
        else:
            self.index.update(xs_fresh=keys)
        self.index.prepare()

    def replace(self, rows: Slots, keys: Keys) -> None:
        self.index.update(xs_updated=keys, updated_indices=rows.tolist())
        self.index.prepare()

    def search(self, query: Keys, effort: int) -> Slots:
        return self.index.query(query, k=NEIGHBOURS, epsilon=0.02 * effort)[0][0].astype(np.int64)


def lists(capacity: int) -> int:
    return int(4 * capacity**0.5)


LIBRARIES: dict[str, Callable[[int], Any]] = {
    "faiss IVF-SQ8": lambda n: Faiss(f"IVF{lists(n)},SQ8", "nprobe", kept=3 * NEIGHBOURS, least=1),
    "faiss IVF-PQ fast scan": lambda n: Faiss(f"IVF{lists(n)},PQ64x4fs", "nprobe", kept=50 * NEIGHBOURS, least=1),
    "faiss HNSW": lambda n: Faiss("HNSW16", "efSearch", kept=NEIGHBOURS, least=16),
    "hnswlib": lambda n: Hnswlib(),
    "usearch": lambda n: Usearch(),
    "deglib": lambda n: Deglib(),
    "pynndescent": lambda n: Pynndescent(),
}


def begun(name: str, capacity: int, sample: Keys) -> Any:
    """Return an empty index, fitted to a sample if it must be."""
    index = LIBRARIES[name](capacity)
    if hasattr(index, "begin"):
        index.begin(sample, capacity) if name in ("hnswlib", "deglib") else index.begin(sample)
    return index


def fight(name: str, game: str, capacity: int) -> dict[str, float | str]:
    """Return what one of them costs and finds."""
    import faiss

    faiss.omp_set_num_threads(1)
    recorded = recorded_keys(f"ALE/{game}-v5")
    held_out = recorded[-HELD_OUT_STEPS:]
    tuned_by, asked = held_out[:TUNED_BY:EVERY], held_out[TUNED_BY::EVERY]
    replaced = capacity // 4
    held = gigabytes_held()
    tables = np.repeat(recorded[None, :capacity], ACTIONS, 0)
    before = gigabytes_held()
    result: dict[str, float | str] = {"name": name}
    if name == "memec":
        ours = memec_fight(tables, recorded, replaced, result)
        answer: Callable[[Keys, int], Slots] = ours
        efforts = [1]
    else:
        every = [begun(name, capacity, table[: 100 * lists(capacity)]) for table in tables]
        at_once = capacity if name == "pynndescent" else WRITTEN_AT_ONCE
        result["add"] = _timed(lambda index, rows, keys: index.add(rows, keys), every, tables, capacity, at_once)
        new = recorded[capacity : capacity + replaced]
        rows = np.random.default_rng(0).choice(capacity, replaced, replace=False)
        replace_in(every, tables, rows, new, result, at_once=replaced if name == "pynndescent" else WRITTEN_AT_ONCE)

        def answer(query: Keys, effort: int) -> Slots:
            found = zip(every, tables, strict=True)
            return np.stack([_reranked(index.search(query, int(effort)), table, query) for index, table in found])

        efforts = [effort for effort in 2 ** np.arange(13) if every[0].least_effort <= effort <= MOST_EFFORT]
    tuned_limits, asked_limits = limits(tuned_by, tables), limits(asked, tables)
    for effort in efforts:
        if recall(answer, effort, tuned_by, tuned_limits, tables) >= TARGET:
            break
    if name == "memec":
        recalled, times = in_play(answer, held_out, asked_limits, tables)
    else:
        recalled, times = (
            recall(answer, effort, asked, asked_limits, tables),
            [timed(answer, query, effort) for query in asked],
        )
    result |= {
        "effort": int(effort),
        "recall": recalled,
        "query": float(np.median(times)) * 1e6,
        "gigabytes": gigabytes_held() - before,
        "of_keys": (gigabytes_held() - before) / max(before - held, 1e-9),
    }
    brute = []
    for query in asked[:20]:
        start = time.process_time()
        for table in tables:
            faiss.knn(query[None], table, NEIGHBOURS)
        brute.append(time.process_time() - start)
    result["brute_force"] = float(np.median(brute)) * 1e6
    return result


def _timed(work: Callable[..., None], every: list[Any], tables: Keys, capacity: int, at_once: int) -> float:
    """Return the microseconds an entry of adding all of the tables, as episodes end."""
    start = time.process_time()
    for begin in range(0, capacity, at_once):
        rows = np.arange(begin, min(begin + at_once, capacity))
        for index, table in zip(every, tables, strict=True):
            work(index, rows, table[rows])
    return (time.process_time() - start) / (len(every) * capacity) * 1e6


def replace_in(
    every: list[Any], tables: Keys, rows: Slots, new: Keys, result: dict[str, float | str], *, at_once: int
) -> None:
    """Replace entries in the tables and the indexes, or take down that it cannot be done."""
    try:
        start = time.process_time()
        for begin in range(0, len(rows), at_once):
            part = rows[begin : begin + at_once]
            for index in every:
                index.replace(part, new[begin : begin + at_once])
        result["replace"] = (time.process_time() - start) / (len(every) * len(rows)) * 1e6
        tables[:, rows] = new
    except (RuntimeError, AttributeError, NotImplementedError, TypeError) as error:
        result["replace"] = f"cannot: {type(error).__name__}"


def memec_fight(tables: Keys, recorded: Keys, replaced: int, result: dict[str, float | str]) -> Callable[..., Slots]:
    """The same of memec's own, which asks all actions at once and finds its effort itself."""
    from memec.memory.ivf import Approximate

    capacity = tables.shape[1]
    keys = tables.reshape(-1, tables.shape[2])
    backend = Approximate(keys, ACTIONS, NEIGHBOURS)
    wanted, found = np.ones((1, ACTIONS), np.bool_), np.empty((1, ACTIONS, NEIGHBOURS), np.float32)
    slots = np.empty(found.shape, np.int64)
    offsets = np.arange(ACTIONS)[:, None] * capacity

    def answer(query: Keys, effort: int) -> Slots:
        backend.nearest(query, wanted, found, slots, True)
        return slots[0] - offsets

    def put(rows: Slots) -> float:
        start = time.process_time()
        backend.put((offsets + rows).ravel())
        spent = time.process_time() - start
        for query in recorded[rows[:10]]:
            answer(query[None], 1)
        return spent

    parts = range(0, capacity, WRITTEN_AT_ONCE)
    spent = sum(put(np.arange(begin, min(begin + WRITTEN_AT_ONCE, capacity))) for begin in parts)
    result["add"] = spent / len(keys) * 1e6
    rows = np.random.default_rng(0).choice(capacity, replaced, replace=False)
    spent = 0.0
    for begin in range(0, replaced, WRITTEN_AT_ONCE):
        part = rows[begin : begin + WRITTEN_AT_ONCE]
        tables[:, part] = recorded[capacity + begin : capacity + begin + len(part)]
        spent += put(part)
    result["replace"] = spent / (ACTIONS * replaced) * 1e6
    return answer


def _reranked(rows: Slots, table: Keys, query: Keys) -> Slots:
    """Return the nearest of these rows by their keys."""
    if len(rows) <= NEIGHBOURS:
        return np.concatenate([rows, np.full(NEIGHBOURS - len(rows), -1)])
    nearest = np.empty(NEIGHBOURS, np.int64)
    _rerank(query[0], rows, table, np.empty(NEIGHBOURS, np.float32), nearest)
    return nearest


@njit(**COMPILE)
def _rerank(query: Keys, rows: Slots, table: Keys, distances: Keys, nearest: Slots) -> None:
    rerank(query, rows, table, distances, nearest)


def limits(asked: Keys, tables: Keys) -> Keys:
    """Return [queries, actions] how far the last of the true neighbours is."""
    import faiss

    return np.stack([faiss.knn(asked, table, NEIGHBOURS)[0][:, -1] for table in tables], 1)


def recall(answer: Callable[[Keys, int], Slots], effort: int, asked: Keys, farthest: Keys, tables: Keys) -> float:
    """Return the share of the true neighbours found."""
    answers = zip(asked, farthest, strict=True)
    return float(np.mean([found(answer(query[None], effort), query, limit, tables) for query, limit in answers]))


def found(rows: Slots, query: Keys, limit: Keys, tables: Keys) -> float:
    """Return the share of one query's true neighbours found, where any of several equally near will do."""
    distances = ((np.take_along_axis(tables, rows[:, :, None], 1) - query) ** 2).sum(2)
    return float(((distances <= limit[:, None] * (1 + 1e-4) + ROUNDING) & (rows >= 0)).mean())


def timed(answer: Callable[[Keys, int], Slots], query: Keys, effort: int) -> float:
    """Return the seconds of the processor that an answer takes."""
    start = time.process_time()
    answer(query[None], effort)
    return time.process_time() - start


def in_play(
    answer: Callable[[Keys, int], Slots], held_out: Keys, farthest: Keys, tables: Keys
) -> tuple[float, list[float]]:
    """Ask step by step, as a run does and memec's own search is made for; return the recall and the seconds."""
    shares, times = [], []
    for step, query in enumerate(held_out):
        times.append(timed(answer, query, 1))
        if step >= TUNED_BY and step % EVERY == 0:
            shares.append(found(answer(query[None], 1), query, farthest[(step - TUNED_BY) // EVERY], tables))
    return float(np.mean(shares)), times[TUNED_BY:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["memec", *LIBRARIES])
    parser.add_argument("--game", default="Pong")
    parser.add_argument("--capacity", type=int, default=100_000)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(fight(asked.names[0], asked.game, asked.capacity)))
        return
    print("| | recall@11 | query us | of brute force | add us | replace us | GB | effort |")
    print("|---|---|---|---|---|---|---|---|")
    for name in asked.names:
        command = [sys.executable, "-m", "benchmarks.search.libraries", "--one", name]
        command += ["--game", asked.game, "--capacity", str(asked.capacity)]
        done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            print(f"| {name} | failed, or is not installed |", flush=True)
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        replaced = row["replace"] if isinstance(row["replace"], str) else f"{row['replace']:.1f}"
        print(
            f"| {name} | {row['recall']:.4f} | {row['query']:.0f} | {row['query'] / row['brute_force']:.4f} | "
            f"{row['add']:.1f} | {replaced} | {row['gigabytes']:.2f} | {row['effort']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
