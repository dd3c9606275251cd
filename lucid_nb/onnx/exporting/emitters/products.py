"""Products, and attention."""

from typing import Any

import numpy as np

from ..known import emits
from ..recording import Value
from ..writer import Ref, Writer


@emits("linear")
def _linear(w: Writer, out: Value, x: Ref, weight: Ref, bias: Ref | None = None) -> str:
    """One node where x is a matrix, which is all that Gemm takes."""
    if x.ndim == 2:
        return w.node("Gemm", x, weight, *([] if bias is None else [bias]), transB=1, stem="linear")
    found = w.node("MatMul", x, w.transpose(weight, (1, 0)), stem="linear")
    return found if bias is None else w.node("Add", found, bias, stem="linear")


@emits("matmul", "matmul_vector", "inner_product")
def _matmul(w: Writer, out: Value, a: Ref, b: Ref) -> str:
    return w.node("MatMul", a, b)


@emits("det")
def _det(w: Writer, out: Value, x: Ref) -> str:
    return w.node("Det", x)


@emits("contract")
def _contract(w: Writer, out: Value, a: Ref, b: Ref, pair: Any) -> str:
    letters: dict[Any, str] = {}
    for label in (*pair.left, *pair.right):
        letters.setdefault(label, chr(ord("a") + len(letters)))
    words = ["".join([letters[label] for label in labels]) for labels in (pair.left, pair.right, pair.result)]
    return w.node("Einsum", a, b, equation=f"{words[0]},{words[1]}->{words[2]}")


@emits("attention")
def _attention(w: Writer, out: Value, q: Ref, k: Ref, v: Ref, causal: bool, scale: float, drop: Any) -> list[str]:
    return [_scored(w, q, k, v, None, causal, scale), ""]


@emits("biased_attention")
def _biased_attention(w: Writer, out: Value, q: Ref, k: Ref, v: Ref, bias: Ref, causal: bool, scale: float,
                      drop: Any) -> list[str]:
    return [_scored(w, q, k, v, bias, causal, scale), ""]


def _scored(w: Writer, q: Ref, k: Ref, v: Ref, bias: Ref | None, causal: bool, scale: float) -> str:
    """softmax(q k^T scale + bias) v over (batch, heads, positions, features)."""
    keys, values = (_every_head(w, x, q.shape[1]) for x in (k, v))
    scores = w.node("MatMul", q, w.transpose(keys, (0, 1, 3, 2)), stem="scores")
    scores = w.node("Mul", scores, w.constant(np.array(scale, q.dtype)), stem="scores")
    if bias is not None:
        scores = w.node("Add", scores, bias, stem="scores")
    if causal:
        low = np.finfo(np.float32).min if q.dtype != np.float16 else np.finfo(np.float16).min
        shape = w.shape([q.shape[2], k.shape[2]])
        above = w.node("Trilu", w.node("Expand", w.constant(np.array(low, q.dtype)), shape),
                       w.constant(np.array(1, np.int64)), upper=1, stem="mask")
        scores = w.node("Add", scores, above, stem="scores")
    return w.node("MatMul", w.node("Softmax", scores, axis=-1), values, stem="attention")


def _every_head(w: Writer, x: Ref, heads: int) -> str:
    """Keys or values, of which several heads of queries have one, for each of these."""
    times = heads // x.shape[1]
    if times == 1:
        return x.name
    places = np.repeat(np.arange(x.shape[1]), times)
    return w.node("Gather", x, w.integers(places.tolist()), axis=1)
