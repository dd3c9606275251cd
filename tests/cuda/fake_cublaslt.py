"""cuBLASLt as its documentation describes it, computed by NumPy on the host's memory, with every call kept."""

import ctypes

import ml_dtypes
import numpy as np

from lucid_nb.cuda.cublaslt import ATTRIBUTES, CONSTANTS, SIGNATURES, Heuristic, Library

DTYPES = {CONSTANTS[name]: np.dtype(dtype) for name, dtype in (
    ("CUDA_R_32F", "float32"), ("CUDA_R_64F", "float64"), ("CUDA_R_16F", "float16"),
    ("CUDA_R_16BF", ml_dtypes.bfloat16), ("CUDA_C_32F", "complex64"), ("CUDA_C_64F", "complex128"))}
NOT_SUPPORTED = 15


class Function:
    """A function of the library: its arguments must suit the types that were declared."""

    def __init__(self, run):
        self.run, self.argtypes = run, None

    def __call__(self, *arguments):
        assert len(arguments) == len(self.argtypes)
        for kind, given in zip(self.argtypes, arguments):
            kind.from_param(given)
        return self.run(*arguments) or 0


class FakeCublasLt:
    """`refuse`: functions that give NOT_SUPPORTED. `calls` has their names, `products` what was multiplied."""

    def __init__(self, refuse=()):
        self.objects, self.calls, self.products, self.refuse = {}, [], [], refuse
        for name in SIGNATURES:
            setattr(self, name, Function(self.function(name.removeprefix("cublasLt"))))

    def library(self):
        """The library as the package loads it."""
        return Library(self)

    def function(self, name):
        def run(*arguments):
            self.calls.append(name)
            return NOT_SUPPORTED if name in self.refuse else self.method(name)(*arguments)
        return run

    def method(self, name):
        for ending in ("Create", "SetAttribute", "Destroy"):
            if name.endswith(ending):
                return getattr(self, ending.lower())
        return getattr(self, name.lower())

    def create(self, out, *numbers):
        out._obj.value = len(self.objects) + 1
        self.objects[out._obj.value] = {"numbers": numbers}

    def destroy(self, address):
        assert self.objects[address.value]
        self.objects[address.value] = None

    def setattribute(self, address, number, value, size):
        names = {name: kind for name, (own, kind) in ATTRIBUTES.items() if own == number}
        assert ctypes.sizeof(value._obj) == size and type(value._obj) in names.values()
        self.objects[address.value][number, type(value._obj)] = value._obj.value

    def read(self, address, name, default=0):
        """An attribute that was set."""
        return self.objects[address.value].get(ATTRIBUTES["CUBLASLT_" + name], default)

    def matmulalgogetheuristic(self, handle, operation, a, b, c, d, preference, wanted, results, count):
        assert self.objects[handle.value] and wanted == 1 and isinstance(results._obj, Heuristic)
        assert self.read(preference, "MATMUL_PREF_MAX_WORKSPACE_BYTES") >= 1024
        results._obj.workspace = 1024
        count._obj.value = 1

    def matrix(self, descriptor, address, is_turned, number):
        """One matrix of a batch: column-major, at its leading dimension."""
        kind, rows, cols, lead = self.objects[descriptor.value]["numbers"]
        dtype = DTYPES[kind]
        assert lead >= rows and address % dtype.itemsize == 0
        start = address + number * self.read(descriptor, "MATRIX_LAYOUT_STRIDED_BATCH_OFFSET") * dtype.itemsize
        memory = (ctypes.c_char * (((cols - 1) * lead + rows) * dtype.itemsize)).from_address(start)
        found = np.lib.stride_tricks.as_strided(np.frombuffer(memory, dtype), (rows, cols),
                                                (dtype.itemsize, lead * dtype.itemsize))
        return found.T if is_turned else found

    def matmul(self, handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo,
               workspace, size, stream):
        compute, scale = self.objects[operation.value]["numbers"]
        wide, count = DTYPES[scale], self.read(d_layout, "MATRIX_LAYOUT_BATCH_COUNT", 1)
        factors = [np.frombuffer((ctypes.c_char * wide.itemsize).from_address(at), wide)[0] for at in (alpha, beta)]
        assert factors == [1, 0] and (c, c_layout) == (d, d_layout) and size == 1024
        turned = [self.read(operation, f"MATMUL_DESC_TRANS{name}") for name in "AB"]
        for number in range(count):
            left = self.matrix(a_layout, a, turned[0], number).astype(wide)
            right = self.matrix(b_layout, b, turned[1], number).astype(wide)
            result = self.matrix(d_layout, d, False, number)
            assert left.shape == (result.shape[0], right.shape[0]) and right.shape[1] == result.shape[1]
            product = left @ right
            if self.read(operation, "MATMUL_DESC_EPILOGUE", 1) == CONSTANTS["CUBLASLT_EPILOGUE_BIAS"]:
                at = self.read(operation, "MATMUL_DESC_BIAS_POINTER")
                memory = (ctypes.c_char * (len(result) * result.dtype.itemsize)).from_address(at)
                product += np.frombuffer(memory, result.dtype).astype(wide)[:, None]
            result[...] = product
        self.products.append((DTYPES[self.objects[d_layout.value]["numbers"][0]].name, compute, count, turned, stream))
