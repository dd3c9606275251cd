"""How the primitives and views of this package are written as nodes, family by family.

An emitter takes the writer, the result (its shape and dtype), the operands and the parameters of a call, and gives the
name of the result, or names where there are several.
"""

from . import movement, places, products, reductions, sequences, windows

__all__ = ["movement", "places", "products", "reductions", "sequences", "windows"]
