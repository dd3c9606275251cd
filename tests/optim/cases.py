"""Every documented option of every optimizer, and the valley that they walk down."""

import numpy as np

from . import formulas

RNG = np.random.default_rng(8)
STARTS = [RNG.normal(size=shape) for shape in ((2, 3), (5,), (2, 3, 2), ())]
STEPS = 12
WIDE = (0.5, 0.8)                      # betas with which twelve steps show what the averages do
OPTIONS = {
    "SGD": [dict(lr=0.1), dict(lr=0.1, momentum=0.9), dict(lr=0.1, momentum=0.9, dampening=0.3),
            dict(lr=0.1, momentum=0.9, nesterov=True), dict(lr=0.1, weight_decay=0.2),
            dict(lr=0.05, momentum=0.5, weight_decay=0.1, maximize=True)],
    "Adam": [dict(lr=0.1), dict(lr=0.1, betas=WIDE), dict(lr=0.1, eps=0.01), dict(lr=0.1, weight_decay=0.2),
             dict(lr=0.1, amsgrad=True, betas=WIDE), dict(lr=0.1, maximize=True, weight_decay=0.1),
             dict(lr=0.1, weight_decay=0.2, decoupled_weight_decay=True)],
    "AdamW": [dict(lr=0.1), dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, amsgrad=True, betas=WIDE, weight_decay=0.3),
              dict(lr=0.1, maximize=True), dict(lr=0.1, eps=0.01)],
    "NAdam": [dict(lr=0.1), dict(lr=0.1, betas=WIDE), dict(lr=0.1, eps=0.01), dict(lr=0.1, weight_decay=0.2),
              dict(lr=0.1, momentum_decay=0.5), dict(lr=0.1, weight_decay=0.2, decoupled_weight_decay=True),
              dict(lr=0.1, maximize=True)],
    "RAdam": [dict(lr=0.1), dict(lr=0.1, betas=WIDE), dict(lr=0.1, betas=(0.9, 0.99), eps=0.01),
              dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, weight_decay=0.2, decoupled_weight_decay=True),
              dict(lr=0.1, maximize=True)],
    "Adamax": [dict(lr=0.1), dict(lr=0.1, betas=WIDE), dict(lr=0.1, eps=0.01), dict(lr=0.1, weight_decay=0.2),
               dict(lr=0.1, maximize=True)],
    "Adagrad": [dict(lr=0.1), dict(lr=0.1, lr_decay=0.3), dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, eps=0.01),
                dict(lr=0.1, initial_accumulator_value=0.5), dict(lr=0.1, maximize=True)],
    "Adadelta": [dict(), dict(lr=0.5, rho=0.5), dict(eps=0.01), dict(weight_decay=0.2), dict(maximize=True)],
    "RMSprop": [dict(lr=0.1), dict(lr=0.1, alpha=0.5), dict(lr=0.1, eps=0.01), dict(lr=0.1, weight_decay=0.2),
                dict(lr=0.02, momentum=0.8), dict(lr=0.1, centered=True, eps=0.01),
                dict(lr=0.02, centered=True, momentum=0.8, eps=0.01, maximize=True)],
    "Rprop": [dict(lr=0.5), dict(lr=0.1, etas=(0.3, 1.7)), dict(lr=0.5, step_sizes=(0.2, 0.6)),
              dict(lr=0.1, maximize=True)],
    "ASGD": [dict(lr=0.1), dict(lr=0.1, lambd=0.5), dict(lr=0.1, lambd=0.5, alpha=0.2), dict(lr=0.1, t0=4.0),
             dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, maximize=True)],
    "Adafactor": [dict(lr=0.1), dict(lr=0.1, beta2_decay=-0.3), dict(lr=0.1, eps=(0.3, 0.5)), dict(lr=0.1, d=1.5),
                  dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, maximize=True)],
    "Lion": [dict(lr=0.1), dict(lr=0.1, betas=WIDE), dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, maximize=True)],
}
CASES = [(name, options) for name, choices in OPTIONS.items() for options in choices]
IDS = [f"{name}-{','.join(f'{key}={value}' for key, value in options.items())}" for name, options in CASES]
RULES = {name: getattr(formulas, name.lower()) for name in OPTIONS}


def gradient(p, step=0):
    """Of a valley with ripples, so that signs change on the way down."""
    return 0.8 * (p - 0.3) + 1.5 * np.sin(3 * p)
