import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.memory.compiled.handle import Handle
from memec.memory.ivf.index import Index
from memec.memory.ivf.nearest_lists import SORTED_FIRST, sort_lists
from memec.memory.ivf.query import Effort

from .oracle import nearest
from .test_approximate import clustered


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    clusters=st.sampled_from([1, 2, 100, 2 * SORTED_FIRST, 2 * SORTED_FIRST + 1, 6_144]),
    spread=st.sampled_from([1, 10, 1_000, 2**27]),
)
def test_the_nearest_clusters_come_first_and_in_the_order_of_all(seed, clusters, spread):
    away = np.random.default_rng(seed).integers(0, spread, clusters).astype(np.int32)
    order, first = np.empty((2, clusters), np.int32)
    assert sort_lists(away, order, True) == clusters
    count = sort_lists(away, first, False)
    assert np.array_equal(np.sort(order), np.arange(clusters))
    assert np.array_equal(first[:count], order[:count])
    # Beyond the nearest, bins are a 32nd of an octave wide.
    farther = 1.0 + away[order] - away.min()
    assert (np.maximum.accumulate(farther) <= farther * (1 + 1 / 32)).all()


def test_about_as_many_clusters_are_put_in_order_as_searches_come_to():
    away = np.random.default_rng(0).integers(1_000, 100_000, 6_144).astype(np.int32)
    count = sort_lists(away, np.empty(len(away), np.int32), False)
    assert SORTED_FIRST / 2 < count < 2 * SORTED_FIRST


def test_a_search_goes_on_beyond_the_clusters_that_were_put_in_order_first():
    rng = np.random.default_rng(0)
    keys = clustered(rng, 60_000, 16)
    everyone = np.array([len(keys)])
    index = Index.fitted(keys, everyone, np.arange(len(keys)), rng, last=True, moving=False)
    index.add(np.arange(len(keys)))
    assert len(index.arrays(np.empty(0, np.intp))["centroids"]) > 2 * SORTED_FIRST
    queries = keys[rng.choice(len(keys), 20)] + rng.standard_normal((20, 16)).astype(np.float32)
    found, slots = np.empty((20, 1, 11), np.float32), np.empty((20, 1, 11), np.int64)
    nobody = Handle(np.full((1, 33), -1), np.empty((1, 0), np.int64), np.empty(0, np.int32))
    wanted = np.ones((20, 1), np.bool_)
    index.nearest(queries, wanted, found, slots, False, Effort(1.0, 4.0), nobody)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, 1, 11)
    assert (found <= best * (1 + 1e-5)).all()
