"""What there is to call: every public name, and why some are called nowhere."""

import importlib
import inspect
from collections.abc import Iterator

import lucid_nb as lnb
from lucid_nb import roads
from lucid_nb.register import functions

NAMESPACES = ("nn.functional", "nn", "nn.utils.rnn", "optim", "autograd", "linalg", "fft", "special", "einops",
              "random", "lib.stride_tricks")
# A reason, and the names that it excuses.
EXCUSED = {
    "tells of dtypes and shapes, and computes nothing":
        "can_cast common_type finfo iinfo isdtype issubdtype min_scalar_type promote_types result_type "
        "broadcast_shapes lib.stride_tricks.broadcast_shapes einsum_path iscomplexobj isrealobj isscalar "
        "isfortran ndim shape size einops.parse_shape Tensor.shape Tensor.ndim Tensor.size Tensor.dtype "
        "Tensor.device Tensor.itemsize Tensor.nbytes Tensor.strides Tensor.flags Tensor.__len__ Tensor.flops "
        "Tensor.is_leaf Tensor.requires_grad Tensor.__dlpack_device__ nn.functional.one_axis "
        "Tensor.is_cpu Tensor.is_gpu Tensor.path nn.Row nn.Summary nn.summary nn.auto_repr "
        "nn.set_state_dict_pass_attr",
    "gives values to the host, which is what it is for; every test reads with it":
        "Tensor.item Tensor.tolist Tensor.numpy Tensor.to_host Tensor.__array__ Tensor.__bool__ Tensor.__int__ "
        "Tensor.__float__ Tensor.__complex__ Tensor.__index__ Tensor.tobytes Tensor.tofile "
        "Tensor.dumps Tensor.dump Tensor.__buffer__",
    "the way to other libraries: test_interop.py":
        "Tensor.__dlpack__ Tensor.__cuda_array_interface__ Tensor.__array_ufunc__ Tensor.__array_function__ "
        "Tensor.__array_priority__ "
        "Tensor.__array_namespace__ Tensor.to_numpy Tensor.mlx Tensor.eval",
    "keeps the graph, the same on every device: tests/autograd":
        "Tensor.backward Tensor.grad Tensor.retain_grad Tensor.zero_grad "
        "Tensor.clear_node Tensor.register_post_accumulate_grad_hook autograd.set_detect_anomaly "
        "autograd.once_differentiable",
    "part of how tensors are made, no name for users":
        "Tensor.check_writable Tensor.element Tensor.mark_written Tensor.moved Tensor.refresh Tensor.share "
        "Tensor.update Tensor.write Tensor.version Tensor.root Tensor.raw Tensor.node Tensor.steps Tensor.storage "
        "Tensor.generation Tensor.is_value",
    "a setting of the process or the thread":
        "default_device set_default_device default_dtype set_default_dtype devices synchronize get_num_threads "
        "set_num_threads count_flops grad_enabled is_grad_enabled random.seed random.host "
        "random.get_seed random.get_state random.set_state random.get_rng_state random.set_rng_state flops_enabled",
    "moves between devices: tests/test_lucid_spellings.py":
        "Tensor.free Tensor.is_free Tensor.is_all_free",
    "keys, bytes and generators of the host":
        "random.key random.split random.next_key random.Key random.bytes random.default_rng random.Generator "
        "random.RandomState",
    "a base class, or what others are called through":
        "register_model nn.Module nn.RNNBase nn.RNNCellBase optim.Optimizer nn.utils.rnn.PackedSequence "
        "nn.UninitializedBuffer nn.UninitializedParameter",
}


def excuses():
    """Each excused name and its reason."""
    return {name: reason for reason, names in EXCUSED.items() for name in names.split()}


def resolved(name):
    """What a name stands for; of a class, what stands in it."""
    found, *parts = lnb, *name.split(".")
    for part in parts:
        if found is lnb.Tensor and part in roads.general:            # a road has taken its place
            found = roads.general[part]
        elif inspect.isclass(found):
            found = inspect.getattr_static(found, part)
        else:
            found = functions[part] if found is lnb and part in functions else getattr(found, part)
    return found


def _of_module(space):
    module = importlib.import_module(f"lucid_nb.{space}")
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        found = getattr(module, name)
        is_ours = getattr(found, "__module__", "").startswith("lucid_nb") and (
            hasattr(module, "__all__") or found.__module__ == module.__name__)
        if callable(found) and is_ours and not (inspect.isclass(found) and issubclass(found, Exception)):
            yield f"{space}.{name}"


def _of_tensor():
    ignored = {*vars(object)} | {"__slots__", "__module__", "__weakref__", "__doc__", "__class_getitem__",
                               "__firstlineno__", "__static_attributes__"}       # since Python 3.13
    return [f"Tensor.{name}" for name in vars(lnb.Tensor) if name not in ignored
            and (not name.startswith("_") or name.startswith("__"))]


def _is_of_the_host(name):
    """Texts, files and settings: NumPy's own functions, and what is like them."""
    module = getattr(resolved(name), "__module__", "") or ""
    return module.split(".")[0] == "numpy" or module.startswith(("lucid_nb.host", "lucid_nb.io"))


def _of_package():
    named = {name for name in dir(lnb) if not name.startswith("_") and inspect.isfunction(getattr(lnb, name))}
    return [name for name in {*functions, *named} if not _is_of_the_host(name)]


def names() -> Iterator[str]:
    """Every public name, `lnb.` left out."""
    yield from sorted(_of_package())
    yield from _of_tensor()
    for space in NAMESPACES:
        yield from _of_module(space)
