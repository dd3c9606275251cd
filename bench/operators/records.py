"""Calls of PyTorch's operator database as NumPy's arrays: inputs, results, gradients and second derivatives.

The database (torch.testing._internal, which imports expecttest) is what PyTorch tests itself with.
"""

import dataclasses
import random
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

MOST_CELLS = 20_000                                      # of all inputs of a call together
WIDER = {"float32": "float64", "complex64": "complex128"}
TWICE = ("float64", "complex128")                        # dtypes in which second derivatives are asked for


class Slot(NamedTuple):
    """The place of an array within arguments."""

    number: int


@dataclasses.dataclass
class Call:
    """One call of an operator: its arguments, with a Slot for each of `inputs`, and what PyTorch gives.

    `after`: the inputs after the call, which may write into them. `by`: numbers of the inputs that are differentiated
    by. A cotangent is None for a result without gradient, a gradient for an input that decides nothing.
    """

    operator: str
    dtype: str
    arguments: tuple
    keywords: dict[str, Any]
    inputs: list[np.ndarray]
    source: Any                                          # PyTorch's entry
    results: list[np.ndarray] = dataclasses.field(default_factory=list)
    after: list[np.ndarray] = dataclasses.field(default_factory=list)
    by: list[int] = dataclasses.field(default_factory=list)
    cotangents: list[np.ndarray | None] = dataclasses.field(default_factory=list)
    gradients: list[np.ndarray | None] = dataclasses.field(default_factory=list)
    directions: list[np.ndarray] = dataclasses.field(default_factory=list)
    second: list[np.ndarray | None] | None = None

    @property
    def seeds(self) -> list[np.ndarray]:
        """The cotangents of the results that have a gradient."""
        return [cotangent for cotangent in self.cotangents if cotangent is not None]

    def named(self) -> str:
        """The call as text, with the shapes of arrays."""
        filled = fill(self.arguments, [f"{x.dtype}{list(x.shape)}" for x in self.inputs])
        named = fill(self.keywords, [f"{x.dtype}{list(x.shape)}" for x in self.inputs])
        return f"{self.operator}({', '.join([*map(str, filled), *(f'{k}={v}' for k, v in named.items())])})"


def database() -> list[str]:
    """The names of all operators, with those of their variants."""
    return [full_name(operator) for operator in op_db]


def full_name(operator: Any) -> str:
    """An operator's name, with that of its variant."""
    return f"{operator.name}.{operator.variant_test_name}" if operator.variant_test_name else operator.name


def fill(tree: Any, values: list) -> Any:
    """Arguments with their slots filled."""
    if isinstance(tree, Slot):
        return values[tree.number]
    if type(tree) in (tuple, list):
        return type(tree)(fill(part, values) for part in tree)
    return {key: fill(part, values) for key, part in tree.items()} if isinstance(tree, dict) else tree


def lifted(tree: Any, tensors: list[torch.Tensor]) -> Any:
    """Arguments with slots in place of tensors, which are added to the list; dtypes as NumPy's names."""
    if isinstance(tree, torch.Tensor):
        tensors.append(tree)
        return Slot(len(tensors) - 1)
    if isinstance(tree, (tuple, list)):                  # named ones too
        return (list if isinstance(tree, list) else tuple)([lifted(part, tensors) for part in tree])
    if isinstance(tree, dict):
        return {key: lifted(part, tensors) for key, part in tree.items()}
    return str(tree).removeprefix("torch.") if isinstance(tree, torch.dtype) else tree


def array(tensor: torch.Tensor | None) -> np.ndarray | None:
    """A copy of its values."""
    return None if tensor is None else tensor.detach().resolve_conj().resolve_neg().numpy(force=True).copy()


def calls(names: set[str], dtypes: tuple[str, ...], seed: int = 0) -> Iterator[Call]:
    """The database's calls of the operators `names`, in each dtype that PyTorch has them in; of integers otherwise."""
    for operator in op_db:
        if full_name(operator) in names or operator.name in names:
            taken, otherwise = [[dtype for dtype in some if operator.supports_dtype(getattr(torch, dtype), "cpu")]
                                for some in (dtypes, ("int64",))]
            for dtype in taken or otherwise:
                yield from calls_of(operator, dtype, seed)


def calls_of(operator: Any, dtype: str, seed: int) -> Iterator[Call]:
    """One operator's calls in one dtype; those that PyTorch itself refuses are left out."""
    sow(seed)
    kind = getattr(torch, dtype)
    differentiated = operator.supports_autograd and kind in operator.backward_dtypes and dtype != "int64"
    samples = list(operator.sample_inputs("cpu", kind, requires_grad=differentiated))
    for number, sample in enumerate(samples):
        tensors: list[torch.Tensor] = []
        arguments, keywords = lifted((sample.input, *sample.args), tensors), lifted(sample.kwargs, tensors)
        if sum(t.numel() for t in tensors) <= MOST_CELLS and all(t.layout == torch.strided for t in tensors):
            call = Call(full_name(operator), dtype, arguments, keywords, list(map(array, tensors)), operator)
            try:
                run(call, tensors, np.random.default_rng([seed, number]))
            except RuntimeError:
                continue
            yield call


def widened(call: Call) -> Call:
    """The same call of PyTorch in twice the precision."""
    inputs, cotangents, directions = [list(map(wider, of)) for of in (call.inputs, call.cotangents, call.directions)]
    wide = dataclasses.replace(call, dtype=WIDER[call.dtype], inputs=inputs, cotangents=cotangents,
                               directions=directions)
    run(wide, [torch.from_numpy(x).requires_grad_(number in call.by) for number, x in enumerate(wide.inputs)], None)
    return wide


def wider(x: np.ndarray | None) -> np.ndarray | None:
    """An array in twice the precision, as a copy."""
    return None if x is None else x.astype(WIDER.get(x.dtype.name, x.dtype))


def sow(seed: int) -> None:
    """Start all generators that the database draws from."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def run(call: Call, tensors: list[torch.Tensor], draw: np.random.Generator | None) -> None:
    """Let PyTorch make the call and differentiate it, along what is drawn, or along what the call has."""
    results: list[torch.Tensor] = []
    lifted(made(call, tensors), results)
    call.results, call.after = list(map(array, results)), list(map(array, tensors))
    if draw is not None:
        call.cotangents = [drawn(draw, x) if x.requires_grad else None for x in results]
        call.by = [number for number, t in enumerate(tensors) if t.requires_grad]
        call.directions = [drawn(draw, tensors[number]) for number in call.by]
    ends = [(x, torch.from_numpy(c)) for x, c in zip(results, call.cotangents) if c is not None]
    starts = [tensors[number] for number in call.by]
    if not ends or not starts:
        call.by = []
        return
    twice = call.dtype in TWICE and call.source.supports_gradgrad
    gradients = torch.autograd.grad([x for x, _ in ends], starts, [c for _, c in ends], allow_unused=True,
                                    create_graph=twice)
    call.gradients = list(map(array, gradients))
    if twice:
        call.second = second_derivatives(gradients, starts, call.directions)


def made(call: Call, tensors: list[torch.Tensor]) -> Any:
    """What PyTorch's operator gives; a number as a tensor."""
    keywords = fill(call.keywords, tensors)
    if "dtype" in keywords:
        keywords["dtype"] = getattr(torch, keywords["dtype"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = call.source(*fill(call.arguments, tensors), **keywords)
    return torch.tensor(found) if isinstance(found, (bool, int, float)) else found


def drawn(draw: np.random.Generator, like: torch.Tensor) -> np.ndarray:
    """Normal numbers of a tensor's shape and dtype."""
    values = draw.standard_normal(like.shape)
    if like.is_complex():
        values = values + 1j * draw.standard_normal(like.shape)
    return np.asarray(values).astype(str(like.dtype).removeprefix("torch."))


def second_derivatives(gradients: Any, starts: Any, directions: list[np.ndarray]) -> list[np.ndarray | None] | None:
    """The gradients of gradients times directions; None where PyTorch cannot."""
    ends = [(g, torch.from_numpy(d)) for g, d in zip(gradients, directions) if g is not None and g.requires_grad]
    if not ends:
        return [None] * len(starts)
    try:
        return list(map(array, torch.autograd.grad([g for g, _ in ends], starts, [d for _, d in ends],
                                                   allow_unused=True)))
    except RuntimeError:
        return None
