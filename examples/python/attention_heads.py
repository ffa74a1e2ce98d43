"""Attention: one projection split into heads for queries, keys and values, and merged again.

With PyTorch where it is installed, and then with gradients; with NumPy otherwise."""

import importlib.util

import numpy as np

import cornerturn

batch, tokens, heads, width = 4, 128, 8, 64
projected = np.random.default_rng(0).standard_normal((batch, tokens, 3 * heads * width), np.float32)
if importlib.util.find_spec("torch"):
    import torch

    projected = torch.from_numpy(projected).requires_grad_()

q, k, v = cornerturn.rearrange(projected, "b t (three h d) -> three b h t d", three=3, h=heads)
scores = q @ cornerturn.transpose(k, (0, 1, 3, 2)) / width**0.5
if isinstance(scores, np.ndarray):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
else:
    weights = scores.softmax(-1)
merged = cornerturn.rearrange(weights @ v, "b h t d -> b t (h d)")

print("heads", tuple(q.shape), "-> merged", tuple(merged.shape))
assert tuple(merged.shape) == (batch, tokens, heads * width)
if not isinstance(merged, np.ndarray):
    merged.square().mean().backward()
    print("gradient", tuple(projected.grad.shape))
    assert projected.grad.abs().sum() > 0
