"""lucid_nb: NumPy's programs with gradients and devices, in pure Python.

    import lucid_nb as np

runs a NumPy program; `requires_grad=True` differentiates it; `device="cuda"` or `"mlx"` moves it. Compiled kernels,
devices and subpackages load when they are first used.
"""

import importlib
import sys as _sys
from types import ModuleType as _Module
from typing import Any

import numpy as _numpy
from numpy import (
    False_,
    ScalarType,
    True_,
    asmatrix,
    base_repr,
    binary_repr,
    bmat,
    bool,
    bool_,
    busday_count,
    busday_offset,
    busdaycalendar,
    byte,
    bytes_,
    cdouble,
    character,
    clongdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    datetime64,
    datetime_as_string,
    datetime_data,
    double,
    dtype,
    e,
    errstate,
    euler_gamma,
    flatiter,
    flexible,
    float16,
    float32,
    float64,
    floating,
    format_float_positional,
    format_float_scientific,
    frompyfunc,
    generic,
    get_include,
    get_printoptions,
    getbufsize,
    geterr,
    geterrcall,
    half,
    index_exp,
    inexact,
    inf,
    info,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    integer,
    intp,
    is_busday,
    isnat,
    little_endian,
    long,
    longdouble,
    longlong,
    matrix,
    memmap,
    mintypecode,
    nan,
    ndindex,
    nested_iters,
    newaxis,
    number,
    object_,
    pi,
    poly1d,
    printoptions,
    recarray,
    record,
    s_,
    sctypeDict,
    set_printoptions,
    setbufsize,
    seterr,
    seterrcall,
    short,
    show_config,
    show_runtime,
    signedinteger,
    single,
    str_,
    timedelta64,
    typecodes,
    typename,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
    void,
)

from . import array_function, backward, creation, errors, interop, ops, rewrites, roads, ufuncs
from .amp import GradScaler, autocast
from .array import Tensor
from .array_api import __array_namespace_info__
from .autograd import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    deriv,
    elementwise_grad,
    grad_and_aux,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    hvp,
    jacobian,
    jvp,
    linearize,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    stop_gradient,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
    vjp,
)
from .autograd.transforms import grad
from .backend import default_device, device, devices, set_default_device, synchronize
from .calls import count_flops, flops_enabled
from .creation import c_, mgrid, ndarray, ogrid, r_
from .dtypes import bfloat16, default_dtype, set_default_dtype
from .errors import (
    AxisError,
    BackendError,
    ConfigError,
    DeviceError,
    DTypeError,
    GradError,
    IndexError,
    LinAlgError,
    LucidError,
    OverflowError,
    ShapeError,
)
from .fusion import fuse
from .host import (
    array2string,
    array_repr,
    array_str,
    broadcast,
    iterable,
    may_share_memory,
    ndenumerate,
    nditer,
    require,
    shares_memory,
)
from .io import fromfile, fromregex, genfromtxt, load, loadtxt, save, savetxt, savez, savez_compressed
from .register import functions as _functions
from .tape import grad_mode as _grad_mode
from .tape import modes as _modes
from .tape import set_grad_enabled
from .ufuncs import ufunc
from .vectorize import vmap

__version__ = "0.1.0"
__array_api_version__ = "2025.12"
globals().update(_functions)
_SUBPACKAGES = {"autograd", "fft", "nn", "special", "optim", "models", "data", "testing", "config", "random", "lib",
                "linalg", "visual", "einops", "onnx", "amp"}
_OF_SUBPACKAGES = {"register_model": "models", "transforms": "data", "datasets": "data"}
_THREADS = {"set_num_threads", "get_num_threads"}
_OF_NUMPY = {"char", "ctypeslib", "emath", "exceptions", "ma", "polynomial", "rec", "strings", "typing"}


class no_grad(_grad_mode):
    """Record nothing inside the block, or inside the decorated function; in this thread.

    As a decorator with or without parentheses: `@lnb.no_grad()`, `@lnb.no_grad`.
    """

    enabled_inside = False

    def __new__(cls, function: Any = None) -> Any:
        """The block, or the decorated function."""
        return super().__new__(cls) if function is None else cls()(function)

    def __init__(self) -> None:
        super().__init__(self.enabled_inside)


class enable_grad(no_grad):
    """Record inside the block, or inside the decorated function; in this thread."""

    enabled_inside = True


def is_grad_enabled() -> bool:
    """Is this thread recording?"""
    return _modes.enabled


grad_enabled = is_grad_enabled


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name in _OF_SUBPACKAGES:
        return getattr(importlib.import_module(f".{_OF_SUBPACKAGES[name]}", __name__), name)
    if name in _OF_NUMPY:                     # for data that no tensor holds
        return getattr(_numpy, name)
    if name in _THREADS:
        threads = importlib.import_module(".kernels.threads", __name__)
        return {"set_num_threads": threads.set_num_threads, "get_num_threads": threads.num_threads}[name]
    if name == "CONV_VIEW_LIMIT_MB":
        return importlib.import_module(".config", __name__).conv_view_limit_mb
    if name == "ENABLE_FUSION":
        return importlib.import_module(".config", __name__).fusion is not False
    raise AttributeError(f"module 'lucid_nb' has no attribute {name!r}")


class _Package(_Module):
    """The class of this module: what is read here but fixed before import cannot be assigned."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "CONV_VIEW_LIMIT_MB":
            importlib.import_module(".config", __name__).conv_view_limit_mb = value       # which refuses it
        if name == "ENABLE_FUSION":
            importlib.import_module(".config", __name__).fusion = value
            return
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    plain = {name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _Module)}
    here = {"errors", "CONV_VIEW_LIMIT_MB", "ENABLE_FUSION", "__version__", "__array_namespace_info__"}
    return sorted((plain - {"Any"}) | _SUBPACKAGES | {*_OF_SUBPACKAGES} | _OF_NUMPY | _THREADS | here)
