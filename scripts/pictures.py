"""Pictures of a photograph before and after: what scripts/demo.py writes and the README shows."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

GAP = 24
CAPTION = 40
PAPER = (255, 255, 255)
INK = (60, 60, 60)
TINTS = ((1.0, 0.25, 0.2), (0.25, 0.85, 0.3), (0.3, 0.45, 1.0))


def font(size):
    import matplotlib  # carries a font, so that every machine draws the same picture

    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)


def tinted(plane, tint):
    return Image.fromarray((plane[:, :, None] * np.asarray(tint)).astype(np.uint8))


def planes(parts):
    """The planes of a (channel, height, width) array, side by side, each in its colour."""
    _, height, width = parts.shape
    sheet = Image.new("RGB", (3 * width + 2 * GAP, height), PAPER)
    for i, tint in enumerate(TINTS):
        sheet.paste(tinted(parts[i], tint), (i * (width + GAP), 0))
    return sheet


def stacked(parts):
    """The planes as a stack of cards."""
    _, height, width = parts.shape
    right, down = width // 5, height // 6
    sheet = Image.new("RGB", (width + 2 * right, height + 2 * down), PAPER)
    for i in (2, 1, 0):
        sheet.paste(tinted(parts[i], TINTS[i]), (i * right, i * down))
    return sheet


def overview(before, after, parts):
    """Before, transposed, and split into planes, in one row with the command under each."""
    panels = [
        (Image.fromarray(before), "photo.npy  (h, w, c)"),
        (Image.fromarray(after), '--pattern "h w c -> w h c"'),
        (stacked(parts), '--pattern "h w c -> c h w"'),
    ]
    width = sum(image.width for image, _ in panels) + 2 * GAP
    tall = max(image.height for image, _ in panels)
    sheet = Image.new("RGB", (width, tall + CAPTION), PAPER)
    draw = ImageDraw.Draw(sheet)
    left = 0
    for image, caption in panels:
        sheet.paste(image, (left, (tall - image.height) // 2))
        middle = left + image.width // 2
        draw.text((middle, tall + CAPTION // 2), caption, INK, font(17), anchor="mm")
        left += image.width + GAP
    return sheet.quantize(256, dither=Image.Dither.FLOYDSTEINBERG)
