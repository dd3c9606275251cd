"""Runs a call on the CPU and on a device: results, gradients and errors."""

import warnings
from typing import NamedTuple

import numpy as np

import lucid_nb as lnb


class Outcome(NamedTuple):
    """What a call gives: results and gradients on the host, or the text of its error; and the devices of results."""

    results: list
    gradients: list
    devices: set
    error: str = ""


def leaves(found):
    """The tensors of a result, in order."""
    if isinstance(found, dict):
        found = list(found.values())
    return [leaf for part in found for leaf in leaves(part)] if isinstance(found, (tuple, list)) else [found]


def prepared(call, device, arrays=None):
    """The layer, if any, and the arguments, on a device; where it is no CPU, waiting in its memory."""
    lnb.random.seed(3)
    made = [] if call.make is None else [call.make().to(device)]
    tensors = [lnb.tensor(x, device=device, requires_grad=x.dtype.kind in "fc")
               for x in (call.arrays() if arrays is None else arrays)]
    return made, tensors


def seeds(results):
    """A cotangent for each result."""
    rng = np.random.default_rng(2)
    return [lnb.asarray(rng.uniform(0.5, 2, x.shape).astype(x.dtype), device=x.device) for x in results]


def pulled_back(results, given, tensors, made):
    """The gradients of the arguments and of the layer's parameters."""
    ends = [(x, seed) for x, seed in zip(results, given) if x.requires_grad]
    if not ends:
        return []
    starts = [x for x in [*tensors, *[p for layer in made for p in layer.parameters()]] if x.requires_grad]
    return lnb.autograd.grad([x for x, _ in ends], starts, [seed for _, seed in ends], allow_unused=True)


def outcome(call, device, arrays=None):
    """Everything that a call gives on a device."""
    try:
        with lnb.device(device), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, tensors = prepared(call, device, arrays)
            results = leaves(call.run(*made, *tensors))
            gradients = list(pulled_back(results, seeds(results), tensors, made))
        results += [buffer for layer in made for buffer in layer.buffers()]
    except Exception as error:           # whatever it is, it has to be the same
        return Outcome([], [], set(), f"{type(error).__name__}: {error}")
    return Outcome([x.detach().to_host() for x in results], [None if g is None else g.to_host() for g in gradients],
                   {x.device for x in [*results, *[g for g in gradients if g is not None]]})


def check_equal(found, wanted, tolerance=2e-5, narrowed=()):
    """Results or gradients of two devices: shapes and dtypes the same, but for pairs that are told, numbers near."""
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        assert (ours is None) == (theirs is None)
        if ours is None:
            continue
        assert ours.shape == theirs.shape
        assert (ours.dtype, theirs.dtype) in narrowed or ours.dtype == theirs.dtype
        if theirs.dtype.kind in "fc":
            finite = np.abs(theirs[np.isfinite(theirs)])
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * float(finite.max(initial=1)))
        else:
            np.testing.assert_array_equal(ours, theirs)


# ---------------------------------------------------------------------------------------------------- bad arguments
def spoiled(arrays):
    """The arguments with one made wrong: another dtype; a row more, an axis more or less, nothing; positions, classes
    and counts out of range."""
    for number, x in enumerate(arrays[:3]):
        others = [x.astype("complex64"), x > 0, x.reshape(-1)[:1].reshape(()), x[None]]
        if x.ndim:
            others += [np.concatenate([x, x[:1]]), x[0], x[:0]]
        others += [x + 50, x - 50, x.astype("float32")] if x.dtype.kind == "i" else [np.nan_to_num(x).astype("int32")]
        for other in others:
            yield [*arrays[:number], other, *arrays[number + 1:]]


def apart(call, device, other):
    """What a call says when one of its float arguments lies on another device than the rest, for each of them."""
    arrays = list(call.arrays())
    for number, x in enumerate(arrays):
        with lnb.device(device), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, tensors = prepared(call, device, arrays)
            floats = [one for one in [*tensors, *[p for layer in made for p in (*layer.parameters(), *layer.buffers())]]
                      if one.dtype.kind == "f"]          # integers are positions, classes and counts
            if len(floats) == 1 or x.dtype.kind != "f":
                continue
            tensors[number] = lnb.tensor(x, device=other, requires_grad=True)
            try:
                call.run(*made, *tensors)
                yield ""
            except Exception as error:
                yield f"{type(error).__name__}: {error}"


class Refusal(NamedTuple):
    """The text of the error that a call raises, empty where none, and whether what it was given is as before."""

    error: str
    is_untouched: bool = True


def refusal(call, device, arrays):
    """What a call says of its arguments before anything of its results is read."""
    with lnb.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, tensors = prepared(call, device, arrays)
        given = [*tensors, *[x for layer in made for x in (*layer.parameters(), *layer.buffers())]]
        before = [x.detach().to_host().copy() for x in given]
        try:
            call.run(*made, *tensors)
        except Exception as error:           # whatever it is, it has to be the same
            same = [np.array_equal(x.detach().to_host(), old, equal_nan=old.dtype.kind in "fc")
                    for x, old in zip(given, before)]
            return Refusal(f"{type(error).__name__}: {error}", all(same))
    return Refusal("")


def refusals(call, device):
    """The arguments that the CPU refuses, its refusal, and the device's."""
    for arrays in spoiled(list(call.arrays())):
        wanted = refusal(call, "cpu", arrays)
        if wanted.error:
            yield arrays, wanted, refusal(call, device, arrays)
