import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding
from numba import njit
from numba.extending import intrinsic

from memec.memory.compiled import intrinsics
from memec.memory.compiled.intrinsics import LANES_LOOKED_UP, lanes_within, lanes_within_by_loop
from memec.memory.ivf import Approximate, search, tune
from memec.memory.ivf.product import (
    CODEWORDS,
    MOST_TAGS,
    Product,
    lanes_tagged,
    measure,
    move,
    quantise,
    tabulate,
    tag_at,
)

from .oracle import ask, nearest, recall
from .test_approximate import ACTIONS, CAPACITY, NEIGHBOURS, atari_like, clustered


def compiled(function):
    return njit(lambda rows, block, tables, threshold: function(rows, block, tables, threshold))


WAYS = [compiled(lanes_within), lanes_within_by_loop]
if binding.get_host_cpu_features().get("ssse3"):  # what older processors use
    WAYS.append(compiled(intrinsic(intrinsics._lanes_within("llvm.x86.ssse3.pshuf.b.128", 16))))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([2, 4, 12, 24, 96]),
    largest=st.sampled_from([1, 8, 60, 256]),
    threshold=st.integers(0, 254),
)
def test_the_processors_instruction_finds_what_a_loop_finds(seed, rows, largest, threshold):
    rng = np.random.default_rng(seed)
    sketches = rng.integers(0, 256, (3, rows, LANES_LOOKED_UP)).astype(np.uint8)
    tables = rng.integers(0, largest, (2 * rows, CODEWORDS)).astype(np.uint8)
    for block in range(3):
        low, high = sketches[block] & 15, sketches[block] >> 4
        row = np.arange(rows)[:, None]
        sums = tables[row, low].sum(0, dtype=int) + tables[rows + row, high].sum(0, dtype=int)
        expected = int(((sums <= threshold) << np.arange(LANES_LOOKED_UP)).sum())
        for lanes in WAYS:
            assert lanes(sketches, block, tables, threshold) == expected


@njit
def tag_of(sketches, place):
    return tag_at(sketches, place)


@njit
def tagged(sketches, block, tags):
    return lanes_tagged(sketches, block, tags)


def test_lanes_are_told_by_their_tags():
    rng = np.random.default_rng(0)
    sketches = rng.integers(0, 256, (3, 14, LANES_LOOKED_UP)).astype(np.uint8)
    for block in range(3):
        for tags in (0, 1, 1 << 15, 0b101, 2**MOST_TAGS - 1):
            wanted = tags >> (sketches[block, -1] >> 4).astype(int) & 1
            assert tagged(sketches, block, tags) == (wanted << np.arange(LANES_LOOKED_UP)).sum()


def fitted(rng, count=2_000, size=64):
    codes = np.clip(np.rint(rng.standard_normal((count, size)) * np.linspace(60, 4, size)), -127, 127)
    return codes.astype(np.int16), Product.fit(codes.astype(np.float32))


def test_a_sketch_is_the_nearest_there_is_and_its_error_known():
    rng = np.random.default_rng(0)
    codes, product = fitted(rng)
    pairs = product.codewords.shape[2]
    sketches = np.zeros((2, (pairs + 1) // 2, LANES_LOOKED_UP), np.uint8)
    distances = np.empty((pairs, CODEWORDS), np.float32)
    errors = [measure(code, product.codewords, distances) for code in codes]
    for place, code in enumerate(codes[: 2 * LANES_LOOKED_UP]):
        quantise(code, product.codewords, sketches, place, place % MOST_TAGS)
        measure(code, product.codewords, distances)
        both = sketches[place // LANES_LOOKED_UP, :, place % LANES_LOOKED_UP]
        *chosen, tag = *(both & 15), *(both >> 4)
        assert tag == tag_of(sketches, place) == place % MOST_TAGS
        np.testing.assert_array_equal(distances[np.arange(pairs), chosen], distances.min(1))
    own = np.stack([codes[:, [pair, 2 * pairs - 1 - pair]] for pair in range(pairs)], 1)
    assert product.error[0] == pytest.approx(np.mean(errors), rel=1e-4)
    assert product.error[0] < 0.2 * own.var(0).sum()


def test_a_moved_sketch_is_the_same():
    rng = np.random.default_rng(0)
    sketches = rng.integers(0, 256, (2, 12, LANES_LOOKED_UP)).astype(np.uint8)
    before = sketches.copy()
    move(sketches, 20, 3)
    np.testing.assert_array_equal(sketches[0, :, 3], before[1, :, 4])
    sketches[0, :, 3] = before[0, :, 3]
    np.testing.assert_array_equal(sketches, before)


def test_tables_say_how_far_a_sketch_is():
    rng = np.random.default_rng(0)
    codes, product = fitted(rng)
    pairs = product.codewords.shape[2]
    distances = np.empty((pairs, CODEWORDS), np.float32)
    tables = np.empty((pairs, CODEWORDS), np.uint8)
    measure(codes[0], product.codewords, distances)
    chosen = rng.integers(0, CODEWORDS, (200, pairs))
    exact = distances[np.arange(pairs), chosen].sum(1)
    most = np.float32(np.quantile(exact, 0.9))
    units = tabulate(distances, most, tables)
    sums = np.minimum(255, tables[np.arange(pairs), chosen].sum(1, dtype=int))
    within = exact <= most
    np.testing.assert_allclose(sums[within] / units, exact[within], atol=0.05 * most)
    assert (sums[exact > 1.1 * most] > most * units).all()


def indexed_and_asked(data):
    """A search over one part of a stream, and queries from the other."""
    rng = np.random.default_rng(0)
    stream = data(rng, ACTIONS * CAPACITY + 6_000)
    order = rng.permutation(len(stream))
    keys, asked = stream[order[6_000:]], stream[order[:6_000]]
    backend = Approximate(keys, ACTIONS, NEIGHBOURS)
    backend.put(np.arange(len(keys)))
    found = np.concatenate([ask(backend, query[None], ACTIONS, NEIGHBOURS)[0] for query in asked])
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), asked[-500:], ACTIONS, NEIGHBOURS)
    assert backend.share < 0.5
    return backend, recall(found[-500:], best)


def margin(backend):
    return backend.arrays()["measures"][1]


def test_the_margin_is_found_that_lets_true_neighbours_pass():
    """Keys on a smooth surface need more of it than keys in blobs."""
    (blobs, blobs_recall), (surface, surface_recall) = indexed_and_asked(clustered), indexed_and_asked(atari_like)
    assert min(blobs_recall, surface_recall) >= 0.99
    assert -1 < margin(blobs) < 0.8 < margin(surface) < 3


def test_a_search_that_started_with_too_small_a_margin_finds_out(monkeypatch):
    for module in (search, tune):
        monkeypatch.setattr(module, "FIRST_MARGIN", 0.0)
    backend, found = indexed_and_asked(atari_like)
    assert found >= 0.99
    assert margin(backend) > 0.8
