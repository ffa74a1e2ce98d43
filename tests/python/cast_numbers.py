"""What the tests of casts share: numbers of many sizes, and the bytes of results."""

import numpy as np


def numbers(shape, seed=0):
    random = np.random.default_rng(seed)
    size = 10.0 ** random.integers(-9, 9, (*shape[:-1], 1))
    return (random.standard_normal(shape) * size).astype(np.float32)


def codes(array):
    return np.asarray(array).view(np.uint8)
