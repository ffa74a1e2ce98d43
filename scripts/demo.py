"""The main job of Cornerturn, shown on a photograph and on a large matrix.

Transposes both with the command line, checks the results against NumPy, prints what was planned
and how fast it went, and writes pictures of before and after.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import pictures

PHOTOGRAPH = Path(__file__).resolve().parents[1] / "examples" / "data" / "astronaut.png"
COLUMNS = 8192


def call(program, *words):
    """The standard output of a command, which must succeed."""
    result = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"'{' '.join(map(str, (program, *words)))}' ended with {result.returncode}")
    return result.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"wrong result: {what}")


def transpose(program, source, result, *options):
    return json.loads(call(program, "transpose", source, result, "--verify", "--json", *options))


def photograph(program, folder, out):
    image = np.asarray(Image.open(PHOTOGRAPH).convert("RGB"))
    source, transposed, planes = (folder / f"{name}.npy" for name in ("photo", "transposed", "planes"))
    np.save(source, image)
    print(f"\nA photograph: {PHOTOGRAPH.name}, {image.shape[0]} x {image.shape[1]} x 3 bytes")

    for result, order in ((transposed, "h w c -> w h c"), (planes, "h w c -> c h w")):
        report = transpose(program, source, result, "--pattern", order)
        axes = report["permutation"]
        expect(np.array_equal(np.load(result), image.transpose(axes)), f"{order} of the photograph")
        print(f"  {order}   kernel {report['kernel']}, equal to NumPy's transpose({axes})")

    before, after, parts = image, np.load(transposed), np.load(planes)
    Image.fromarray(before).save(out / "before.png")
    Image.fromarray(after).save(out / "after.png")
    pictures.planes(parts).save(out / "planes.png")
    pictures.overview(before, after, parts).save(out / "overview.png")
    print(f"  pictures: {out}/before.png, after.png, planes.png; overview.png has all of them")


def available_memory():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def temporary_place(size):
    """A folder for two files of `size` bytes: in memory when there is room, else on disk."""
    places = [Path(os.environ.get("TMPDIR", "/tmp")), Path.cwd()]
    if available_memory() > 4 * size:
        places.insert(0, Path("/dev/shm"))
    for place in places:
        if place.is_dir() and os.access(place, os.W_OK):
            if shutil.disk_usage(place).free > 2 * size + (64 << 20):
                return place
    sys.exit(f"no room for two files of {size >> 20} MiB in {', '.join(map(str, places))}")


def write_matrix(path, rows):
    generator = np.random.default_rng(1)
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, COLUMNS))
    for start in range(0, rows, 1024):
        block = matrix[start : start + 1024]
        generator.random(dtype=np.float32, out=block)


def spot_check(source, result):
    """A million elements, each at a random place, by NumPy."""
    before, after = np.load(source, mmap_mode="r"), np.load(result, mmap_mode="r")
    expect(after.shape == before.shape[::-1], f"shape {after.shape}")
    generator = np.random.default_rng(2)
    rows = generator.integers(0, before.shape[0], 1_000_000)
    columns = generator.integers(0, before.shape[1], 1_000_000)
    expect(np.array_equal(before[rows, columns], after[columns, rows]), "the large matrix")


def indented(text):
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def matrix(program, rows):
    size = rows * COLUMNS * 4
    place = temporary_place(size)
    print(f"\nA matrix: {rows} x {COLUMNS} floats, {size / 2**30:.2f} GiB, in {place}")
    with tempfile.TemporaryDirectory(prefix="cornerturn-", dir=place) as folder:
        source, result = Path(folder) / "matrix.npy", Path(folder) / "transposed.npy"
        write_matrix(source, rows)
        print(indented(call(program, "plan", source)))
        report = transpose(program, source, result)
        spot_check(source, result)
    print(
        f"  file to file: {report['seconds']:.2f} s, "
        f"{2 * report['bytes'] / report['seconds'] / 1e9:.1f} GB/s read and written; "
        f"verified in {report['verify_seconds']:.2f} s, and 1,000,000 elements by NumPy"
    )


def in_memory(program, folder, rows):
    """That matrix without files, against memcpy of the same bytes in the same run."""
    suite, results = folder / "suite.json", folder / "results.json"
    case = {
        "name": f"matrix_{rows}_{COLUMNS}",
        "element_bytes": [4],
        "class": ["matrix-aligned"],
        "shape": [COLUMNS, rows],
        "src_strides": [1, COLUMNS],
        "dst_strides": [rows, 1],
        "src_offset": 0,
        "dst_offset": 0,
    }
    suite.write_text(json.dumps({"suite": "demo", "cases": [case]}))
    call(program, "bench", "--suite", suite, "--budget", 5, "--json", results)
    report = json.loads(results.read_text())
    measured = report["cases"][0]
    expect(measured["outcome"] == "ok", measured.get("reason", measured["outcome"]))
    rate = 2 * measured["payload_bytes"] / measured["seconds"] / 1e9
    copy = 2 * measured["payload_bytes"] / measured["memcpy_seconds"] / 1e9
    print(
        f"  in memory:    {measured['seconds']:.3f} s, {rate:.1f} GB/s read and written, "
        f"{100 * measured['share_of_memcpy']:.0f} % of memcpy ({copy:.1f} GB/s), "
        f"{report['threads']} thread{'s' if report['threads'] > 1 else ''}, "
        f"median of {measured['runs']} runs"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=32768)
    parser.add_argument("--out", type=Path, default=Path("out"))
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    cpu = json.loads(call(program, "devices", "--json"))[0]
    print(f"{call(program, 'version').strip()} on {cpu['model']}, {cpu['isa']}, {cpu['threads']} threads")
    with tempfile.TemporaryDirectory(prefix="cornerturn-") as folder:
        photograph(program, Path(folder), arguments.out)
        matrix(program, arguments.rows)
        in_memory(program, Path(folder), arguments.rows)


if __name__ == "__main__":
    main()
