"""Samplers. Oracle: sets and counts of indices."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data import BatchSampler, RandomSampler, SequentialSampler


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
