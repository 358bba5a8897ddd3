import numpy as np

from evenhand.core.records import Context
from evenhand.planning import history


def came(values, known=0.0, group=0, offered=True):
    """One context per replica, told apart by one number."""
    x = np.zeros((len(values), 2, 1))
    x[:, 0, 0] = values
    groups, may = np.full((len(values), 1, 1), group), np.array([[True, offered]] * len(values))
    return Context(x, np.full((1, 2, 1), known), groups, may)


def test_what_comes_again_only_adds_weight():
    state = history.start(2)
    for i in [0, 1, 0, 2, 0]:
        history.keep(state, came([i, 7]), np.ones(2), room=8)
    np.testing.assert_array_equal(state.kept, [3, 1])
    np.testing.assert_array_equal(state.weight[0, :3], [3, 1, 1])
    assert state.weight[1, 0] == 5


def test_contexts_differ_by_any_of_their_parts():
    state = history.start(1)
    for c in (came([1]), came([1], known=1.0), came([1], group=1), came([1], offered=False), came([1])):
        history.keep(state, c, np.ones(1), room=8)
    assert state.kept[0] == 4
    np.testing.assert_array_equal(state.weight[0, :4], [2, 1, 1, 1])


def test_many_contexts_are_thinned_to_every_other_and_stand_for_all():
    for room in (2, 5, 16, 40):
        state = history.start(1)
        for i in range(1000):
            history.keep(state, came([i]), np.ones(1), room=room)
        kept = int(state.kept[0])
        assert room // 2 <= kept <= room
        stride = int(state.stride[0])
        np.testing.assert_array_equal(state.features[0, :kept, 0, 0], stride * np.arange(kept))
        np.testing.assert_array_equal(state.weight[0, :kept], 1)
        assert state.weight.shape[1] <= room


def test_rounds_that_do_not_count_are_not_kept_and_batches_do_not_matter():
    rng = np.random.default_rng(0)
    values, rounds = rng.integers(0, 30, (200, 3)), rng.random((200, 3)) < 0.7
    together, alone = history.start(3), [history.start(1) for _ in range(3)]
    for v, n in zip(values, rounds, strict=True):
        history.keep(together, came(v), n.astype(float), room=12)
        for r in range(3):
            history.keep(alone[r], came(v[r : r + 1]), n[r : r + 1].astype(float), room=12)
    for r in range(3):
        k = int(together.kept[r])
        assert k == alone[r].kept[0]
        np.testing.assert_array_equal(together.weight[r, :k], alone[r].weight[0, :k])
        np.testing.assert_array_equal(together.features[r, :k], alone[r].features[0, :k])


def test_thinning_keeps_the_shares_of_contexts_that_come_again():
    """Half of all rounds bring the same context, the others new ones; a systematic sample of 100 to 200 rounds."""
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(20):
        state = history.start(1)
        for i in range(1500):
            history.keep(state, came([0.0 if rng.random() < 0.5 else i + 1.0]), np.ones(1), room=100)
        kept = int(state.kept[0])
        total = state.weight[0, :kept].sum()
        assert abs(total - 1500 / state.stride[0]) <= np.log2(state.stride[0]) + 1
        shares.append(state.weight[0, :kept][state.features[0, :kept, 0, 0] == 0.0].sum() / total)
    assert abs(np.mean(shares) - 0.5) <= 4 * 0.5 / np.sqrt(100 * 20)
    assert np.std(shares) <= 2 * 0.5 / np.sqrt(100)


def test_contexts_differ_by_the_groups_of_their_candidates():
    state = history.start(1)
    for groups in ([0, 1], [1, 0], [0, 1], [0, 0]):
        history.keep(state, came([1])._replace(groups=np.array(groups)[None, :, None]), np.ones(1), room=8)
    np.testing.assert_array_equal(state.weight[0, :3], [2, 1, 1])
    np.testing.assert_array_equal(state.groups[0, :3, :, 0], [[0, 1], [1, 0], [0, 0]])


def test_candidates_may_come_and_go():
    state = history.start(1)
    two, three = came([1.0]), came([1.0])
    three = three._replace(features=np.ones((1, 3, 1)), known=np.zeros((1, 3, 1)), offered=np.ones((1, 3), bool))
    for c in (two, three, two, three, three):
        history.keep(state, c, np.ones(1), room=8)
    np.testing.assert_array_equal(state.weight[0, :2], [2, 3])
    np.testing.assert_array_equal(state.offered[0, :2], [[True, True, False], [True, True, True]])


def test_a_round_of_several_cases_is_entered_case_by_case():
    """Every case stands for itself, with its own candidates, known outcomes and groups."""
    state = history.start(1)
    x = np.arange(6.0).reshape(1, 6, 1)
    groups, may = np.array([0, 0, 1, 1, 2, 2])[None, :, None], np.array([[True, True, False, True, True, True]])
    history.keep(state, Context(x, 10.0 * x, groups, may), np.ones(1), room=8, cases=3)
    assert state.kept[0] == 3
    np.testing.assert_array_equal(state.features[0, :3, :, 0], [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(state.known[0, :3, :, 0], [[0, 10], [20, 30], [40, 50]])
    np.testing.assert_array_equal(state.groups[0, :3, :, 0], [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(state.offered[0, :3], [[True, True], [False, True], [True, True]])


def test_a_sample_of_cases_has_all_positions_within_rounds():
    """With 4 cases per round and every 32nd kept, all would be in one position if rounds started in the same one."""
    state = history.start(1)
    for i in range(200):
        x = np.zeros((1, 8, 1))
        x[0, ::2, 0] = 1000.0 * np.arange(4) + i
        every = np.zeros((1, 1, 1), np.int64), np.ones((1, 8), bool)
        history.keep(state, Context(x, np.zeros((1, 8, 1)), *every), np.ones(1), room=40, cases=4)
    assert state.stride[0] == 32
    kept = state.features[0, : state.kept[0], 0, 0]
    _, counts = np.unique(kept // 1000.0, return_counts=True)
    assert len(counts) == 4
    assert counts.max() <= 2 * counts.min()


def test_a_context_is_forgotten_as_if_it_had_not_come():
    state, other = history.start(1), history.start(1)
    for i in [0, 1, 0, 2, 3]:
        history.keep(state, came([i]), np.ones(1), room=8)
    state.forget(came([0]), np.zeros(1, int))
    np.testing.assert_array_equal(state.weight[0, :5], [1, 1, 1, 1, 0])
    state.forget(came([0]), np.zeros(1, int))
    state.forget(came([9]), np.zeros(1, int))  # which is not there
    for i in [1, 2, 3]:
        history.keep(other, came([i]), np.ones(1), room=8)
    for name in ("kept", "weight", "key", "features", "known", "groups", "offered"):
        np.testing.assert_array_equal(getattr(state, name), getattr(other, name))
    for i in [1, 2, 3]:
        state.forget(came([i]), np.zeros(1, int))
    assert (state.kept[0], state.met[0], state.stride[0]) == (0, 0, 1)
    history.keep(state, came([5]), np.ones(1), room=8)
    assert state.kept[0] == 1


def test_nothing_of_thinned_contexts_is_left_in_the_arrays():
    state = history.start(1)
    for i in range(1, 12):
        history.keep(state, came([i]), np.ones(1), room=4)
    assert state.features[0, int(state.kept[0]) :].any()
    state.forget(came([2]), np.zeros(1, int))
    assert not state.features[0, int(state.kept[0]) :].any()
