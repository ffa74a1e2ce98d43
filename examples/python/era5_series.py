"""A year of weather maps (time, lat, lon), stored map by map, made for time series of each place."""

import tempfile
import time

try:
    import numpy as np
    import xarray
    import zarr
except ImportError as error:
    raise SystemExit(print(f"{error.name} is not here: pip install 'cornerturn[zarr,xarray]'"))

import cornerturn

folder = tempfile.mkdtemp()
shape = (365, 72, 144)
maps = zarr.create_array(
    f"{folder}/maps.zarr", shape=shape, chunks=(1, 72, 144), dtype="f4", dimension_names=["time", "lat", "lon"]
)
maps[:] = np.random.default_rng(0).normal(280, 10, shape).astype("f4")

plan = cornerturn.rechunk(
    f"{folder}/maps.zarr", f"{folder}/series.zarr", axes=(1, 2, 0), chunks=(18, 36, 365), memory="64M"
)
print(str(plan).replace(folder + "/", ""))

series = zarr.open_array(f"{folder}/series.zarr", mode="r")
for name, read in (("map by map", lambda: maps[:, 40, 100]), ("series", lambda: series[40, 100])):
    start = time.perf_counter()
    values = read()
    print(f"one place, from {name}: {len(values)} days in {1e3 * (time.perf_counter() - start):.0f} ms")
assert (maps[:, 40, 100] == series[40, 100]).all()

labelled = xarray.DataArray(series, dims=series.metadata.dimension_names)
print("the warmest day of each place:", labelled.argmax("time").shape)
