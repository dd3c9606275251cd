"""Layers that learn their sizes, blocks of layers, containers, activations in place, and the other optimizers."""

import lucid_nb as lnb
from lucid_nb import nn, optim

from . import call, layer, whole
from .layers import SHAPES
from .transforms import walked

F = nn.functional
M = (3, 4)


def in_place(name, *options):
    """A function that writes over its argument, a copy outside of the graph."""
    return call(lambda x: getattr(F, name)(1 * x.detach(), *options), M)


def lazy(make):
    """A layer that gets its parameters where its first input is."""
    return lambda x: make()(x)


def zeroed(x):
    """A copy, filled with 0."""
    made = 1 * x
    made.zero()
    return made


def dictionary(members, x):
    """The sum of what members of a container give."""
    return sum(member(x) for member in members.values())


def descended(**options):
    """A quadratic after two steps of L-BFGS."""
    def run(x, target):
        parameter = nn.Parameter(x.detach())
        optimizer = optim.LBFGS([parameter], lr=0.5, max_iter=3, **options)

        def closure():
            optimizer.zero_grad()
            loss = ((parameter - target.detach()) ** 2).sum()
            loss.backward()
            return loss
        for _ in range(2):
            optimizer.step(closure)
        return parameter.detach()
    return call(run, M, M)


def weight():
    """A parameter."""
    return nn.Parameter(lnb.ones(4, dtype="float32"))


class Weighted(nn.Module):
    """A module whose parameters are in a container."""

    def __init__(self, make):
        super().__init__()
        self.kept = make()

    def forward(self, x):
        """The input times all of them."""
        kept = self.kept.values() if isinstance(self.kept, nn.ParameterDict) else self.kept
        return sum(x * weight for weight in kept)


CALLS = {f"optim.{name}": walked(getattr(optim, name)) for name in
         "ASGD Adadelta Adafactor Adagrad Adamax Lion NAdam RAdam RMSprop Rprop".split()}
CALLS |= {"optim.LBFGS": descended(), "optim.LBFGS search": descended(line_search_fn="strong_wolfe"),
          "optim.RMSprop centered": walked(optim.RMSprop, centered=True, momentum=0.9)}
CALLS |= {f"nn.functional.{name}": in_place(name, *options) for name, options in dict(
    celu_=(), elu_=(), hardtanh_=(), leaky_relu_=(), relu_=(), rrelu_=(), selu_=(), threshold_=(0.1, 2.0)).items()}
CALLS |= {
    "nn.functional.gumbel_softmax": call(lambda x: F.gumbel_softmax(x, key=lnb.random.key(3)), M),
    "nn.functional.upsample_nearest": call(lambda x: F.upsample_nearest(x, scale_factor=2), SHAPES[2]),
    "nn.functional.upsample_bilinear": call(lambda x: F.upsample_bilinear(x, scale_factor=2), SHAPES[2]),
    "nn.AdaptiveLogSoftmaxWithLoss": layer(lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4]), M, whole(6, 3),
                                           pick=lambda found: found[0]),
    "nn.LazyLinear": call(lazy(lambda: nn.LazyLinear(2)), M),
    "nn.NLLLoss2d": layer(nn.NLLLoss2d, SHAPES[2], whole(2, 2, 4, 4)),
    "nn.SEModule": layer(lambda: nn.SEModule(2, 1), SHAPES[2]),
    "nn.SelectiveKernel": layer(lambda: nn.SelectiveKernel(2, 2, (1, 3), reduction=1).eval(), SHAPES[2]),
    "nn.SyncBatchNorm": layer(lambda: nn.SyncBatchNorm(2), SHAPES[2]),
    "nn.Unflatten": layer(lambda: nn.Unflatten(1, (2, 2)), M),
    "nn.ModuleDict": call(lambda x: dictionary(nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()}), x), M),
    "nn.ModuleList": call(lambda x: sum(one(x) for one in nn.ModuleList([nn.Tanh(), nn.ReLU()])), M),
    "nn.ParameterDict": layer(lambda: Weighted(lambda: nn.ParameterDict({"a": weight()})), M),
    "nn.ParameterList": layer(lambda: Weighted(lambda: nn.ParameterList([weight()])), M),
    "Tensor.zero": call(zeroed, M),
    "Tensor.copy_data": call(lambda x: lnb.Tensor.copy_data(x), M),
    "Tensor.copy_grad": call(lambda x: lnb.Tensor.copy_grad(x), M),
}
for _rank, _shape in SHAPES.items():
    CALLS |= {
        f"nn.ConvBNReLU{_rank}d": layer(lambda rank=_rank: getattr(nn, f"ConvBNReLU{rank}d")(2, 2, 1), _shape),
        f"nn.DepthSeparableConv{_rank}d": layer(
            lambda rank=_rank: getattr(nn, f"DepthSeparableConv{rank}d")(2, 3, 2), _shape),
        f"nn.LazyConv{_rank}d": call(lazy(lambda rank=_rank: getattr(nn, f"LazyConv{rank}d")(2, 2)), _shape),
        f"nn.LazyConvTranspose{_rank}d": call(
            lazy(lambda rank=_rank: getattr(nn, f"LazyConvTranspose{rank}d")(2, 2)), _shape),
        f"nn.LazyBatchNorm{_rank}d": call(lazy(lambda rank=_rank: getattr(nn, f"LazyBatchNorm{rank}d")()), _shape),
        f"nn.LazyInstanceNorm{_rank}d": call(
            lazy(lambda rank=_rank: getattr(nn, f"LazyInstanceNorm{rank}d")()), _shape)}
