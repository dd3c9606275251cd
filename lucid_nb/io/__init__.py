"""Files of arrays: NumPy's, binary and text, safetensors, lucid's and PyTorch's.

Paths are written whole or not at all; reading a file runs no code.
"""

from . import methods
from .arrays import Archive, savez, savez_compressed
from .formats import load, save
from .text import fromfile, fromregex, genfromtxt, loadtxt, savetxt

__all__ = ["Archive", "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "methods", "save", "savetxt", "savez",
           "savez_compressed"]
