"""The optimizers' rules as their papers state them, in float64 NumPy: generators that take gradients and give points.

Each is `rule(start, **options)`, a generator: send a gradient, receive the next point. Weight decay (added to the
gradient) and `maximize` are the same for all and stand in `prepared`.
"""

import math

import numpy as np


def run(rule, start, gradient, steps, **options):
    """The points that a rule visits."""
    walk, p, visited = rule(np.array(start), **options), np.array(start), []
    next(walk)
    for step in range(steps):
        p = walk.send(gradient(p, step))
        visited.append(p.copy())
    return visited


def prepared(g, p, weight_decay, maximize):
    """The gradient to descend along."""
    return (-g if maximize else g) + weight_decay * p


def sgd(p, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    """Sutskever et al. 2013, with PyTorch's placement of lr; the first velocity is the gradient."""
    velocity = None
    g = yield
    while True:
        g = prepared(g, p, weight_decay, maximize)
        velocity = g if velocity is None else momentum * velocity + (1 - dampening) * g
        p = p - lr * (g + momentum * velocity if nesterov else velocity if momentum else g)
        g = yield p


def adam(p, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False,
         decoupled_weight_decay=False):
    """Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2; Reddi et al. 2018, algorithm 2."""
    (one, two), mean, square, largest, t = betas, 0.0, 0.0, 0.0, 0
    g = yield
    while True:
        t += 1
        g = prepared(g, p, 0.0 if decoupled_weight_decay else weight_decay, maximize)
        p = p * (1 - lr * weight_decay) if decoupled_weight_decay else p
        mean, square = one * mean + (1 - one) * g, two * square + (1 - two) * g ** 2
        largest = np.maximum(largest, square)
        p = p - lr * mean / (1 - one ** t) / (np.sqrt((largest if amsgrad else square) / (1 - two ** t)) + eps)
        g = yield p


def adamw(p, weight_decay=1e-2, **options):
    """Decay apart from the gradient."""
    return adam(p, weight_decay=weight_decay, decoupled_weight_decay=True, **options)


def nadam(p, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3,
          decoupled_weight_decay=False, maximize=False):
    """Dozat 2016, algorithm 8, with the schedule of momentum of its section 2.3."""
    (one, two), mean, square, product, t = betas, 0.0, 0.0, 1.0, 0
    g = yield
    while True:
        t += 1
        g = prepared(g, p, 0.0 if decoupled_weight_decay else weight_decay, maximize)
        p = p * (1 - lr * weight_decay) if decoupled_weight_decay else p
        now, then = (one * (1 - 0.5 * 0.96 ** (k * momentum_decay)) for k in (t, t + 1))
        product *= now
        mean, square = one * mean + (1 - one) * g, two * square + (1 - two) * g ** 2
        ahead = then * mean / (1 - product * then) + (1 - now) * g / (1 - product)
        p = p - lr * ahead / (np.sqrt(square / (1 - two ** t)) + eps)
        g = yield p


def radam(p, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False, maximize=False):
    """Liu et al. 2020, algorithm 2; PyTorch rectifies from a length of 5 on, and adds eps to the uncorrected root."""
    (one, two), mean, square, t = betas, 0.0, 0.0, 0
    limit = 2 / (1 - two) - 1
    g = yield
    while True:
        t += 1
        g = prepared(g, p, 0.0 if decoupled_weight_decay else weight_decay, maximize)
        p = p * (1 - lr * weight_decay) if decoupled_weight_decay else p
        mean, square = one * mean + (1 - one) * g, two * square + (1 - two) * g ** 2
        corrected, length = mean / (1 - one ** t), limit - 2 * t * two ** t / (1 - two ** t)
        if length > 5:
            rectifier = math.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            corrected = corrected * rectifier * math.sqrt(1 - two ** t) / (np.sqrt(square) + eps)
        p = p - lr * corrected
        g = yield p


def adamax(p, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, maximize=False):
    """Kingma and Ba 2015, algorithm 2, with eps added to the size of the gradient."""
    (one, two), mean, largest, t = betas, 0.0, 0.0, 0
    g = yield
    while True:
        t += 1
        g = prepared(g, p, weight_decay, maximize)
        mean, largest = one * mean + (1 - one) * g, np.maximum(two * largest, abs(g) + eps)
        p = p - lr / (1 - one ** t) * mean / largest
        g = yield p


def lion(p, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
    """Chen et al. 2023, algorithm 2."""
    (one, two), mean = betas, 0.0
    g = yield
    while True:
        g = -g if maximize else g
        p = p - lr * (np.sign(one * mean + (1 - one) * g) + weight_decay * p)
        mean = two * mean + (1 - two) * g
        g = yield p


def adagrad(p, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, maximize=False):
    """Duchi et al. 2011, the diagonal form."""
    total, t = initial_accumulator_value, 0
    g = yield
    while True:
        g = prepared(g, p, weight_decay, maximize)
        total = total + g ** 2
        p, t = p - lr / (1 + t * lr_decay) * g / (np.sqrt(total) + eps), t + 1
        g = yield p


def adadelta(p, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, maximize=False):
    """Zeiler 2012, algorithm 1."""
    square = moved = 0.0
    g = yield
    while True:
        g = prepared(g, p, weight_decay, maximize)
        square = rho * square + (1 - rho) * g ** 2
        step = np.sqrt(moved + eps) / np.sqrt(square + eps) * g
        moved = rho * moved + (1 - rho) * step ** 2
        p = p - lr * step
        g = yield p


def rmsprop(p, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, maximize=False):
    """Hinton 2012, lecture 6; Graves 2013, equations 38 to 41, with eps outside of the root."""
    square = mean = velocity = 0.0
    g = yield
    while True:
        g = prepared(g, p, weight_decay, maximize)
        square, mean = alpha * square + (1 - alpha) * g ** 2, alpha * mean + (1 - alpha) * g
        velocity = momentum * velocity + g / (np.sqrt(square - mean ** 2 if centered else square) + eps)
        p = p - lr * velocity
        g = yield p


def rprop(p, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), maximize=False):
    """Igel and Huesken 2000, algorithm iRprop-, element by element."""
    before, size = np.zeros_like(p), np.full_like(p, lr)
    g = yield
    while True:
        g, p = np.array(-g if maximize else g), p.copy()
        for i in np.ndindex(p.shape):
            if before[i] * g[i] > 0:
                size[i] = min(size[i] * etas[1], step_sizes[1])
            elif before[i] * g[i] < 0:
                size[i] = max(size[i] * etas[0], step_sizes[0])
                g[i] = 0
            p[i] -= np.sign(g[i]) * size[i]
        before = g
        g = yield p


def asgd(p, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, maximize=False):
    """Bottou 2010: the rate of the step before, and decay by lambd."""
    t = 0
    g = yield
    while True:
        rate = lr / (1 + lambd * lr * t) ** alpha
        p, t = p * (1 - lambd * rate) - rate * prepared(g, p, weight_decay, maximize), t + 1
        g = yield p


def adafactor(p, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False):
    """Shazeer and Stern 2018, algorithms 4 and 5, whose estimate divides by the mean of rows, at least eps1."""
    least = np.finfo(float).eps if eps[0] is None else eps[0]
    rows = cols = 0.0
    t = 0
    g = yield
    while True:
        t += 1
        g = -g if maximize else g
        fresh, root = t ** beta2_decay, np.sqrt(np.mean(p ** 2))
        if g.ndim < 2:
            rows = (1 - fresh) * rows + fresh * g ** 2
            estimate = rows
        else:
            rows = (1 - fresh) * rows + fresh * (g ** 2).mean(-1, keepdims=True)
            cols = (1 - fresh) * cols + fresh * (g ** 2).mean(-2, keepdims=True)
            estimate = rows @ cols / np.maximum(rows.mean(-2, keepdims=True), least)
        update = g / np.sqrt(np.maximum(estimate, least ** 2))
        update = update / max(1.0, np.sqrt(np.mean(update ** 2)) / d)
        p = p * (1 - lr * weight_decay) - max(eps[1], root) * min(lr, 1 / math.sqrt(t)) * update
        g = yield p
