"""A three-dimensional FFT by pencils: one axis after the other is made the contiguous one, so that
each one-dimensional transform reads its line as one piece, as codes over many nodes do it."""

import numpy as np

import cornerturn

rng = np.random.default_rng(0)
field = rng.standard_normal((48, 64, 80)) + 1j * rng.standard_normal((48, 64, 80))

spectrum = np.fft.fft(field, axis=-1)  # x y z: lines along z
for _ in range(2):
    spectrum = cornerturn.transpose(spectrum, (2, 0, 1))  # z x y, then y z x
    spectrum = np.fft.fft(spectrum, axis=-1)
spectrum = cornerturn.transpose(spectrum, (2, 0, 1))  # x y z again

error = np.abs(spectrum - np.fft.fftn(field)).max() / np.abs(spectrum).max()
print(f"field {field.shape}, largest difference from fftn: {error:.1e}")
assert error < 1e-12
