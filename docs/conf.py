"""Sphinx: `make docs`."""

project = "lucid_nb"
copyright = "2026, the lucid_nb authors"
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
numpydoc_show_class_members = False
autodoc_typehints = "description"
exclude_patterns = ["_build"]
html_title = "lucid_nb"
