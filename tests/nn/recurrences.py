"""Recurrent layers step by step in NumPy, from their definitions: the oracle that needs no other library."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, h, c, w):
    """One step of one row or of many; w: weight_ih, weight_hh, bias_ih, bias_hh and perhaps weight_hr."""
    a, b = x @ w[0].T + w[2], h @ w[1].T + w[3]
    if mode == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return (h @ w[4].T if len(w) > 4 else h), c
    if mode == "GRU":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        new, keep = np.tanh(an + sigmoid(ar + br) * bn), sigmoid(az + bz)
        return (1 - keep) * new + keep * h, c
    return (np.tanh(a + b) if mode == "RNN_TANH" else np.maximum(a + b, 0)), c


def sequence(mode, x, h, c, w, is_reverse=False):
    """One layer, one direction, x (time, inputs) of one sequence."""
    out = [None] * len(x)
    for t in reversed(range(len(x))) if is_reverse else range(len(x)):
        h, c = step(mode, x[t], h, c, w)
        out[t] = h
    return np.array(out), h, c


def layers(layer, x, h, c):
    """All layers of a module of ours over one sequence (time, inputs); h, c (layers * directions, size)."""
    state = {key: value.numpy().astype(np.float64) for key, value in layer.state_dict().items()}
    hs, cs = [], []
    for k in range(layer.num_layers):
        outs = []
        for way, suffix in enumerate(["", "_reverse"][:1 + layer.bidirectional]):
            zeros = np.zeros(len(state[f"weight_ih_l{k}{suffix}"]))
            names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
            w = [state.get(f"{name}_l{k}{suffix}", zeros if "bias" in name else None) for name in names]
            number = k * (1 + layer.bidirectional) + way
            out, last_h, last_c = sequence(layer.mode, x, h[number], c[number], [v for v in w if v is not None],
                                           bool(way))
            outs.append(out), hs.append(last_h), cs.append(last_c)
        x = np.concatenate(outs, -1)
    return x, np.array(hs), np.array(cs)
