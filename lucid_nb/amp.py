"""Mixed precision: ops that gain by half precision run in it, and gradients are scaled so as not to vanish there."""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ContextDecorator
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import numpy as np

from . import backend, tape
from .apply import recorded
from .array import Tensor, fresh
from .calls import cast_mode
from .dtypes import BFLOAT16, FLOAT16, FLOAT32, as_dtype
from .errors import ConfigError, DTypeError, GradError, StateError, told
from .op import Elementwise, Primitive, registry
from .ops.floating import isfinite
from .ops.reduction import all as all_of

# As in PyTorch: products run in half precision; what loses by it (sums, powers, exponentials, losses, norms) does not.
# All other ops take what comes: of a half and a float32 operand the result is float32.
HALF = frozenset({
    "matmul", "matmul_vector", "inner_product", "contract", "linear", "conv", "biased_conv", "conv_input_grad",
    "attention", "biased_attention"})
SINGLE = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "float_power", "square", "cube", "reciprocal",
    "rsqrt", "sinh", "cosh", "tan", "arcsin", "arccos", "erfinv", "softplus_below", "logaddexp", "logaddexp2",
    "sum", "prod", "logsumexp", "logcumsumexp", "softmax", "log_softmax", "variance",
    "euclidean_norm", "normalize", "normalize_by",
    "cross_entropy", "mean_cross_entropy", "squared_error", "absolute_error", "huber_error", "smooth_absolute_error",
    "bernoulli_loss", "logistic_loss", "weighted_logistic_loss", "soft_margin_term", "hinge_term", "margin_term",
    "ranking_term", "divergence_term", "log_divergence_term", "poisson_loss", "poisson_log_loss", "gaussian_loss",
    "cosine_term"})
NARROW = (FLOAT16, BFLOAT16)
_CAST: Any = registry["cast"]
DEFAULT = {"cpu": BFLOAT16, "cuda": FLOAT16, "mlx": FLOAT16}


class Casting:
    """Casts the operands of ops on a device, as `apply` asks for it."""

    def __init__(self, device: str, dtype: np.dtype) -> None:
        self.device, self.dtype = device, dtype

    def cast(self, op: Elementwise | Primitive, values: Sequence[Any]) -> Sequence[Any]:
        """The operands in the dtype that the op is to run in."""
        if op.name in HALF:
            return [self._narrow(x) if self._is_other(x, self.dtype) else x for x in values]
        if op.name in SINGLE:
            return [x.astype("float32") if self._is_other(x, FLOAT32) else x for x in values]
        return values

    def _is_other(self, x: Any, dtype: np.dtype) -> bool:
        """Is this a tensor here whose dtype is cast, and another one?"""
        return isinstance(x, Tensor) and x.dtype != dtype and (x.dtype == FLOAT32 or x.dtype in NARROW) and \
            x.device == self.device

    def _narrow(self, x: Tensor) -> Tensor:
        """In half precision; weights are cast once in a block, until they are written."""
        kept = _local.kept
        if kept is None or not (x.is_leaf and x.requires_grad):
            return x.astype(self.dtype)
        written = x.share().version.written
        known = kept.get((id(x), self.dtype))
        if known is None or known[0] is not x or known[1] != written:
            known = kept[id(x), self.dtype] = (x, written, x.detach().astype(self.dtype).raw)
        if not tape.is_recording():
            return fresh(known[2])
        # Each use has a node of its own: a backward frees those that it passes.
        found: Tensor = recorded(_CAST, (x,), (x.node,), known[2], {"dtype": self.dtype})
        return found


class _Local(threading.local):
    """Casts of weights that this thread keeps; None where it keeps none."""

    kept: dict[Any, tuple[Tensor, int, Any]] | None = None


_local = _Local()


@lru_cache(None)
def _casting(device: str, dtype: np.dtype) -> Casting:
    """One object for each choice, by which traces know it again."""
    return Casting(device, dtype)


class autocast(ContextDecorator):
    """Inside the block, or the decorated function, products on a device run in half precision; in this thread.

    Products are matmul, linear, convolution and attention; their float32 operands are cast to `dtype` (default:
    bfloat16 on cpu, float16 elsewhere). Exponentials, logarithms, powers, sums, softmax, losses and norms run in
    float32, everything else in the dtype of its operands; float64 stays, and recurrent layers compute in the dtype of
    their weights. `enabled=False` ends it for a block inside.
    With `cache_enabled` weights are cast once in the outermost block. `device_type` is by default the default device.
    Backward belongs outside of the block.

    Source: P. Micikevicius et al., Mixed precision training, 2018; the choice of ops is PyTorch's.

    >>> x, w = lnb.ones((2, 3), dtype="float32"), lnb.ones((3, 2), dtype="float32")
    >>> with lnb.autocast("cpu"):
    ...     y = x @ w
    >>> y.dtype, lnb.exp(y).dtype
    (dtype(bfloat16), dtype(bfloat16))
    >>> with lnb.autocast("cpu"):
    ...     print(lnb.exp(y).dtype)
    float32
    """

    def __init__(self, device_type: str | None = None, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        device = backend.default_device() if device_type is None else backend.resolve(device_type)
        wanted = DEFAULT[device] if dtype is None else as_dtype("autocast", dtype)
        if enabled and wanted not in NARROW:
            raise DTypeError(f"autocast: dtype is {wanted}. Use float16 or bfloat16.")
        self._arguments = device_type, dtype, enabled, cache_enabled
        self._casting = _casting(device, wanted) if enabled else None
        self._caches = cache_enabled is None or cache_enabled
        self._blocks: list[tuple[cast_mode, Any]] = []

    def _recreate_cm(self) -> Self:
        """A block of its own for each call of a decorated function: calls may overlap."""
        return type(self)(*self._arguments)

    def __enter__(self) -> Self:
        block = cast_mode(self._casting)
        self._blocks.append((block, _local.kept))
        _local.kept = (_local.kept or {}) if self._caches and self._casting is not None else None
        block.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        block, _local.kept = self._blocks.pop()
        block.__exit__(kind, error, trace)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Is this thread inside a block of autocast, for this device or for any?"""
    casting = tape.modes.casting
    return casting is not None and device_type in (None, casting.device)


class GradScaler:
    """Scales losses up, so that gradients do not vanish in float16, and gradients down again before a step.

    `scaler.scale(loss).backward()`, `scaler.step(optimizer)`, `scaler.update()`. A step whose gradients are not all
    finite is left out, and the scale multiplied by `backoff_factor`; after `growth_interval` steps in a row that were
    taken it is multiplied by `growth_factor`. `unscale_(optimizer)` before clipping. Not `enabled`, it does nothing.

    Source: P. Micikevicius et al., Mixed precision training, 2018, section 3.2; arguments and states are PyTorch's.

    >>> x = lnb.tensor([3.0], requires_grad=True)
    >>> optimizer, scaler = lnb.optim.SGD([x], lr=0.5), lnb.GradScaler(init_scale=1024.0)
    >>> scaler.scale((x * x).sum()).backward()
    >>> x.grad.tolist()
    [6144.0]
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> x.tolist(), scaler.get_scale()
    ([0.0], 1024.0)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0 ** 16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        for name, value, is_allowed, words in (
                ("init_scale", init_scale, init_scale > 0, "a number above 0"),
                ("growth_factor", growth_factor, growth_factor > 1, "a number above 1"),
                ("backoff_factor", backoff_factor, 0 < backoff_factor < 1, "a number between 0 and 1"),
                ("growth_interval", growth_interval, growth_interval >= 1, "a whole number of 1 or more")):
            if enabled and not is_allowed:
                raise ConfigError(f"GradScaler: {name} is {told(value)}. Use {words}.")
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker, self._enabled = growth_interval, 0, enabled
        self._finite: dict[int, bool] = {}        # by optimizer: were its gradients, now scaled down, finite?
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """Does it scale?"""
        return self._enabled

    def get_scale(self) -> float:
        """The present scale."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """A loss times the scale, or a list or tuple of them."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            return type(outputs)(map(self.scale, outputs))  # type: ignore[call-arg]
        raise DTypeError(f"GradScaler.scale: {told(outputs)} is no tensor. Give a loss, or a list of them.")

    def unscale_(self, optimizer: Any) -> None:
        """Scale the gradients of an optimizer's parameters down, once between updates."""
        if not self._enabled:
            return
        key = id(optimizer)
        if key in self._finite:
            raise GradError("GradScaler.unscale_: the gradients have been scaled down since the last update. Call "
                            "update() after each step.")
        params = [param for group in optimizer.param_groups for param in group["params"] if param.grad is not None]
        if any(param.grad.dtype == FLOAT16 for param in params):
            raise DTypeError("GradScaler.unscale_: gradients are float16 and may vanish. Keep parameters in float32.")
        with tape.grad_mode(False):
            for param in params:
                param.grad = param.grad.detach() * (1 / self._scale)
            self._finite[key] = all([bool(all_of(isfinite(param.grad))) for param in params])

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, left out where a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise ConfigError("GradScaler.step: a closure was given. Compute the gradients before, and leave it out.")
        if id(optimizer) in self._stepped:
            raise GradError("GradScaler.step: this optimizer has stepped since the last update. Call update() first.")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(**kwargs) if self._finite[id(optimizer)] else None

    def update(self, new_scale: float | None = None) -> None:
        """Choose the scale of the next step."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._finite:
            raise GradError("GradScaler.update: no gradients were looked at. Call step(optimizer) before.")
        elif not all(self._finite.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale, self._growth_tracker = grown if grown < math.inf else self._scale, 0
        self._finite, self._stepped = {}, set()

    def state_dict(self) -> dict[str, Any]:
        """The scale, the factors, and how many steps in a row were taken; empty where it is not enabled."""
        names = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        return {name: getattr(self, f"_{name.lstrip('_')}") for name in names} if self._enabled else {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what state_dict gave."""
        if not self._enabled:
            return
        if not isinstance(state_dict, Mapping) or state_dict.keys() != self.state_dict().keys():
            raise StateError(f"GradScaler.load_state_dict: the state is {told(state_dict)}. Pass what state_dict() of "
                             "an enabled scaler gave.")
        vars(self).update({f"_{key.lstrip('_')}": value for key, value in state_dict.items()})
