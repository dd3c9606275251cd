"""Samplers. Oracle: sets and counts of indices."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler


def test_random_sampler_is_a_permutation_that_depends_on_seed_and_epoch():
    order = RandomSampler(range(100), seed=3)
    first, second = list(order), list(order)
    assert sorted(first) == sorted(second) == list(range(100)) and first != second
    order.epoch = 0
    assert list(order) == first
    assert list(RandomSampler(range(100), seed=4)) != first


def test_random_sampler_takes_a_generator():
    orders = [list(RandomSampler(range(9), generator=np.random.default_rng(5))) for _ in range(2)]
    assert orders[0] == orders[1] == np.random.default_rng(5).permutation(9).tolist()


def test_random_sampler_without_seed_varies():
    assert list(RandomSampler(range(200))) != list(RandomSampler(range(200)))


def test_random_sampler_refuses_seed_and_generator():
    with pytest.raises(lnb.ConfigError, match="both seed and generator"):
        RandomSampler(range(3), seed=1, generator=np.random.default_rng())


@pytest.mark.parametrize(("drop_last", "batches"), [(False, [[0, 1, 2], [3, 4, 5], [6]]),
                                                    (True, [[0, 1, 2], [3, 4, 5]])])
def test_batch_sampler_cuts_the_order(drop_last, batches):
    sampler = BatchSampler(SequentialSampler(range(7)), 3, drop_last)
    assert list(sampler) == batches and len(sampler) == len(batches)


@pytest.mark.parametrize("batch_size", [0, -1, 1.5, "3"])
def test_batch_sampler_refuses_sizes(batch_size):
    with pytest.raises(lnb.ConfigError, match="batch_size"):
        BatchSampler(SequentialSampler(range(7)), batch_size)


@pytest.mark.parametrize(("replacement", "count"), [(False, 4), (False, 25), (True, 25), (False, 0)])
def test_random_sampler_of_so_many_samples(replacement, count):
    order = RandomSampler(range(10), replacement, count, seed=1)
    found = list(order)
    assert len(found) == len(order) == count and set(found) <= set(range(10))
    if not replacement:                                    # whole orders, one after the other
        assert all(len(set(found[start:start + 10])) == len(found[start:start + 10]) for start in (0, 10, 20))
    elif count:
        assert len(set(found[:10])) < 10


def test_subset_random_sampler_permutes_its_indices():
    order = SubsetRandomSampler([7, 3, 5, 11], seed=0)
    first, second = list(order), list(order)
    assert sorted(first) == sorted(second) == [3, 5, 7, 11] and len(order) == 4
    expected = [[7, 3, 5, 11][place] for place in np.random.default_rng(6).permutation(4)]
    assert list(SubsetRandomSampler([7, 3, 5, 11], np.random.default_rng(6))) == expected


def test_weighted_random_sampler_draws_by_weight():
    weights = np.array([1.0, 0.0, 3.0, 4.0])
    found = np.bincount(list(WeightedRandomSampler(weights, 8000, seed=0)), minlength=4)
    spread = np.sqrt(8000 * weights / 8 * (1 - weights / 8))
    assert (abs(found - 1000 * weights) <= 5 * spread).all()
    assert sorted(WeightedRandomSampler(weights * 1e307, 3, replacement=False, seed=1)) == [0, 2, 3]


@pytest.mark.parametrize(("weights", "count", "text"), [
    ([1, -1], 2, "weights of shape"), ([0, 0], 2, "weights of shape"), ([[1]], 2, "weights of shape"),
    ([1, np.nan], 1, "weights of shape"), ([1, 0, 2], 3, "3 samples without replacement of 2"),
    ([1], 0, "num_samples")])
def test_weighted_random_sampler_refuses(weights, count, text):
    with pytest.raises(lnb.ConfigError, match=text):
        WeightedRandomSampler(weights, count, replacement=False)


def test_random_sampler_refuses_a_seed_in_the_place_of_replacement():
    with pytest.raises(lnb.ConfigError, match="replacement is 3"):
        RandomSampler(range(3), 3)


def test_samplers_follow_the_library_seed():
    """lucid's shuffle is not governed by lucid.random.seed."""
    def run(seed):
        lnb.random.seed(seed)
        return list(RandomSampler(range(30))), list(WeightedRandomSampler(np.ones(30), 30))
    assert run(1) == run(1) != run(2)
