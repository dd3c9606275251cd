"""What a call launches on "cuda", and what crosses to the host and back."""

import sys
import warnings
from contextlib import contextmanager

import lucid_nb as lnb

from ..devices.running import leaves, prepared, pulled_back, seeds


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
        found.launches = [one.name for one in launches]


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
