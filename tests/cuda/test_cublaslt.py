"""The interface of cuBLASLt against its own headers, and its descriptors, which need no GPU."""

import ctypes
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lucid_nb.cuda import cublas, cublaslt
from lucid_nb.cuda.cublas import MOST_ALIGNED, WORKSPACE, Matrix, Product
from lucid_nb.cuda.cublaslt import ATTRIBUTES, CONSTANTS, SIGNATURES, Heuristic

BIAS = 1 << 20
PRODUCT = Product(np.dtype("float32"), False, Matrix(96, 128, 100, 7), Matrix(128, 64, 128, 0),
                  Matrix(96, 64, 96, 6144), (False, True), 5, True, (16, 4, 256))


@pytest.fixture
def library():
    found = cublaslt.found()
    if found is None:
        pytest.skip("nvidia-cublas is not installed (the extra cuda brings it)")
    return found


@cache
def text(name):
    """A header without its comments, or a skip."""
    from cuda import pathfinder
    folder = Path(pathfinder.load_nvidia_dynamic_lib("cublasLt").abs_path).parents[1] / "include"
    if not (folder / name).exists():
        pytest.skip(f"{name} is not installed")
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / name).read_text(), flags=re.DOTALL)


def constant(name):
    """The value that a header gives a name."""
    header = "library_types.h" if name.startswith("CUDA_") else "cublasLt.h" if "LT_" in name else "cublas_api.h"
    found = re.search(rf"(?:#define {name} \(|\b{name}\s*=\s*)([0-9a-fxul< ]+)", text(header))
    return eval(re.sub(r"(?<=[0-9a-f])u?ll\b", "", found[1]))


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_those_of_the_headers(library, name):
    assert CONSTANTS[name] == constant(name)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_those_of_the_header(library, name):
    assert ATTRIBUTES[name][0] == constant(name)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_those_of_the_header(library, name):
    found = re.search(rf"cublasStatus_t CUBLASWINAPI {name}\((.*?)\);", text("cublasLt.h"), re.DOTALL)
    plain = {"size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64}
    handles = ("Handle_t", "Desc_t", "Layout_t", "Preference_t", "cudaStream_t")
    types = []
    for given in found[1].split(","):
        kind = given.replace("const ", "").split()[0]
        is_pointer = "*" in given or "[" in given or kind.endswith(handles)
        types.append(ctypes.c_void_p if is_pointer else plain.get(kind, ctypes.c_int))
    assert tuple(types) == SIGNATURES[name]


def test_the_result_of_the_heuristic_has_the_fields_of_the_header(library):
    fields = re.search(r"typedef struct \{([^}]*)\} cublasLtMatmulHeuristicResult_t;", text("cublasLt.h"))[1].split()
    assert fields == ["cublasLtMatmulAlgo_t", "algo;", "size_t", "workspaceSize;", "cublasStatus_t", "state;", "float",
                      "wavesCount;", "int", "reserved[4];"]
    assert re.search(r"uint64_t data\[8\];\s*\} cublasLtMatmulAlgo_t;", text("cublasLt.h"))
    assert ctypes.sizeof(Heuristic) == 64 + 8 + 4 + 4 + 16 and Heuristic.workspace.offset == 64


def read(descriptor, number, kind):
    """An attribute as the library keeps it, which has to be of the size that we think it has."""
    held, written = kind(), ctypes.c_size_t()
    get = getattr(descriptor.library.functions, f"cublasLt{descriptor.kind}GetAttribute")
    arguments = descriptor.address, ctypes.c_int(number), ctypes.byref(held), ctypes.sizeof(held), ctypes.byref(written)
    assert get(*arguments[:3], ctypes.c_size_t(arguments[3]), arguments[4]) == 0
    assert written.value == ctypes.sizeof(held)
    return held.value


def named(descriptor, name):
    return read(descriptor, *ATTRIBUTES["CUBLASLT_" + name])


def test_an_operation_keeps_what_it_was_told(library):
    made = cublas.operation(library, PRODUCT, BIAS)
    assert [named(made, f"MATMUL_DESC_TRANS{name}") for name in "AB"] == [0, 1]
    assert named(made, "MATMUL_DESC_EPILOGUE") == 4 and named(made, "MATMUL_DESC_BIAS_POINTER") == BIAS
    compute, scale = (read(made, constant(f"CUBLASLT_MATMUL_DESC_{name}_TYPE"), ctypes.c_int32)
                      for name in ("COMPUTE", "SCALE"))
    assert (compute, scale) == (68, 0)


@pytest.mark.parametrize("dtype, compute, scale", [("float64", 70, 1), ("complex64", 68, 4), ("complex128", 70, 5),
                                                   ("float16", 68, 0), ("float32", 77, 0)])
def test_operations_of_each_dtype(library, dtype, compute, scale):
    product = PRODUCT._replace(element=np.dtype(dtype), tf32=dtype == "float32", has_bias=False)
    made = cublas.operation(library, product, 0)
    assert read(made, constant("CUBLASLT_MATMUL_DESC_COMPUTE_TYPE"), ctypes.c_int32) == compute
    assert read(made, constant("CUBLASLT_MATMUL_DESC_SCALE_TYPE"), ctypes.c_int32) == scale
    assert named(made, "MATMUL_DESC_EPILOGUE") == 1


def test_a_layout_keeps_what_it_was_told(library):
    made = cublas.layout(library, PRODUCT, PRODUCT.left)
    kinds = {"ROWS": ctypes.c_uint64, "COLS": ctypes.c_uint64, "LD": ctypes.c_int64, "TYPE": ctypes.c_uint32,
             "ORDER": ctypes.c_int32}
    found = {name: read(made, constant(f"CUBLASLT_MATRIX_LAYOUT_{name}"), kind) for name, kind in kinds.items()}
    assert found == {"ROWS": 96, "COLS": 128, "LD": 100, "TYPE": 0, "ORDER": 0}
    assert named(made, "MATRIX_LAYOUT_BATCH_COUNT") == 5 and named(made, "MATRIX_LAYOUT_STRIDED_BATCH_OFFSET") == 7


def test_a_preference_keeps_what_it_was_told(library):
    made = cublas.preference(library, PRODUCT)
    assert named(made, "MATMUL_PREF_MAX_WORKSPACE_BYTES") == WORKSPACE
    assert named(made, "MATMUL_PREF_REDUCTION_SCHEME_MASK") == 2
    assert [named(made, f"MATMUL_PREF_MIN_ALIGNMENT_{name}_BYTES") for name in "ABCD"] == [16, 4, *[MOST_ALIGNED] * 2]
    tf32, gaussian = 0x04 << 16, 1 << 32
    assert named(made, "MATMUL_PREF_IMPL_MASK") & (tf32 | gaussian) == 0
    made = cublas.preference(library, PRODUCT._replace(tf32=True))
    assert named(made, "MATMUL_PREF_IMPL_MASK") & (tf32 | gaussian) == tf32


def test_an_unknown_attribute_is_refused(library):
    made = cublaslt.Descriptor(library, "MatmulPreference")
    with pytest.raises(cublaslt.Refused, match="MatmulPreferenceSetAttribute: status 7"):
        library("MatmulPreferenceSetAttribute", made.address, 10_000, ctypes.byref(ctypes.c_int(1)), 4)
