"""Where the tests of optimizers start, and where they want to go."""

import numpy as np

START = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -4.0]])
TARGET = np.array([[0.0, 1.0, -1.0], [2.0, 0.25, 0.5]])
