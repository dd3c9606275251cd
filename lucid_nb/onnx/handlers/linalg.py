"""Products, determinants and Fourier transforms."""

from typing import Any

import numpy as np

from ... import fft
from ... import linalg as algebra
from ...errors import ShapeError
from ...register import functions
from ..library import dtype_of
from ..table import operator
from ..values import on, scalar


@operator("Gemm")
def gemm(a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0,
         broadcast: int = 0) -> Any:
    """alpha a b + beta c."""
    found = functions["matmul"](a.T if transA else a, b.T if transB else b)
    found = found if alpha == 1 else (alpha * found).astype(a.dtype, copy=False)
    if c is None or beta == 0:
        return found
    return found + (c if beta == 1 else (beta * c).astype(c.dtype, copy=False))


@operator("MatMul")
def matmul(a: Any, b: Any) -> Any:
    """The product of matrices."""
    return functions["matmul"](a, b)


@operator("Einsum")
def einsum(*inputs: Any, equation: str) -> Any:
    """Sums of products."""
    return functions["einsum"](equation.replace(" ", ""), *inputs)


@operator("Det")
def det(x: Any) -> Any:
    """The determinants of matrices."""
    return algebra.det(x)


# ----------------------------------------------------------------------------------------------- transforms
def _complex(x: Any) -> Any:
    """The numbers whose parts are on the last axis."""
    if x.shape[-1] not in (1, 2):
        raise ShapeError(f"onnx: DFT of {x.shape}. The last axis has the real part, or both parts.")
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + x[..., 1] * 1j


def _parts(z: Any, dtype: np.dtype) -> Any:
    return functions["stack"]([z.real, z.imag], -1).astype(dtype, copy=False)


def _transform(x: Any, length: Any, axis: int, inverse: bool, onesided: bool) -> Any:
    axis, count = axis % x.ndim, None if length is None else int(scalar(length))
    wide = x.astype("float32") if x.dtype.itemsize == 2 else x
    if inverse and onesided:
        return functions["expand_dims"](fft.irfft(_complex(wide), count, axis), -1).astype(x.dtype, copy=False)
    name = "rfft" if onesided else "ifft" if inverse else "fft"
    return _parts(getattr(fft, name)(_complex(wide), count, axis), x.dtype)


@operator("DFT", since=20)
def dft(x: Any, dft_length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0) -> Any:
    """The discrete Fourier transform along an axis."""
    return _transform(x, dft_length, -2 if axis is None else int(scalar(axis)), bool(inverse), bool(onesided))


@operator("DFT")
def dft_along_attribute(x: Any, dft_length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Any:
    """Before opset 20 the axis is an attribute."""
    return _transform(x, dft_length, axis, bool(inverse), bool(onesided))


@operator("STFT")
def stft(signal: Any, frame_step: Any, window: Any = None, frame_length: Any = None, *, onesided: int = 1) -> Any:
    """The transforms of frames of a signal, each weighted by a window."""
    step = int(scalar(frame_step))
    size = int(scalar(frame_length)) if frame_length is not None else (
        window.shape[0] if window is not None else signal.shape[1])
    z = _complex(signal)
    starts = np.arange((signal.shape[1] - size) // step + 1) * step
    frames = functions["take"](z, on(signal, starts[:, None] + np.arange(size)), axis=1)
    frames = frames if window is None else frames * window
    real = signal.shape[-1] == 1
    return _parts(fft.rfft(frames) if onesided and real else fft.fft(frames), signal.dtype)


# -------------------------------------------------------------------------------------------------- windows
def _window(name: str, *weights: float) -> None:
    @operator(name)
    def window(size: Any, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        count = int(scalar(size))
        angle = 2 * np.pi * np.arange(count) / (count if periodic else max(count - 1, 1))
        total = sum(weight * (-1) ** k * np.cos(k * angle) for k, weight in enumerate(weights))
        return on(size, np.asarray(total).astype(dtype_of(output_datatype)))


_window("HannWindow", 0.5, 0.5)
_window("HammingWindow", 25 / 46, 21 / 46)
_window("BlackmanWindow", 0.42, 0.5, 0.08)
