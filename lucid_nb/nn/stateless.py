"""A module as a function of its parameters: `functional_call`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..array import Tensor
from ..errors import ShapeError, StateError
from .module import Module

State = Mapping[str, Any]


def functional_call(module: Module, parameters_and_buffers: State | Sequence[State], args: Any = (),
                    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """`module(*args, **kwargs)`, with tensors in the place of parameters and buffers, by dotted name.

    What has no name given stays the module's own. `parameters_and_buffers` may be several mappings; `args` may be one
    argument that is no tuple. `tie_weights`: one that the module shares under several names is replaced under all.
    `strict`: all must be given. Running statistics are written into the buffers that are given. The module is as before
    afterwards; while it runs, no other thread should call it. StateError for unknown or missing names, ShapeError where
    a shape differs.

    >>> layer = lnb.nn.Linear(2, 1)
    >>> params = {name: p.detach() * 0 + 1 for name, p in layer.named_parameters()}
    >>> x = lnb.ones((1, 2), dtype="float32")
    >>> lnb.grad(lambda p: lnb.nn.functional_call(layer, p, x).sum())(params)["weight"].tolist()
    [[1.0, 1.0]]
    """
    parts = [parameters_and_buffers] if isinstance(parameters_and_buffers, Mapping) else parameters_and_buffers
    given: dict[str, Any] = {}
    for part in parts:
        twice = sorted(given.keys() & part.keys())
        if twice:
            raise StateError(f"functional_call: {twice} are given twice. Give each once.")
        given |= part
    arguments = args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """{dotted name: (the table that holds it, its name there)} of all parameters and buffers, shared ones under all."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for path, part in _paths(module, ""):
        for table in (part._parameters, part._buffers):
            found |= {path + name: (table, name) for name, value in table.items() if value is not None}
    return found


def _paths(module: Module, path: str) -> Iterator[tuple[str, Module]]:
    """All modules, shared ones under all their names."""
    yield path, module
    for name, child in module._modules.items():
        if child is not None:
            yield from _paths(child, f"{path}{name}.")


@contextmanager
def _replaced(module: Module, given: State, tie_weights: bool, strict: bool) -> Iterator[None]:
    """The module with other tensors, while the block runs."""
    places = _places(module)
    own = {name: table[key] for name, (table, key) in places.items()}
    unknown, missing = sorted(given.keys() - own.keys()), sorted(own.keys() - given.keys())
    ties = {id(own[name]): value for name, value in given.items() if name in own} if tie_weights else {}
    missing = [name for name in missing if id(own[name]) not in ties]
    if unknown or (strict and missing):
        raise StateError(f"functional_call: missing {missing if strict else []}, unexpected {unknown} for "
                         f"{type(module).__name__}. Use the names of named_parameters and named_buffers.")
    new = {name: given.get(name, ties.get(id(value), value)) for name, value in own.items()}
    for name, value in new.items():
        if not isinstance(value, Tensor) or value.shape != own[name].shape:
            got = f"shape {value.shape}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise ShapeError(f"functional_call: {name} is {got}, not a tensor of shape {own[name].shape}. Give one.")
    try:
        for name, (table, key) in places.items():
            table[key] = new[name]
        yield
    finally:
        for name, (table, key) in places.items():
            table[key] = own[name]
