"""What a call gives on a device: results, and gradients of its operands and of the parameters of its layers."""

import ast
import warnings

import numpy as np

import lucid_nb as lnb
from lucid_nb import nn, optim

from .calls import FUNCTIONS
from .layers import NETWORKS

FLOATS = dict(x=(3, 4), y=(3, 4), v=(5,), w=(5,), q=(3, 3), m=(4, 2), t=(2, 3, 4), s=(), signal=(2, 4, 8),
              image=(2, 4, 6, 6), volume=(1, 2, 4, 5, 4), kernel1=(3, 4, 3), kernel2=(3, 4, 3, 3),
              kernel3=(3, 2, 2, 2, 2), grid=(2, 3, 3, 2))
INTEGERS = dict(i=(3, (3, 4)), j=(4, (3,)), k=(5, (5,)))


def lines():
    """Chapter and number of each list of the tables, and its calls."""
    for chapter, text in (FUNCTIONS | NETWORKS).items():
        for number, statement in enumerate(ast.parse(text).body):
            yield f"{chapter}-{number}", [ast.unparse(call) for call in statement.value.elts]


def operands(dtype):
    """The arrays of calls by name, those of real floats in a dtype."""
    rng = np.random.default_rng(5)
    found = {name: rng.normal(size=shape) for name, shape in FLOATS.items()}
    found |= dict(u=np.sort(rng.normal(size=5)), p=rng.uniform(0.2, 2, (3, 4)), ties=np.round(rng.normal(size=(3, 4))),
                  same=np.full((3, 4), 1.5))
    found["n"] = np.where(rng.uniform(size=(3, 4)) < 0.3, np.nan, rng.normal(size=(3, 4)))
    found = {name: x.astype(dtype) for name, x in found.items()}
    found |= {name: rng.integers(0, high, shape) for name, (high, shape) in INTEGERS.items()}
    complexes = {name: (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("complex64")
                 for name, shape in (("c", (3, 4)), ("z", (5,)))}
    return found | complexes | dict(b=rng.uniform(size=(3, 4)) < 0.5, masks=np.tri(3, dtype=bool))


class Call:
    """One call on one device, of operands in a dtype."""

    def __init__(self, text, device, dtype):
        self.text, self.device, self.dtype, self.layers = text, device, dtype, []
        self.starts = {name: lnb.tensor(x, device=device) for name, x in operands(dtype).items()
                       if name in self.names()}
        for tensor in self.starts.values():
            tensor.requires_grad = tensor.dtype.kind in "fc" or tensor.dtype == lnb.bfloat16

    def names(self):
        """The operands that the call reads."""
        return {node.id for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.Name)}

    def layer(self, module, *arrays):
        """The result of a layer, in training if the call does not say otherwise, and its state afterwards."""
        self.layers.append(module.to(self.dtype))
        found = module(*arrays)
        return found, {name: value.detach() for name, value in module.state_dict().items()}

    def after(self, change, x):
        """A copy of an operand after a change in place."""
        found = x * 1
        with lnb.no_grad():
            change(found)
        return found.detach()

    def trained(self, kind, **options):
        """Parameters after three steps, and the state of the optimizer."""
        model = nn.Linear(4, 2)
        optimizer = kind(model.parameters(), **options)
        for _ in range(3):
            optimizer.zero_grad()
            (model(lnb.ones((3, 4), dtype="float32")) ** 2).sum().backward()
            optimizer.step()
        return [p.detach() for p in model.parameters()], [[*state.values()] for state in optimizer.state.values()]

    def outcome(self):
        """The results as a flat list, and the gradients."""
        names = dict(lnb=lnb, np=np, nn=nn, F=nn.functional, L=lnb.linalg, E=lnb.einops, optim=optim, layer=self.layer,
                     after=self.after, trained=self.trained, **self.starts)
        lnb.random.seed(0)
        with lnb.device(self.device), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = list(leaves(eval(self.text, names)))
            self.pull([x for x in results if isinstance(x, lnb.Tensor) and x.requires_grad])
        every = [*self.starts.values(), *[p for module in self.layers for p in module.parameters()]]
        return results, [tensor.grad for tensor in every]

    def pull(self, ends):
        """Gradients of weighted sums of the results."""
        rng = np.random.default_rng(6)
        for end in ends:
            seed = rng.uniform(0.5, 2, end.shape).astype(np.float32)
            end.backward(lnb.tensor(seed, device=self.device).astype(end.dtype), retain_graph=True)


def leaves(tree):
    """What containers hold."""
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (list, tuple)):
        yield tree
        return
    for branch in tree:
        yield from leaves(branch)

