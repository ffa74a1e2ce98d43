"""The picture in the README is the one that `make run` draws from a right answer."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import pictures  # noqa: E402


def test_readme_shows_what_make_run_draws():
    photo = np.asarray(Image.open(ROOT / "examples" / "data" / "astronaut.png").convert("RGB"))
    drawn = pictures.overview(photo, photo.transpose(1, 0, 2), photo.transpose(2, 0, 1))
    shown = Image.open(ROOT / "docs" / "images" / "overview.png")
    assert shown.size == drawn.size
    assert np.array_equal(np.asarray(shown.convert("RGB")), np.asarray(drawn.convert("RGB")))


def test_planes_hold_one_channel_each():
    parts = np.zeros((3, 4, 5), np.uint8)
    parts[1] = 200
    sheet = np.asarray(pictures.planes(parts))
    assert sheet.shape == (4, 3 * 5 + 2 * pictures.GAP, 3)
    assert not sheet[:, :5].any()
    assert sheet[0, 5 + pictures.GAP, 1] > 100
