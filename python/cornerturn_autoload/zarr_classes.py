"""What zarr finds by its entry points, so that its configuration alone switches Cornerturn on.

zarr loads this in every program that reads or writes an array. Whatever goes wrong here is a warning:
zarr itself is usable.
"""

try:
    from cornerturn.zarr import NDBuffer, Pipeline
except Exception as error:
    import warnings

    from zarr.core.buffer.cpu import NDBuffer
    from zarr.core.codec_pipeline import BatchedCodecPipeline as Pipeline

    warnings.warn(f"{error}: zarr moves its chunks by itself", RuntimeWarning, stacklevel=2)

__all__ = ["NDBuffer", "Pipeline"]
