"""Trains a small transformer whose products are in FP8, beside the same one in bf16.

A linear layer has three products: the forward one, the gradient of its input and that of its
weights. Activations and gradients are cast with a scale for 1 x 128 values, weights with one for
128 x 128, along rows or transposed as the product sums. `torch._scaled_mm` takes the values and
scales as they are on GPUs of the generation of an H100 (sm_90). Elsewhere they go back to f32
before the product, which has the same casts and no speed.

usage: fp8_training.py [--steps N] [--device cpu] [--json FILE]
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import cornerturn

# What a product sums along is a multiple of 512: PyTorch 2.11 takes no other scales of 128 x 128.
BATCH, TOKENS, WIDTH, HEADS, LAYERS, WORDS = 4, 128, 512, 8, 2, 512


class Cast(NamedTuple):
    values: Tensor
    scales: Tensor
    format: str


def of_lines(x: Tensor, axes: tuple[int, int] = (0, 1)) -> Cast:
    return Cast(*cornerturn.quantise(x, "fp8_1x128", axes, scale_layout="mn_major"), "fp8_1x128")


def of_squares(w: Tensor, axes: tuple[int, int] = (0, 1)) -> Cast:
    return Cast(*cornerturn.quantise(w, "fp8_128x128", axes, scale_layout="padded"), "fp8_128x128")


def product(a: Cast, b: Cast) -> Tensor:
    """a @ b.T: the rows of both are what is summed along."""
    if a.values.is_cuda and torch.cuda.get_device_capability(a.values.device) == (9, 0):
        return torch._scaled_mm(a.values, b.values.t(), a.scales, b.scales.t(), out_dtype=torch.bfloat16)
    x, y = (cornerturn.dequantise(one.values, one.format, scales=one.scales) for one in (a, b))
    return (x @ y.t()).to(torch.bfloat16)


class InFp8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return product(of_lines(x), of_squares(w))

    @staticmethod
    def backward(ctx, g: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        # The gradient is read once for both of its products.
        both = cornerturn.quantise(g.contiguous(), "fp8_1x128", both=True, scale_layout="mn_major")
        along = Cast(both.rows, both.row_scales, "fp8_1x128")
        across = Cast(both.columns, both.column_scales, "fp8_1x128")
        return product(along, of_squares(w, (1, 0))), product(across, of_lines(x, (1, 0)))


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return InFp8.apply(x.reshape(-1, x.shape[-1]), self.weight).reshape(*x.shape[:-1], -1)


class Layer(nn.Module):
    def __init__(self, linear: type[nn.Linear]) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = linear(WIDTH, 3 * WIDTH, bias=False), linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = linear(WIDTH, 4 * WIDTH, bias=False), linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = cornerturn.rearrange(self.qkv(self.before(x)), "b t (three h d) -> three b h t d", three=3, h=HEADS)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(cornerturn.rearrange(seen, "b h t d -> b t (h d)"))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class Model(nn.Module):
    def __init__(self, linear: type[nn.Linear]) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.Sequential(*(Layer(linear) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.layers(self.words(tokens) + self.places(places))))


def batch(step: int, device: str) -> Tensor:
    """Sequences with a rule to be learned: a word follows from the two before it, but for one in twenty."""
    random = torch.Generator().manual_seed(step)
    words = torch.randint(WORDS, (BATCH, TOKENS + 1), generator=random)
    noise = torch.rand(BATCH, TOKENS + 1, generator=random) < 0.05
    for t in range(2, TOKENS + 1):
        rule = (words[:, t - 1] + 3 * words[:, t - 2] + 1) % WORDS % 32
        words[:, t] = torch.where(noise[:, t], words[:, t], rule)
    return words.to(device)


def losses(linear: type[nn.Linear], steps: int, device: str) -> list[float]:
    torch.manual_seed(0)
    model = Model(linear).to(device, torch.bfloat16)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)
    found = []
    for step in range(steps):
        words = batch(step, device)
        logits = model(words[:, :-1]).float()
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, help="100 on a GPU and 4 on a CPU unless said")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, help="writes the losses there")
    asked = parser.parse_args()
    asked.steps = asked.steps or (4 if asked.device == "cpu" else 100)
    fp8, bf16 = (losses(linear, asked.steps, asked.device) for linear in (Linear, nn.Linear))
    if asked.json:
        on = torch.cuda.get_device_name() if asked.device == "cuda" else asked.device
        report = {"device": on, "torch": torch.__version__, "fp8": fp8, "bf16": bf16}
        asked.json.write_text(json.dumps(report, indent=1) + "\n")
    print("step    fp8   bf16")
    for step in range(0, asked.steps, max(1, asked.steps // 10)):
        print(f"{step:4}  {fp8[step]:5.3f}  {bf16[step]:5.3f}")
    last = max(1, asked.steps // 10)
    a, b = (sum(one[-last:]) / last for one in (fp8, bf16))
    print(f"the last {last}: fp8 {a:.3f}, bf16 {b:.3f}")
    if not (abs(a - b) < 0.02 * b + 0.02 and a < fp8[0]):
        sys.exit("the losses differ")


if __name__ == "__main__":
    main()
