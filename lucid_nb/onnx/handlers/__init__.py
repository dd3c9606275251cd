"""The operators of ONNX, family by family. Each module enters what it has into the table."""

from . import (
    activation,
    attention,
    control,
    convolution,
    elementwise,
    image,
    indexing,
    linalg,
    loss,
    movement,
    norm,
    pool,
    random,
    recurrent,
    reduction,
)

__all__ = ["activation", "attention", "control", "convolution", "elementwise", "image", "indexing", "linalg", "loss",
           "movement", "norm", "pool", "random", "recurrent", "reduction"]
