"""Four processes on this machine cut an array anew. A scheduler elsewhere is used the same way."""

import tempfile

try:
    import numpy as np
    import zarr
    from distributed import Client, LocalCluster
except ImportError as error:
    raise SystemExit(print(f"{error.name} is not here: pip install 'cornerturn[zarr,distributed]'"))

import cornerturn


def main():
    folder = tempfile.mkdtemp()
    x = np.random.default_rng(0).random((64, 200, 300), "f4")
    zarr.create_array(f"{folder}/in.zarr", shape=x.shape, chunks=(1, 200, 300), dtype="f4")[:] = x
    with (
        LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        plan = cornerturn.rechunk(
            f"{folder}/in.zarr", f"{folder}/out.zarr", axes=(2, 1, 0), chunks=(50, 50, 64), memory="64M", client=client
        )
    assert (zarr.open_array(f"{folder}/out.zarr")[:] == x.transpose(2, 1, 0)).all()
    print(f"{plan.tasks} tasks on four workers, {plan.memory >> 20} MiB for each")


if __name__ == "__main__":  # the workers import this file
    main()
