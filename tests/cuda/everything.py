"""Runs a call on two devices, and keeps what a device launches and what crosses to the host and back."""

import sys
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

import lucid_nb as lnb

UPLOAD = "upload"


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


def check_equal(found, wanted, tolerance=2e-5):
    """Results or gradients of two devices: dtypes and shapes the same, numbers near."""
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        assert (ours is None) == (theirs is None)
        if ours is None:
            continue
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if theirs.dtype.kind in "fc":
            finite = np.abs(theirs[np.isfinite(theirs)])
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * float(finite.max(initial=1)))
        else:
            np.testing.assert_array_equal(ours, theirs)


# ------------------------------------------------------------------------------------- what crosses, what is launched
class Traffic:
    """What crosses between host and device in a block, by the public function that it happens in; and the launches.

    `names`: of public functions by their code; `given`: of those that send what their caller made.
    """

    def __init__(self, names, given):
        self.names, self.given = names, given
        self.crossed, self.launches = set(), []

    def note(self, kind):
        """Something crosses, within the innermost public function that is running."""
        frame, passed = sys._getframe(2), self.given if kind == "sends" else ()
        while frame is not None and self.names.get(frame.f_code) in (None, *passed):
            frame = frame.f_back
        self.crossed.add((kind, self.names[frame.f_code] if frame else ""))


@contextmanager
def watched(names, given):
    """Traffic in the block."""
    from lucid_nb.cuda import runtime
    found, before = Traffic(names, given), (runtime.upload, runtime.download)

    def upload(flat):
        found.note("sends")
        return before[0](flat)

    def download(flat):
        found.note("reads")
        return before[1](flat)
    runtime.upload, runtime.download = upload, download
    try:
        with runtime.kept_launches() as launches:
            yield found
    finally:
        runtime.upload, runtime.download = before
        found.launches = [name for name, *_ in launches if name != UPLOAD]


def traffic(call, names, given):
    """What the second run of a call does: (forward, backward)."""
    with lnb.device("cuda"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, tensors = prepared(call, "cuda")
        results = leaves(call.run(*made, *tensors))             # what is sent once, as constants are
        pulled_back(results, seeds(results), tensors, made)
        with watched(names, given) as forward:
            results = leaves(call.run(*made, *tensors))
        cotangents = seeds(results)
        with watched(names, given) as backward:
            pulled_back(results, cotangents, tensors, made)
    return forward, backward


# ---------------------------------------------------------------------------------------------------- bad arguments
def spoiled(arrays):
    """The arguments with one made wrong: other numbers, a row more, an axis more or less, positions out of range."""
    for number, x in enumerate(arrays[:3]):
        others = [x.astype("complex64"), x[None], x.reshape(-1)[:1].reshape(()), x > 0,
                  np.concatenate([x, x[:1]]) if x.ndim else x[None]]
        others += [x + 50, x - 50, x.astype("float32")] if x.dtype.kind == "i" else [np.nan_to_num(x).astype("int32")]
        for other in others:
            yield [*arrays[:number], other, *arrays[number + 1:]]


def errors_of(call):
    """The CPU's errors and the device's, for arguments that the CPU refuses."""
    for arrays in spoiled(list(call.arrays())):
        wanted = outcome(call, "cpu", arrays).error
        if wanted:
            yield wanted, outcome(call, "cuda", arrays).error
