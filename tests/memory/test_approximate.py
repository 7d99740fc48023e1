from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from memec.memory.compiled.handle import Handle
from memec.memory.ivf import Approximate, rebuild
from memec.memory.ivf import search as ivf_search
from memec.memory.ivf.query import Effort
from memec.memory.ivf.scalar import Encoding, code_distance, encode
from memec.memory.ivf.tune import LEAST_SHARE
from memec.memory.search import FEWEST_INDEXED
from memec.memory.search_tuning import TUNING

from .oracle import ask, nearest, recall

ACTIONS, NEIGHBOURS = 2, 11
CAPACITY = 3 * FEWEST_INDEXED // 4  # its index takes over before both tables are full

NO_HINTS = Handle(np.full((ACTIONS, 3 * NEIGHBOURS), -1), np.empty((ACTIONS, 0), np.int64), np.empty(0, np.int32))


def in_turn(slots):
    """The slots of all actions, one of each after another: tables fill from their first slots on."""
    return np.arange(slots).reshape(ACTIONS, -1).T.ravel()


def clustered(rng, count, dimensions=32):
    """Blobs of different widths around random centres."""
    centres = 4 * rng.standard_normal((60, dimensions))
    which = rng.integers(0, 60, count)
    return (centres[which] + rng.uniform(0.2, 1.5, 60)[which, None] * rng.standard_normal((count, dimensions))).astype(
        np.float32
    )


def atari_like(rng, count, dimensions=96):
    """Projections of a few moving things: walks between walls, seen through a random nonlinear map."""
    walks = np.abs(np.cumsum(0.1 * rng.standard_normal((count, 6)), axis=0) % 2 - 1)
    first, second = rng.standard_normal((6, 48)), rng.standard_normal((48, dimensions))
    return (np.sin(walks @ first) @ second).astype(np.float32)


def filled(keys, order, **settings):
    backend = Approximate(keys, ACTIONS, NEIGHBOURS, **settings)
    for part in np.array_split(order, 30):
        backend.put(part)
    return backend


def filled_and_indexed(keys, order):
    backend = filled(keys, order)
    assert backend.share < 0.5
    return backend


def small_table(capacity=40, dimensions=5):
    return np.random.default_rng(1).standard_normal((ACTIONS * capacity, dimensions)).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), fill=st.floats(0, 1), batch=st.integers(1, 4))
def test_a_small_table_is_searched_exactly(seed, fill, batch):
    rng = np.random.default_rng(seed)
    keys = small_table()
    backend = Approximate(keys, ACTIONS, NEIGHBOURS)
    sizes = rng.integers(0, int(fill * len(keys) / ACTIONS) + 1, ACTIONS)
    present = (np.arange(len(keys)).reshape(ACTIONS, -1) % (len(keys) // ACTIONS) < sizes[:, None]).ravel()
    backend.put(np.flatnonzero(present))
    queries = rng.standard_normal((batch, keys.shape[1])).astype(np.float32)
    found, found_slots = ask(backend, queries, ACTIONS, NEIGHBOURS)
    best, best_slots = nearest(keys, present, queries, ACTIONS, NEIGHBOURS)
    np.testing.assert_allclose(found, best, rtol=1e-5)
    np.testing.assert_array_equal(found_slots, best_slots)


@pytest.mark.parametrize("data", [clustered, atari_like])
def test_recall_reaches_the_target_after_filling_and_replacing(data):
    rng = np.random.default_rng(0)
    stream = data(rng, 3 * ACTIONS * CAPACITY)
    keys = np.zeros((ACTIONS * CAPACITY, stream.shape[1]), np.float32)
    backend = Approximate(keys, ACTIONS, NEIGHBOURS)
    order = in_turn(len(keys))
    found, best = [], []
    for step in range(0, len(stream) - 100, 100):
        slots = order[step % len(keys) : step % len(keys) + 100]
        keys[slots] = stream[step : step + len(slots)]
        backend.put(slots)
        answer, _ = ask(backend, stream[step + 100 : step + 110], ACTIONS, NEIGHBOURS)
        if step > len(keys):
            present = np.ones(len(keys), np.bool_)
            found.append(answer[:2])
            best.append(nearest(keys, present, stream[step + 100 : step + 102], ACTIONS, NEIGHBOURS)[0])
    assert recall(np.concatenate(found), np.concatenate(best)) >= 0.99
    assert backend.recall_estimate >= 0.98
    assert backend.share < 0.5


def hard(kind, rng):
    keys = rng.standard_normal((ACTIONS * CAPACITY, 16))
    if kind == "identical":
        keys[:] = keys[0]
    elif kind == "nearly identical":
        keys = 1 + 1e-6 * keys
    elif kind == "flat":
        keys[:, 1:] = 0.3
    elif kind == "few outliers":
        keys[rng.random(len(keys)) < 1e-4] *= 1e6
    elif kind == "many outliers":
        keys[rng.random(len(keys)) < 0.1] *= 1e6
    elif kind == "two scales":
        keys[::2] *= 1e-4
    elif kind == "few values":
        keys = np.rint(keys[rng.integers(0, 3, len(keys))])
    return keys.astype(np.float32)


@pytest.mark.parametrize(
    "kind", ["identical", "nearly identical", "flat", "few outliers", "many outliers", "two scales", "few values"]
)
def test_data_that_defeats_an_index_is_still_answered_to_the_target(kind):
    rng = np.random.default_rng(0)
    keys = hard(kind, rng)
    backend = filled(keys, in_turn(len(keys)))
    queries = keys[rng.integers(0, len(keys), 200)]
    found, slots = ask(backend, queries, ACTIONS, NEIGHBOURS)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    assert (slots >= 0).all()
    assert recall(found, best) >= 0.99


def test_an_action_with_few_entries_beside_a_full_one_is_found():
    rng = np.random.default_rng(0)
    keys = clustered(rng, 4 * CAPACITY)
    present = np.arange(len(keys)) < len(keys) // 2 + 3
    backend = filled_and_indexed(keys, np.flatnonzero(present))
    queries = clustered(rng, 20)
    found, slots = ask(backend, queries, ACTIONS, NEIGHBOURS)
    best, _ = nearest(keys, present, queries, ACTIONS, NEIGHBOURS)
    np.testing.assert_allclose(found[:, 1], best[:, 1], rtol=1e-5)
    assert (slots[:, 1, 3:] == -1).all()


@pytest.mark.parametrize("actions", [5, 20])  # 20 are more than are filed together
def test_every_action_is_answered_to_the_target_however_unlike_their_sizes(actions):
    rng = np.random.default_rng(0)
    capacity = 30_000 // actions
    sizes = np.linspace(3, capacity, actions).astype(int) if actions == 5 else rng.integers(5, capacity, actions)
    keys = atari_like(rng, actions * capacity, 40)[rng.permutation(actions * capacity)]
    present = np.arange(len(keys)) % capacity < np.repeat(sizes, capacity)
    backend = Approximate(keys, actions, NEIGHBOURS)
    for part in np.array_split(np.flatnonzero(present), 30):
        backend.put(part)
    queries = keys[rng.integers(0, len(keys), 2_000)] + 0.1 * rng.standard_normal((2_000, 40)).astype(np.float32)
    found = np.concatenate([ask(backend, query[None], actions, NEIGHBOURS)[0] for query in queries])
    best, _ = nearest(keys, present, queries[-100:], actions, NEIGHBOURS)
    assert backend.share < 0.5
    for action in range(actions):
        assert recall(found[-100:, action], best[:, action]) >= 0.98
    assert recall(found[-100:], best) >= 0.99


def test_distances_are_exact_and_ascend():
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    queries = clustered(rng, 20)
    found, slots = ask(backend, queries, ACTIONS, NEIGHBOURS)
    named = ((keys[slots].astype(np.float64) - queries[:, None, None]) ** 2).sum(-1)
    np.testing.assert_allclose(found, named, rtol=1e-5)
    assert (np.diff(found, axis=-1) >= 0).all()
    assert all(len(set(row)) == NEIGHBOURS for row in slots.reshape(-1, NEIGHBOURS).tolist())
    assert (slots // CAPACITY == np.arange(ACTIONS)[:, None]).all()


def test_keys_that_move_in_place_are_followed():
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    drift = 3 * rng.standard_normal(keys.shape[1]).astype(np.float32)
    for _ in range(2):
        for part in np.array_split(rng.permutation(len(keys)), 20):
            keys[part] += drift
            backend.put(part)
    queries = keys[rng.integers(0, len(keys), 100)] + np.float32(0.1)
    found, _ = ask(backend, queries, ACTIONS, NEIGHBOURS)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    assert recall(found, best) >= 0.99


def test_rebuild_follows_keys_that_all_changed_at_once():
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    keys *= np.linspace(0.1, 5, keys.shape[1], dtype=np.float32)
    backend.rebuild()
    queries = keys[rng.integers(0, len(keys), 100)] + np.float32(0.1)
    found, _ = ask(backend, queries, ACTIONS, NEIGHBOURS)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    assert recall(found, best) >= 0.99


def test_unwanted_actions_are_left_untouched():
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    wanted = np.array([[True, False], [False, True], [False, False]])
    found, slots = ask(backend, clustered(rng, 3), ACTIONS, NEIGHBOURS, wanted=wanted)
    assert (found[~wanted] == -7).all()
    assert (slots[~wanted] == -7).all()
    assert (slots[wanted] >= 0).all()


def play(backend, keys, stream, answers, written, *, look=False):
    """Write and ask on, as a run does; with `look`, also ask in between without being remembered."""
    rng = np.random.default_rng(5)
    for step in range(0, len(stream) - 60, 60):
        slots = in_turn(len(keys))[rng.integers(0, min(len(keys), written + step), 60)]
        keys[slots] = stream[step : step + 60]
        backend.put(slots)
        for query in stream[step + 60 : step + 90, None]:
            answers.append(ask(backend, query, ACTIONS, NEIGHBOURS)[1])
            if look:
                ask(backend, -query, ACTIONS, NEIGHBOURS, remember=False)


def run(moments, *, look=False, restart=False):
    """Return the answers of a run through several fits; between the two `moments` it may be looked at."""
    rng = np.random.default_rng(0)
    keys = np.zeros((ACTIONS * CAPACITY, 16), np.float32)
    backend = Approximate(keys, ACTIONS, NEIGHBOURS, seed=3)
    order = in_turn(len(keys))
    stream = clustered(rng, 3 * len(keys), 16)
    keys[order[: moments[0]]] = stream[: moments[0]]
    backend.put(order[: moments[0]])
    answers = []
    play(backend, keys, stream[moments[0] : moments[1]], answers, moments[0], look=look)
    if restart:
        arrays, sizes = backend.arrays(), backend._sizes
        backend = Approximate(keys, ACTIONS, NEIGHBOURS, seed=3)
        backend.restore(arrays, sizes)
    play(backend, keys, stream[moments[1] : moments[1] + 6000], answers, moments[1])
    return np.concatenate(answers), (backend.recall_estimate, backend.share)


@pytest.mark.parametrize("moments", [(1000, 3000), (8100, 9000), (9000, 14000)])
def test_runs_repeat_whether_looked_at_or_resumed(moments):
    plain, measures = run(moments)
    for variation in ({}, {"look": True}, {"restart": True}):
        answers, other_measures = run(moments, **variation)
        np.testing.assert_array_equal(answers, plain)
        assert other_measures == measures


def test_the_needed_effort_and_margin_find_a_neighbour_and_less_does_not():
    rng = np.random.default_rng(0)
    keys = atari_like(rng, ACTIONS * CAPACITY)
    index = filled_and_indexed(keys, in_turn(len(keys)))._rebuilder.index
    queries = atari_like(rng, 40)
    _, slots = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    complete = []
    for query, neighbours in zip(queries, slots, strict=True):
        for action in range(ACTIONS):
            efforts, margins = index.needed(query, action, neighbours[action])
            effort, margin = efforts.max(), margins.max()
            rounded = margin + 0.05  # a sketch's distance is a sum of rounded numbers
            for tried in ((effort, rounded), (0.9 * effort, rounded), (effort, rounded - 0.2), (1.0, margin - 0.2)):
                answer = np.empty((1, ACTIONS, NEIGHBOURS), np.float32), np.empty((1, ACTIONS, NEIGHBOURS), np.int64)
                wanted = np.arange(ACTIONS)[None] == action
                index.nearest(query[None], wanted, *answer, False, Effort(*map(float, tried)), NO_HINTS)
                complete.append(np.isin(neighbours[action], answer[1][0, action]).all())
    both, less_effort, less_margin, much_effort = np.reshape(complete, (-1, 4)).mean(0)
    assert both == 1
    assert less_effort < 0.9
    assert less_margin < 0.5
    assert much_effort < 0.5


def recall_along_earlier_episodes(followers):
    """With the least effort, where all episodes go round the same places, each in a manner of its own."""
    rng = np.random.default_rng(0)
    places = 10 * rng.standard_normal((13, 48))
    manners = np.repeat(rng.standard_normal((ACTIONS * CAPACITY // 48, 48)), 48, axis=0)
    times = np.arange(ACTIONS * CAPACITY)
    moments = places[times % 13] + manners + 0.1 * rng.standard_normal(manners.shape)
    # every other moment of each action, as in play: what follows an entry belongs to another
    slots = times % ACTIONS * CAPACITY + times // ACTIONS
    keys = np.empty(moments.shape, np.float32)
    keys[slots] = moments
    backend = filled(keys, slots)
    if not followers:
        backend._hints._known.followers[:] = -1
    queries = (places[np.arange(300) % 13] + rng.standard_normal(48)).astype(np.float32)
    wanted, effort = np.ones((1, ACTIONS), np.bool_), Effort(0.0, 1.0)
    found, found_slots = np.empty((300, 1, ACTIONS, NEIGHBOURS), np.float32), np.empty((1, ACTIONS, NEIGHBOURS), int)
    for query, answer in zip(queries, found, strict=True):
        index = backend._rebuilder.index
        index.nearest(query[None], wanted, answer, found_slots, True, effort, backend._hints.handle)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    return recall(found[:, 0], best)


def test_what_came_next_in_earlier_episodes_is_found_without_effort():
    with_followers, without = recall_along_earlier_episodes(True), recall_along_earlier_episodes(False)
    assert 1 - with_followers < (1 - without) / 4


@pytest.mark.parametrize(("share", "rebuilt"), [(1 / 64, 2.0), (1 / 8, 2.0), (1 / 4, 1.0), (1 / 2, 0.5), (1.0, 0.5)])
def test_an_index_is_rebuilt_the_sooner_the_more_its_searches_scan(monkeypatch, share, rebuilt):
    monkeypatch.setattr(rebuild, "TUNING", replace(TUNING, rebuilt_at=ACTIONS * CAPACITY / 4))
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY, 16)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    backend._tuner.effort = Effort(share, 1.0)
    keeper = backend._rebuilder
    fits, until = keeper.fits, rebuilt * len(keys) - keeper._puts_since_fit
    writes = 0
    while keeper.fits == fits:
        backend.put(rng.integers(0, len(keys), 64))
        writes += 64
    assert until <= writes < until + 128


def recall_of_replay(learn):
    """Of batches between the clusters, whose keys a network made, after many that began with the least effort."""
    rng = np.random.default_rng(0)
    keys = atari_like(rng, ACTIONS * CAPACITY)
    backend = Approximate(keys, ACTIONS, NEIGHBOURS, moving=True)
    backend.put(in_turn(len(keys)))
    backend._tuner.effort = Effort(LEAST_SHARE, backend._tuner.effort.margin)
    found, slots = np.empty((16, ACTIONS, NEIGHBOURS), np.float32), np.empty((16, ACTIONS, NEIGHBOURS), int)
    recalls = []
    for _ in range(200):
        queries = (keys[rng.choice(len(keys), 16)] + keys[rng.choice(len(keys), 16)]) / 2
        wanted = rng.integers(0, ACTIONS, (16, 1)) == np.arange(ACTIONS)
        backend.nearest(queries, wanted, found, slots, False, learn=learn)
        best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
        recalls.append(recall(found[wanted], best[wanted]))
    return np.mean(recalls[100:]), backend


def test_a_replayed_batch_tells_how_well_it_was_answered():
    recalled, backend = recall_of_replay(learn=True)
    assert recalled > 0.985
    assert abs(backend.recall_estimate - recalled) < 0.02


def test_queries_that_are_not_to_be_learned_from_leave_no_trace():
    recalled, backend = recall_of_replay(learn=False)
    assert recalled < 0.97
    assert backend.share == LEAST_SHARE


def test_a_rare_query_far_from_everything_does_not_raise_the_effort_for_all():
    rng = np.random.default_rng(0)
    keys = atari_like(rng, ACTIONS * CAPACITY)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    efforts = []
    for step, query in enumerate(atari_like(rng, 12_000)):
        far = step % (100 * TUNING.measured_every) == 100 * TUNING.measured_every - 1  # it is looked at as well
        ask(backend, 10 * rng.standard_normal((1, 96)) if far else query[None], ACTIONS, NEIGHBOURS)
        efforts.append(backend.share)
    settled = efforts[4_000:]
    assert max(settled) < 3 * min(settled)
    assert backend.recall_estimate >= 0.98


def test_where_a_network_makes_the_keys_the_newest_are_found_wherever_they_are():
    rng = np.random.default_rng(0)
    keys = np.zeros((ACTIONS * CAPACITY, 32), np.float32)
    recalls = []
    for moving in (True, False):
        keys[:] = clustered(rng, len(keys))
        backend = filled(keys, rng.permutation(len(keys)), moving=moving)
        for _ in range(100):
            ask(backend, clustered(rng, 1), ACTIONS, NEIGHBOURS)
        assert backend.share < 0.5
        new = np.concatenate([np.arange(60), CAPACITY + np.arange(60)])
        keys[new] = 2 * rng.standard_normal((len(new), 32))  # in the middle, where no blob is
        backend.put(new)
        queries = keys[new[:60]] + rng.standard_normal((60, 32)).astype(np.float32)
        found, _ = ask(backend, queries, ACTIONS, NEIGHBOURS, remember=False)
        best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
        recalls.append(recall(found, best))
    assert recalls[0] > 0.99 > 0.9 > recalls[1]


def test_keys_that_codes_no_longer_tell_apart_are_searched_by_brute_force_in_the_end():
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY, 16)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    slots = np.arange(2_000)
    keys[slots] = 1e-3 * rng.standard_normal((len(slots), 16))
    backend.put(slots)
    for _ in range(4_000):
        ask(backend, 1e-3 * rng.standard_normal((1, 16)), ACTIONS, NEIGHBOURS)
    queries = (1e-3 * rng.standard_normal((20, 16))).astype(np.float32)
    found, _ = ask(backend, queries, ACTIONS, NEIGHBOURS)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    assert recall(found, best) >= 0.99


def test_an_estimate_below_the_target_raises_the_effort_though_the_looks_see_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    keys = clustered(rng, ACTIONS * CAPACITY, 16)
    backend = filled_and_indexed(keys, in_turn(len(keys)))
    honest = ivf_search.brute_force

    def nearer_than_there_are(queries, wanted, squared_distances, *rest):
        honest(queries, wanted, squared_distances, *rest)
        squared_distances *= 0.999

    queries = clustered(rng, 3_000, 16)
    for query in queries[:1_000]:
        ask(backend, query[None], ACTIONS, NEIGHBOURS)
    settled = backend.share
    monkeypatch.setattr(ivf_search, "brute_force", nearer_than_there_are)
    for query in queries[1_000:]:
        ask(backend, query[None], ACTIONS, NEIGHBOURS)
    assert settled < 0.5
    assert backend.share == 1.0


@njit
def distance_of_codes(codes, index, code, coarse):
    return code_distance(codes, index, code, coarse)


def test_codes_tell_distances_among_keys_far_from_the_others_too():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((2_000, 64)).astype(np.float32)
    keys[:40] *= 6  # in most dimensions outside what codes of the others can say
    fit = Encoding.fit(keys)
    size = fit.axes.shape[1]
    stored, code = np.empty((40, size), np.int8), np.empty(2 * size, np.int16)
    for index in range(40):
        assert encode(keys[index], fit.mean, fit.axes, code)
        stored[index] = np.clip(code[size:], -127, 127)
    encode(keys[0], fit.mean, fit.axes, code)
    told = np.array([distance_of_codes(stored, index, code, True) for index in range(1, 40)])
    true = ((keys[1:40] - keys[0]) ** 2).sum(1) * np.linalg.norm(fit.axes[:, 0]) ** 2
    np.testing.assert_allclose(told, true, rtol=0.05)
    assert not encode(keys[-1], fit.mean, fit.axes, code)


def recall_with(index, keys, queries, share):
    """Of a search with so much effort that nothing went before."""
    shape = len(queries), ACTIONS, NEIGHBOURS
    found, slots = np.empty(shape, np.float32), np.empty(shape, np.int64)
    wanted = np.ones(shape[:2], np.bool_)
    index.nearest(queries, wanted, found, slots, False, Effort(share, 1.0), NO_HINTS)
    best, _ = nearest(keys, np.ones(len(keys), np.bool_), queries, ACTIONS, NEIGHBOURS)
    return recall(found, best)


def test_keys_far_from_the_others_are_found_with_little_effort():
    rng = np.random.default_rng(0)
    keys = atari_like(rng, ACTIONS * CAPACITY)
    far = rng.random(len(keys)) < 0.03
    keys[far] = keys[far] * 5 + 10
    index = filled_and_indexed(keys, in_turn(len(keys)))._rebuilder.index
    queries = keys[far][:60] + 0.01 * rng.standard_normal((60, keys.shape[1])).astype(np.float32)
    assert recall_with(index, keys, queries, share=0.05) >= 0.95


def test_keys_far_from_the_others_are_told_apart_as_finely_as_they():
    rng = np.random.default_rng(0)
    keys = atari_like(rng, ACTIONS * CAPACITY)
    far = rng.random(len(keys)) < 0.03
    spot = 20 + 0.02 * keys.std() * rng.standard_normal((len(keys), keys.shape[1]))
    keys[far] = spot[far].astype(np.float32)  # all of them within a unit of coarse codes
    index = filled_and_indexed(keys, in_turn(len(keys)))._rebuilder.index
    queries = keys[far][:60] + np.float32(0.01 * keys[~far].std())
    assert recall_with(index, keys, queries, share=0.1) >= 0.99
