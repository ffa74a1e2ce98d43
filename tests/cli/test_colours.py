"""The colours of the 32 banks for eyes that see fewer of them: simulated, and measured in CIELAB.

The simulations are those of Machado, Oliveira and Fernandes (IEEE TVCG 15, 2009) at full severity,
on linear light. Differences are CIE76's: about 2 is the least that one sees side by side."""

import math
import re

import pytest

from command_line import done

SEEN = {
    "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
    "greyscale": [[0.2126, 0.7152, 0.0722]] * 3,
}  # fmt: skip


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def seen(colour, eyes):
    return [min(1.0, max(0.0, part)) for part in times(SEEN[eyes], linear(colour))]


def luminance(light):
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), light))


def lab(light):
    xyz = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], light)
    x, y, z = (
        t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
        for t in (a / white for a, white in zip(xyz, (0.9505, 1.0, 1.089)))
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def distance(a, b, eyes):
    return math.dist(lab(seen(a, eyes)), lab(seen(b, eyes)))


def contrast(a, b):
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(scope="module")
def banks(tmp_path_factory):
    """The colour of each bank, and of the letters on it, from the picture of one row."""
    path = tmp_path_factory.mktemp("colours") / "row.svg"
    done("draw", "tile", "(1,32):(32,1)", "--svg", path)
    picture = path.read_text()
    fills = re.findall(r'<path fill="(#[0-9a-f]{6})" d="M(\d+)', picture)
    assert len(fills) == 32
    white = re.search(r'<g class="m" fill="#fff">(.*?)</g>', picture, re.S)[1]
    on_dark = {int(label) for label in re.findall(r">(\d+)</text>", white)}
    in_order = sorted(fills, key=lambda fill: int(fill[1]))
    return [(colour, "#ffffff" if bank in on_dark else "#000000") for bank, (colour, _) in enumerate(in_order)]


@pytest.mark.parametrize("eyes", SEEN)
def test_neighbouring_banks_differ(banks, eyes):
    colours = [colour for colour, _ in banks]
    steps = [distance(a, b, eyes) for a, b in zip(colours, colours[1:])]
    assert min(steps) > 1.5
    # Four banks are 16 bytes, what one wide access takes.
    assert min(distance(a, b, eyes) for a, b in zip(colours, colours[4:])) > 5.0


@pytest.mark.parametrize("eyes", SEEN)
def test_the_order_of_banks_is_an_order_of_lightness(banks, eyes):
    lightness = [lab(seen(colour, eyes))[0] for colour, _ in banks]
    assert all(a > b for a, b in zip(lightness, lightness[1:]))


@pytest.mark.parametrize("eyes", SEEN)
def test_labels_can_be_read(banks, eyes):
    """The number of the bank says what no colour needs to: WCAG asks for 4.5 to 1."""
    assert all(contrast(seen(colour, eyes), seen(letters, eyes)) > 4.5 for colour, letters in banks)


@pytest.mark.parametrize("eyes", SEEN)
def test_conflicts_show_on_every_tone(tmp_path, eyes):
    """Their frame has white beside it, and a filled corner that those of other lanes have not."""
    done("explain", "(32,32):(32,1)", "--access", "columns", "--svg", tmp_path / "tile.svg")
    picture = (tmp_path / "tile.svg").read_text()
    cases = re.findall(r'<path class="h" d="([^"]*)"/>\n(?:<path class="a" d="([^"]*)"/>\n)?<path class="c" d="([^"]*)"/>\n<path class="k"', picture)
    assert len(cases) == 2  # the tile, and its wavefronts
    assert all(case == framed + conflicts for case, framed, conflicts in cases)
    colour = re.search(r"\.c\{[^}]*stroke:(#[0-9a-f]{6})", picture)[1]
    wide, own = (float(re.search(rf"\.{name}\{{[^}}]*stroke-width:([\d.]+)", picture)[1]) for name in "hc")
    assert wide >= own + 1 and re.search(r"\.h\{[^}]*stroke:#fff", picture)
    assert contrast(seen(colour, eyes), seen("#ffffff", eyes)) > 4.5
