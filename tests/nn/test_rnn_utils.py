"""Packing and padding of sequences. Oracle: the sequences themselves, and torch's functions where installed."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.nn.utils import rnn
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(5)
LENGTHS = [2, 5, 1, 4]


def sequences(lengths=LENGTHS, rest=(3,)):
    return [RNG.normal(size=(length, *rest)) for length in lengths]


@pytest.mark.parametrize("rest", [(), (3,), (2, 3)])
@pytest.mark.parametrize("batch_first", [False, True])
def test_padding_and_packing_give_the_sequences_back(rest, batch_first):
    given = sequences(rest=rest)
    padded = rnn.pad_sequence(given, batch_first, padding_value=7.0)
    assert padded.shape == ((4, 5, *rest) if batch_first else (5, 4, *rest))
    packed = rnn.pack_padded_sequence(padded, LENGTHS, batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 3, 2, 2, 1] and packed.data.shape == (12, *rest)
    again, lengths = rnn.pad_packed_sequence(packed, batch_first, 7.0)
    assert lengths.tolist() == LENGTHS and np.array_equal(again.numpy(), padded.numpy())
    longer, _ = rnn.pad_packed_sequence(packed, batch_first, total_length=6)
    assert longer.shape[1 if batch_first else 0] == 6 and not longer.numpy().take(5, 1 if batch_first else 0).any()
    for found in (rnn.unpack_sequence(packed), rnn.unpad_sequence(padded, LENGTHS, batch_first)):
        assert all(np.array_equal(one.numpy(), other) for one, other in zip(found, given))


@pytest.mark.parametrize("batch_first", [False, True])
def test_packing_equals_torch(batch_first):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    given = sequences()
    other = torch.nn.utils.rnn
    for side in ("left", "right"):
        ours = rnn.pad_sequence(given, batch_first, 2.0, side)
        theirs = other.pad_sequence([torch.tensor(one) for one in given], batch_first, 2.0, side)
        assert np.array_equal(ours.numpy(), theirs.numpy())
    packed = rnn.pack_padded_sequence(ours, LENGTHS, batch_first, enforce_sorted=False)
    expected = other.pack_padded_sequence(theirs, torch.tensor(LENGTHS), batch_first, enforce_sorted=False)
    for one, wanted in zip(packed, expected):
        assert np.array_equal(one.numpy(), wanted.numpy())


def test_gradients_flow_through_packing():
    def through(x):
        packed = rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False)
        return packed.data * packed.data, rnn.pad_packed_sequence(packed)[0]
    check_grad(through, RNG.normal(size=(5, 4, 2)))


@pytest.mark.parametrize(("lengths", "text"), [([1, 2, 3, 4], "increase"), ([5, 4, 3, 0], "from 1 to 5"),
                                               ([6, 4, 3, 1], "from 1 to 5"), ([5, 4], "lengths"),
                                               ([2.5, 1, 1, 1], "lengths")])
def test_wrong_lengths_are_refused(lengths, text):
    with pytest.raises(lnb.errors.ShapeError, match=f"pack_padded_sequence: .*{text}"):
        rnn.pack_padded_sequence(np.zeros((5, 4, 3)), lengths)


def test_wrong_sequences_are_refused():
    with pytest.raises(lnb.errors.ShapeError, match="pad_sequence: the sequences have shapes"):
        rnn.pad_sequence([np.zeros((2, 3)), np.zeros((2, 4))])
    with pytest.raises(lnb.errors.ShapeError, match="total_length 1"):
        rnn.pad_packed_sequence(rnn.pack_sequence([np.zeros(3)]), total_length=1)
    with pytest.raises(lnb.errors.ConfigError, match="padding_side"):
        rnn.pad_sequence([np.zeros(3)], padding_side="top")
