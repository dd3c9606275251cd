"""The devices on which transforms are tested."""

from tests.ops.conftest import device

__all__ = ["device"]
