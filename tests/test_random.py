"""Keys and what is drawn from them. Oracle: the generator written out in Python integers, held to the vectors that its
authors publish (Random123, kat_vectors); SciPy's tests of distributions."""

import numpy as np
import pytest
from scipy import stats

import lucid_nb as lnb

MASK = 0xFFFFFFFF
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((MASK,) * 4, (MASK, MASK), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1))]


def philox(counter, key):
    a, b, c, d = counter
    first, second = key
    for _ in range(10):
        one, two = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (two >> 32) ^ b ^ first, two & MASK, (one >> 32) ^ d ^ second, one & MASK
        first, second = (first + 0x9E3779B9) & MASK, (second + 0xBB67AE85) & MASK
    return a, b, c, d


def word(key, place):
    """The word of a stream at a place."""
    block, rest = divmod(place, 1024)
    number = block * 256 + rest % 256
    return philox((number & MASK, number >> 32, key.stream & MASK, key.stream >> 32), key.words)[rest // 256]


@pytest.mark.parametrize(("counter", "key", "words"), PUBLISHED)
def test_the_oracle_has_the_published_words(counter, key, words):
    assert philox(counter, key) == words


@pytest.mark.parametrize("key", [lnb.random.key(0), lnb.random.key(2**64 - 1), lnb.random.key(12345).split(1)[0],
                                 lnb.random.Key((0xA4093822, 0x299F31D0), 0x0370734413198A2E)], ids=str)
def test_bits_are_the_words_of_the_stream(key):
    found = key.bits((3000,)).numpy()
    assert found.dtype == np.uint32
    for place in (0, 1, 255, 256, 700, 1023, 1024, 2047, 2999):
        assert found[place] == word(key, place)


def test_the_first_published_words_come_out():
    found = lnb.random.key(0).bits((1024,)).numpy()
    assert tuple(found[[0, 256, 512, 768]]) == PUBLISHED[0][2]


def test_a_prefix_is_a_prefix():
    key = lnb.random.key(9)
    for count in (0, 1, 5, 1000, 1024, 1025):
        assert np.array_equal(key.bits((count,)).numpy(), key.bits((5000,)).numpy()[:count])
    assert key.bits().shape == () and key.bits((2, 3)).numpy().ravel().tolist() == key.bits(6).numpy().tolist()


def test_split_keys_and_streams_differ():
    root = lnb.random.key(1)
    keys = [root, *root.split(50), *lnb.random.split(root.split()[0], 3)]
    assert len(set(keys)) == 54 and root.split(2) == root.split(50)[:2]
    drawn = {key.bits((4,)).numpy().tobytes() for key in keys}
    assert len(drawn) == 54 and root.split(0) == ()
    assert all(0 <= key.stream < 2**63 for key in keys)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_are_even(dtype):
    found = lnb.random.key(3).uniform((20000,), -1, 3, dtype=dtype).numpy()
    assert found.dtype == dtype and found.min() >= -1 and found.max() < 3
    assert stats.kstest(found, stats.uniform(-1, 4).cdf).pvalue > 0.01
    ahead, behind = found[:-1] - 1, found[1:] - 1
    assert abs((ahead * behind).mean()) < 0.04
    words = lnb.random.key(3).bits((20000,)).numpy()
    if dtype == "float32":
        assert np.array_equal(lnb.random.key(3).uniform((20000,)).numpy(), (words >> 8) * np.float32(2**-24))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_normal_numbers_are_normal(dtype):
    found = lnb.random.key(4).normal((20000,), 2.0, 3.0, dtype=dtype)
    assert found.dtype == lnb.asarray(0, dtype=dtype).dtype
    wide = found.astype("float64").numpy()
    assert stats.kstest(wide, stats.norm(2, 3).cdf).pvalue > 0.01 and np.isfinite(wide).all()


def test_numbers_are_the_same_on_every_device():
    for device in lnb.devices():
        key = lnb.random.key(6)
        for name in ("bits", "uniform", "normal"):
            there, here = getattr(key, name)((70,), device=device), getattr(key, name)((70,))
            assert there.device == device and np.array_equal(there.to("cpu").numpy(), here.numpy())


def test_bits_do_not_depend_on_the_number_of_threads():
    before, found = lnb.get_num_threads(), []
    for count in (1, 2):
        lnb.set_num_threads(count)
        found.append(lnb.random.key(8).bits((300_001,)).numpy())
    lnb.set_num_threads(before)
    assert np.array_equal(*found)


def test_seed_governs_the_keys_of_calls():
    draws = []
    for _ in range(2):
        lnb.random.seed(5)
        draws.append([lnb.random.next_key() for _ in range(3)])
    assert draws[0] == draws[1] and len({*draws[0]}) == 3
    lnb.random.seed()
    assert lnb.random.next_key() not in draws[0]


def test_the_whole_state_goes_back(tmp_path):
    """Through a file, too: the numbers that follow are those that followed."""
    def numbers():
        dropped = lnb.nn.functional.dropout(lnb.ones(64))
        return [lnb.random.rand(3), lnb.random.randn(1), dropped, lnb.nn.Linear(2, 3).weight]
    lnb.random.seed(5)
    lnb.random.randn(1)                                   # NumPy keeps the second of a pair
    numbers()
    state = lnb.random.get_rng_state()
    lnb.save(state, tmp_path / "state.lcd")
    wanted = numbers()
    for back in (state, lnb.load(tmp_path / "state.lcd")):
        lnb.random.seed(6)
        lnb.random.set_rng_state(back)
        assert lnb.random.get_seed() == 5
        assert [x.tolist() for x in numbers()] == [x.tolist() for x in wanted]


def test_a_wrong_state_changes_nothing():
    state = lnb.random.get_rng_state()
    for wrong in ({}, {**state, "words": [1]}, {**state, "used": -1}, {**state, "words": [1, 2**32]},
                  {**state, "host": {}}, {key: state[key] for key in ("host", "words", "used")}, 3):
        with pytest.raises(ValueError, match="set_rng_state: "):
            lnb.random.set_rng_state(wrong)
    assert str(lnb.random.get_rng_state()) == str(state)


@pytest.mark.parametrize("call", [lambda: lnb.random.key(-1), lambda: lnb.random.key(2**64),
                                  lambda: lnb.random.key(0).split(-1)])
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(lnb.ConfigError):
        call()


def test_integers_hold_no_fractions():
    for name in ("uniform", "normal"):
        with pytest.raises(lnb.DTypeError, match="real float"):
            getattr(lnb.random.key(0), name)((2,), dtype="int32")
