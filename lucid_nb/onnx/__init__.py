"""Models of other libraries: files of the Open Neural Network Exchange, as modules and from them.

The package onnx reads and checks files; it is an optional dependency, loaded when it is first needed.
"""

from . import handlers
from .exporting import export
from .module import Model, load
from .nodes import run_node
from .table import operators

__all__ = ["Model", "export", "handlers", "load", "operators", "run_node"]
