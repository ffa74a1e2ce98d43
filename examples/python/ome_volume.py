"""A volume of a microscope (z, y, x) in F order, as Julia writes it: read fast, and cut into cubes."""

import tempfile
import time

try:
    import numpy as np
    import zarr
except ImportError as error:
    raise SystemExit(print(f"{error.name} is not here: pip install 'cornerturn[zarr]'"))

import cornerturn

folder = tempfile.mkdtemp()
order = zarr.codecs.TransposeCodec(order=(2, 1, 0))
group = zarr.create_group(f"{folder}/volume.zarr", attributes={"multiscales": [{"axes": ["z", "y", "x"]}]})
volume = group.create_array("0", shape=(64, 256, 256), chunks=(64, 128, 128), dtype="u2", filters=[order], compressors=None)
volume[:] = np.random.default_rng(0).integers(0, 4096, volume.shape, "u2")


def seconds():
    start = time.perf_counter()
    volume[:]
    return time.perf_counter() - start


before = min(seconds() for _ in range(3))
with cornerturn.zarr.enable():
    after = min(seconds() for _ in range(3))
print(f"the volume is read in {1e3 * before:.0f} ms, and in {1e3 * after:.0f} ms with cornerturn.zarr.enable()")

plan = cornerturn.rechunk(
    f"{folder}/volume.zarr::0", f"{folder}/cubes.zarr", chunks=(32, 32, 32), shards=(64, 128, 128), memory="256M"
)
cubes = zarr.open_array(f"{folder}/cubes.zarr", mode="r")
assert (cubes[5:20, 100:140, 7] == volume[5:20, 100:140, 7]).all()
print(f"cubes of {cubes.chunks} in shards of {cubes.shards}: {plan.tasks} tasks in {len(plan.stages)} stage")
