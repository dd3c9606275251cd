"""The commands of `python -m lucid_nb`, one a file: each has `add_arguments(parser)`, `run(args)` and its help."""
