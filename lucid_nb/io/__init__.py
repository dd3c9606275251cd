"""Files of arrays: NumPy's, binary and text. Paths are written whole or not at all; reading a file runs no code."""

from . import methods
from .arrays import Archive, load, save, savez, savez_compressed
from .text import fromfile, fromregex, genfromtxt, loadtxt, savetxt

__all__ = ["Archive", "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "methods", "save", "savetxt", "savez",
           "savez_compressed"]
