"""A batch of photographs from the order they are stored in (NHWC) to the one networks want (NCHW)."""

import numpy as np

import cornerturn

rng = np.random.default_rng(0)
images = rng.integers(0, 256, (16, 240, 320, 3), np.uint8)  # batch, height, width, colour

planes = cornerturn.transpose(images, (0, 3, 1, 2))
print("images", images.shape, "-> planes", planes.shape)

# Every second row and column, mirrored: views are read where they lie.
thumbnails = cornerturn.rearrange(images[:, ::2, ::-2], "n h w c -> n c h w")
print("thumbnails", thumbnails.shape)

# Into memory that is there already, here one half of a larger batch.
both = np.zeros((32, 3, 240, 320), np.uint8)
cornerturn.transpose(images, (0, 3, 1, 2), out=both[16:])

assert np.array_equal(planes, images.transpose(0, 3, 1, 2))
assert np.array_equal(both[16:], planes) and not both[:16].any()
print(cornerturn.plan(images, (0, 3, 1, 2)).explain())
