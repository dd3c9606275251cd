"""Models by name: factories are registered, and made with `create_model`."""

import difflib
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from .. import nn
from ..errors import ConfigError
from ..io import load

Factory = TypeVar("Factory", bound=Callable[..., nn.Module])
_FACTORIES: dict[str, Callable[..., nn.Module]] = {}


def _key(name: str) -> str:
    """What a name is looked up by: `resnet50`, `resnet_50` and `ResNet_50` are one model."""
    return name.replace("_", "").lower()


def register_model(factory: Factory) -> Factory:
    """Decorator: make a factory known to `create_model` under its name, and let it take `weights`.

    `weights`, a path of a file that `lucid_nb.load` reads or a dict of arrays, is loaded into the new model.
    ConfigError if the name is taken by another factory, or if there is none, as of a lambda.

    >>> @lnb.models.register_model
    ... def tiny_perceptron(num_classes=2):
    ...     return lnb.nn.Linear(3, num_classes)
    >>> lnb.models.create_model("tiny_perceptron", num_classes=5)
    Linear(in_features=3, out_features=5, bias=True)
    >>> tiny_perceptron(weights={"weight": np.ones((2, 3)), "bias": np.zeros(2)}).weight.sum().item()
    6.0
    """
    name = getattr(factory, "__name__", "")
    if not name.isidentifier():
        raise ConfigError(f"register_model: a {name or type(factory).__name__} has no name to create it by. "
                          "Pass a function made with def, which returns a Module.")
    other = _FACTORIES.get(_key(name))
    if other is not None and (other.__module__, other.__qualname__) != (factory.__module__, factory.__qualname__):
        raise ConfigError(f"register_model: {name!r} is the name of a model of {other.__module__}. Choose another.")

    @functools.wraps(factory)
    def make(*args: Any, weights: str | os.PathLike[str] | Mapping[str, Any] | None = None, **kwargs: Any) -> nn.Module:
        model = factory(*args, **kwargs)
        if weights is not None:
            model.load_state_dict(weights if isinstance(weights, Mapping) else load(weights))
        return model

    _FACTORIES[_key(name)] = make
    return cast(Factory, make)


def create_model(name: str, **options: Any) -> nn.Module:
    """A new model by its name, with or without underscores; `options` go to its factory.

    `weights=` (of every factory) loads a file or a dict of arrays. ConfigError for an unknown name.

    >>> lnb.models.create_model("lenet_5", num_classes=3)(np.zeros((2, 1, 32, 32), np.float32)).shape
    (2, 3)
    """
    factory = _FACTORIES.get(_key(name))
    if factory is None:
        near = difflib.get_close_matches(name, get_model_names(), 3)
        raise ConfigError(f"create_model: no model is called {name!r}. "
                          + (f"Did you mean {' or '.join(near)}?" if near else "get_model_names() lists them."))
    return factory(**options)


def get_model_names() -> list[str]:
    """The names of all models, sorted.

    >>> "resnet_18" in lnb.models.get_model_names()
    True
    """
    return sorted(factory.__name__ for factory in _FACTORIES.values())
