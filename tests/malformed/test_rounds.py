"""What comes in a round is refused by name and leaves no trace, or it is converted and decides as it did before."""

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.policy.saving import flatten
from tests.malformed.rounds import POLICY, ROUNDS, TAKEN, WHOLE, Y, lived


@pytest.mark.parametrize("name", ROUNDS)
def test_what_cannot_be_used_is_named_and_leaves_no_trace(name):
    call, field, phrase = ROUNDS[name]
    state, context, decision = lived()
    before = {path: z.copy() for path, z in flatten(state)}
    with pytest.raises(EvenhandError) as caught:
        call(state, context, decision)
    assert str(caught.value).startswith(field)
    assert phrase in str(caught.value)
    for path, z in flatten(state):
        np.testing.assert_array_equal(z, before[path], err_msg=path)
    POLICY.learn(state, decision, Y)  # the state goes on
    POLICY.act(state, context)


@pytest.mark.parametrize("name", TAKEN)
def test_what_changes_no_number_is_converted(name):
    plain, given = lived(), lived()
    for _ in range(2):  # the second time, the last context was converted already
        want = POLICY.act(*plain[:2])
        context = given[1]._replace(**{k: f(getattr(given[1], k)) for k, f in TAKEN[name].items()})
        got = POLICY.decide(given[0], context)
        POLICY.commit(given[0], context, got)
        for field in ("plays", "propensities", "features", "known", "groups", "row_prices"):
            np.testing.assert_array_equal(getattr(want, field), getattr(got, field), err_msg=field)
    np.testing.assert_array_equal(POLICY.worth(plain[0], plain[1], want), POLICY.worth(given[0], context, got))
    assert POLICY.explain(plain[0], plain[1], want) == POLICY.explain(given[0], context, got)


@pytest.mark.parametrize("name", WHOLE)
def test_kinds_of_numbers_do_not_matter(name):
    whole = np.random.default_rng(0).integers(0, 3, (2, 4, 3)).astype(float)
    (plain, context, first), (given, _, second) = lived(), lived()
    one = POLICY.act(plain, context._replace(features=whole))
    two = POLICY.act(given, context._replace(features=whole.astype(WHOLE[name])))
    np.testing.assert_array_equal(one.plays, two.plays)
    np.testing.assert_array_equal(one.features, two.features)
    outcomes = np.ones((2, 1, 2))
    POLICY.learn(plain, first, outcomes)
    POLICY.learn(given, second, outcomes.astype(WHOLE[name]))
    for (path, z), (_, other) in zip(flatten(plain), flatten(given), strict=True):
        if path != ".receipts.tokens":
            np.testing.assert_array_equal(z, other, err_msg=path)
