"""Derivatives of a NumPy-like program: a gradient, a second derivative, and a curve fitted with it."""

import numpy as np

import lucid_nb as lnb

# The gradient of the Rosenbrock function at its minimum is zero.
x = lnb.tensor([1.0, 1.0], requires_grad=True)
value = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
value.backward()
print("gradient at the minimum:", x.grad.tolist())

# Derivatives of derivatives: the slope of sin is cos, the slope of that is -sin.
t = lnb.tensor(0.5, requires_grad=True)
lnb.sin(t).backward(create_graph=True)
slope = t.grad
t.grad = None
slope.backward()
print(f"sin' {slope.item():.6f} (cos {np.cos(0.5):.6f}), sin'' {t.grad.item():.6f} (-sin {-np.sin(0.5):.6f})")

# Fit a damped oscillation to noisy data by gradient descent.
times = lnb.asarray(np.linspace(0, 4, 200))
noise = lnb.asarray(np.random.default_rng(0).normal(0, 0.05, 200))
data = lnb.exp(-0.5 * times) * lnb.cos(3.0 * times) + noise
decay, frequency = (lnb.tensor(start, requires_grad=True) for start in (1.0, 2.7))
optimizer = lnb.optim.Adam([decay, frequency], lr=0.05)
for _ in range(200):
    optimizer.zero_grad()
    ((lnb.exp(-decay * times) * lnb.cos(frequency * times) - data) ** 2).mean().backward()
    optimizer.step()
print(f"decay {decay.item():.2f} (true 0.50), frequency {frequency.item():.2f} (true 3.00)")
