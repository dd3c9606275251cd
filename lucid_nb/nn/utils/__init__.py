"""What serves layers: sequences of different lengths."""

from . import rnn

__all__ = ["rnn"]
