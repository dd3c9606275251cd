"""NumPy's assertions of numpy.testing, with tensors among their arguments."""

import functools
from collections.abc import Callable
from typing import Any

import numpy.testing as numpys

from ..host import content

# What takes arrays; the rest of numpy.testing takes functions, warnings and errors, and is NumPy's own.
OF_ARRAYS = """assert_ assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal
assert_array_almost_equal_nulp assert_array_compare assert_array_equal assert_array_less assert_array_max_ulp
assert_equal print_assert_equal""".split()
OWN = """assert_no_gc_cycles assert_no_warnings assert_raises assert_raises_regex assert_string_equal assert_warns
break_cycles build_err_msg clear_and_catch_warnings measure suppress_warnings tempdir temppath""".split()


def _of_arrays(function: Callable) -> Callable:
    """An assertion of NumPy's that reads tensors, on any device, by their content."""
    @functools.wraps(function)
    def compared(*arguments: Any, **keywords: Any) -> Any:
        return function(*map(content, arguments), **content(keywords))
    compared.__doc__ = f"`numpy.testing.{function.__name__}` of tensors and arrays: their content, on whatever device."
    compared.__module__ = __name__
    return compared


assertions: dict[str, Any] = {name: _of_arrays(getattr(numpys, name)) for name in OF_ARRAYS}
assertions.update({name: getattr(numpys, name) for name in OWN})
