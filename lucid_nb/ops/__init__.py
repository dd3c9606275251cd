"""The ops, one chapter a file. Importing the chapters fills the registry."""

import importlib
import pkgutil

CHAPTERS = sorted(module.name for module in pkgutil.iter_modules(__path__))
for _chapter in CHAPTERS:
    importlib.import_module(f"{__name__}.{_chapter}")
