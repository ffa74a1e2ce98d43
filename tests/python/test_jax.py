"""cornerturn.jax.transpose against jax.numpy.transpose."""

import os
import subprocess
import sys
from functools import partial

import pytest

# Others use the GPU too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")

import cornerturn.jax as cj  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402

TARGET = "cornerturn_transpose"
DTYPES = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e8m0fnu"
).split()


def has_gpu():
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no GPU")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_gpu)])
def device(request):
    device = jax.devices(request.param)[0]
    with jax.default_device(device), jax.enable_x64(True):
        yield device


def numbered(*shape, dtype="float32"):
    return (jnp.arange(np.prod(shape, dtype=int)) % 97).reshape(shape).astype(dtype)


def same(got, want):
    """Bit for bit, as NaNs do not equal themselves."""
    assert got.shape == want.shape and got.dtype == want.dtype and got.devices() == want.devices()
    assert np.asarray(got).tobytes() == np.ascontiguousarray(want).tobytes()


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((), None),
        ((7,), (0,)),
        ((3, 4), None),
        ((3, 4), (0, 1)),
        ((3, 4, 5), None),
        ((3, 4, 5), (1, -1, 0)),
        ((3, 1, 5, 2), (3, 1, 0, 2)),
        ((0, 4), None),
        ((4, 0, 3), (1, 2, 0)),
        ((130, 257, 65), (2, 0, 1)),
        ((2, 3, 2, 3, 2, 3), (5, 0, 3, 2, 4, 1)),
    ],
)
def test_shapes(device, shape, axes):
    x = numbered(*shape)
    same(cj.transpose(x, axes), jnp.transpose(x, axes))
    same(jax.jit(partial(cj.transpose, axes=axes))(x), jnp.transpose(x, axes))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(device, dtype):
    itemsize = jnp.dtype(dtype).itemsize
    bits = np.random.default_rng(1).integers(0, 256, (37, 11, itemsize), np.uint8)
    if dtype == "bool":
        bits %= 2
    x = jnp.asarray(bits.view(dtype)[..., 0])
    assert x.dtype == dtype
    same(cj.transpose(x), jnp.transpose(x))


def test_what_jax_takes_for_an_array(device):
    same(cj.transpose([[1, 2], [3, 4]]), jnp.array([[1, 3], [2, 4]]))
    same(cj.transpose(np.arange(6).reshape(2, 3)), jnp.arange(6).reshape(2, 3).T)
    assert cj.transpose(2.0).weak_type


TWO_DEVICES = """
import jax, jax.numpy as jnp
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 2)
import cornerturn.jax as cj
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

for axis_type in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(axis_type,))
    with jax.set_mesh(mesh):
        x = jnp.arange(32.0).reshape(4, 8)
        halves = jax.device_put(x, NamedSharding(mesh, P("i", None)))
        y = cj.transpose(halves)  # stays spread, its axes permuted
        assert (y == x.T).all() and y.sharding.spec == P(None, "i")
        assert "all-gather" not in jax.jit(cj.transpose).lower(halves).compile().as_text()
        between = jax.jit(lambda t: cj.transpose(t + 1) * 2)
        y = between(halves)
        assert (y == (x.T + 1) * 2).all() and y.sharding.spec == P(None, "i")
        text = between.lower(halves).compile().as_text()
        assert "all-gather" not in text and "cornerturn_transpose" in text
        gradient = jax.jit(jax.grad(lambda t: (cj.transpose(t) ** 2).sum()))(halves)
        assert (gradient == 2 * x).all() and gradient.sharding.spec == P("i", None)
        rows = jax.jit(jax.vmap(lambda t: cj.transpose(t, (1, 0))))(halves.reshape(4, 2, 4))
        assert (rows == x.reshape(4, 2, 4).transpose(0, 2, 1)).all()
        apart = jax.jit(
            jax.shard_map(cj.transpose, mesh=mesh, in_specs=P("i", None), out_specs=P(None, "i"))
        )
        y = apart(halves)
        assert (y == x.T).all() and y.sharding.spec == P(None, "i")
        assert "all-gather" not in apart.lower(halves).compile().as_text()
        gradient = jax.jit(jax.grad(lambda t: (apart(t) ** 2).sum()))(halves)
        assert (gradient == 2 * x).all()
"""


def test_arrays_spread_over_devices():
    """In its own process, as the number of devices is settled once."""
    subprocess.run([sys.executable, "-c", TWO_DEVICES], check=True, env={**os.environ})


def test_cornerturn_does_the_work(device):
    text = jax.jit(cj.transpose).lower(numbered(3, 4)).compile().as_text()
    assert TARGET in text


def test_between_other_operations(device):
    @jax.jit
    def block(x):
        return jnp.tanh(cj.transpose(jnp.sin(x) @ x.T, (1, 0))) @ x

    x = numbered(17, 5) / 97
    want = jnp.tanh((jnp.sin(x) @ x.T).T) @ x
    assert jnp.allclose(block(x), want)


@pytest.mark.parametrize("in_axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("out_axis", [0, 1, 2, 3, -1])
def test_vmap(device, in_axis, out_axis):
    x = numbered(2, 3, 4, 5)

    def batched(transpose):
        return jax.vmap(lambda t: transpose(t, (2, 0, 1)), in_axis, out_axis)(x)

    same(batched(cj.transpose), batched(jnp.transpose))


def test_nested_vmap(device):
    x = numbered(2, 3, 4, 5)

    def batched(transpose):
        return jax.jit(jax.vmap(jax.vmap(transpose, 1), 2, 1))(x)

    same(batched(cj.transpose), batched(jnp.transpose))


TRANSFORMATIONS = {
    "grad": jax.grad,
    "hessian": jax.hessian,
    "jacrev": jax.jacrev,
    "jacfwd": jax.jacfwd,
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x + 1,))[1],
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](x + 1),
    "grad of grad": lambda f: jax.grad(lambda x: jax.grad(f)(x).sum()),
    "vmap of grad": lambda f: lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, 2 * x])),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_derivatives(device, name):
    x = jax.random.normal(jax.random.key(1), (2, 3, 4), "float64")
    weights = jax.random.normal(jax.random.key(2), (4, 2, 3), "float64")

    def value(transpose):
        function = TRANSFORMATIONS[name](lambda t: (transpose(t, (2, 0, 1)) ** 3 * weights).sum())
        return jax.jit(function)(x)

    assert jnp.allclose(value(cj.transpose), value(jnp.transpose))


def test_gradient_is_the_inverse(device):
    x = numbered(2, 3, 4)
    _, pull = jax.vjp(lambda t: cj.transpose(t, (2, 0, 1)), x)
    weights = numbered(4, 2, 3) + 5
    same(pull(weights)[0], jnp.transpose(weights, (1, 2, 0)))


def test_control_flow(device):
    x = numbered(8, 8)

    @jax.jit
    def turned(n):
        return jax.lax.fori_loop(0, n, lambda _, t: cj.transpose(t) * 2, x)

    same(turned(3), x.T * 8)


def test_shapes_that_are_known_later(device):
    rows, columns = export.symbolic_shape("rows, columns")
    exported = export.export(
        jax.jit(lambda x: cj.transpose(x, (1, 0, 2))),
        platforms=[device.platform.replace("gpu", "cuda")],
        disabled_checks=[export.DisabledSafetyCheck.custom_call(TARGET)],
    )(jax.ShapeDtypeStruct((rows, columns, 3), "float32"))
    for shape in ((4, 7, 3), (9, 2, 3)):
        same(exported.call(numbered(*shape)), jnp.transpose(numbered(*shape), (1, 0, 2)))


def test_another_platform_gets_xlas_own(device):
    exported = export.export(jax.jit(cj.transpose), platforms=["tpu"])(numbered(2, 3))
    assert "stablehlo.transpose" in exported.mlir_module()
    assert TARGET + "(" not in exported.mlir_module()


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((0, 1), r"axes = \(0, 1\) has 2 entries, but x has rank 3"),
        ((0, 1, 3), r"axes\[2\] = 3 is out of range for rank 3"),
        ((0, -4, 1), r"axes\[1\] = -4 is out of range for rank 3"),
        ((0, 1, -2), r"axes\[2\] = -2 repeats axes\[1\]"),
    ],
)
def test_what_is_not_a_permutation_is_refused(axes, message):
    with pytest.raises(ValueError, match=message):
        cj.transpose(numbered(2, 3, 4), axes)


@pytest.mark.parametrize("axes", [1, (0.0, 1.0), "ab"])
def test_axes_that_are_no_integers_are_refused(axes):
    with pytest.raises(TypeError, match="is not a sequence of integers"):
        cj.transpose(numbered(2, 3), axes)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "float4_e2m1fn"])
def test_packed_elements_are_refused(dtype):
    with pytest.raises(TypeError, match=f"dtype {dtype}: XLA packs its elements"):
        cj.transpose(jnp.ones((2, 4), dtype))


def test_keys_are_refused():
    with pytest.raises(TypeError, match="its elements are not numbers"):
        cj.transpose(jax.random.split(jax.random.key(0), (2, 3)))
