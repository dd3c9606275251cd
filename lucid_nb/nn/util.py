"""Norms of gradients and their bounds, by lucid's names; `nn.utils` has PyTorch's, and more."""

from .utils.clip import clip_grad_norm, clip_grad_value, grad_norm

__all__ = ["clip_grad_norm", "clip_grad_value", "grad_norm"]
