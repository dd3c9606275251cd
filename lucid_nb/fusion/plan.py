"""The plan of a fused function: fused programs and ordinary calls in order, over numbered values."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import tape
from ..array import Tensor
from ..trees import Structure, unflatten
from .fused import Fused


class Step(NamedTuple):
    """One call: values `inputs` in, as many values out as it gives. `reason`: why it is not fused; "" if it is."""

    call: Callable[..., Any]
    name: str
    inputs: tuple[int, ...]
    reason: str
    records: bool = True
    fused: Fused | None = None

    def run(self, values: list[Any]) -> bool:
        """Append the results to the values; were they a tuple?"""
        given = [values[i] for i in self.inputs]
        if self.records:
            found = self.call(*given)
        else:
            with tape.grad_mode(False):
                found = self.call(*given)
        is_tuple = type(found) is tuple
        values.extend(found if is_tuple else (found,))
        return is_tuple


class Plan:
    """What a function does with arguments of certain shapes and dtypes."""

    def __init__(self, captured: Sequence[Tensor], steps: Sequence[Step], results: Structure,
                 leaves: Sequence[tuple[bool, Any]]) -> None:
        self.captured, self.steps = list(captured), list(steps)
        self.results, self.leaves = results, list(leaves)   # (True, number of a value) or (False, the result itself)

    def run(self, arguments: Sequence[Tensor], captured: Sequence[Tensor]) -> Any:
        """The results; `captured`: the tensors from elsewhere, or what stands in their places."""
        values: list[Any] = [*arguments, *captured]
        for step in self.steps:
            step.run(values)
        return unflatten(self.results, [values[leaf] if is_value else leaf for is_value, leaf in self.leaves])

    def explain(self) -> str:
        """What was fused, and why the rest was not."""
        kernels = sum(step.fused is not None for step in self.steps)
        lines = [f"{len(self.steps)} step{'s' * (len(self.steps) != 1)}, {kernels} fused"]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number:3}. {described(step.fused) if step.fused else f'{step.name}: {step.reason}'}")
        return "\n".join(lines)


def described(fused: Fused) -> str:
    """A fused program in words."""
    calls = [name.replace("row_", "") for name in fused.functions]
    rows = f" over {'x'.join(map(str, fused.lead)) or 1} rows of {fused.cols}" if fused.has_rows else ""
    read = ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in fused.inputs)
    written = ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in fused.results)
    return f"one kernel{rows}: {' '.join(calls)}; reads {read}; writes {written}"
