"""One device or four, one process or two: the same numbers."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


def started(script, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
    )


def answer(process):
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return json.loads(out.splitlines()[-1])


def on_one_and_four(*tasks):
    flags = "--xla_force_host_platform_device_count=4"
    return answer(started("four_devices.py", *tasks, XLA_FLAGS=flags))


@pytest.fixture(scope="module")
def both():
    return on_one_and_four("exact", "fit")


@pytest.fixture(scope="module")
def others():
    return on_one_and_four("shared", "paths", "new_rows")


def test_bound_and_gradient_do_not_depend_on_the_number_of_devices(both):
    (one, one_gradient, n_one), (four, four_gradient, n_four) = both["exact"]
    assert (n_one, n_four) == (1, 4)
    assert four == pytest.approx(one, rel=1e-10)
    np.testing.assert_allclose(four_gradient, one_gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.long
def test_nor_do_those_of_scattered_values(others):
    """Their means come from iterations in single precision, which rounding leads elsewhere."""
    (one, one_gradient, _), (four, four_gradient, n_four) = others["shared"]
    assert n_four == 4
    assert four == pytest.approx(one, rel=1e-10)
    np.testing.assert_allclose(four_gradient, one_gradient, atol=1e-6 * np.abs(one_gradient).max())


@pytest.mark.long
def test_nor_do_those_of_latent_points_that_depend_on_each_other(others):
    """There only the sum is shared out."""
    (one, one_gradient, _), (four, four_gradient, n_four) = others["paths"]
    assert n_four == 4
    assert four == pytest.approx(one, rel=1e-10)
    np.testing.assert_allclose(four_gradient, one_gradient, rtol=1e-9, atol=1e-9)


def test_a_fit_on_four_devices_is_the_one_on_one(both):
    (one, means), (four, other) = both["fit"]
    assert len(other) == 42
    assert four == pytest.approx(one, rel=1e-9)
    np.testing.assert_allclose(other, means, atol=1e-7)


@pytest.mark.long
def test_nor_do_new_rows_depend_on_it(others):
    (one, means), (four, other) = others["new_rows"]
    np.testing.assert_allclose(four, one, rtol=1e-9)
    np.testing.assert_allclose(other, means, atol=1e-6)


def test_two_processes_fit_one_model_with_the_rows_of_both():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    alone = started("two_processes.py")
    pair = [started("two_processes.py", address, 2, place) for place in range(2)]
    _, value, gradient, bound, means = answer(alone)
    first, second = map(answer, pair)
    assert first == second
    assert first[0] == 2
    assert first[1] == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(first[2], gradient, rtol=1e-9, atol=1e-9)
    assert first[3] == pytest.approx(bound, rel=1e-9)
    np.testing.assert_allclose(first[4], means, atol=1e-8)
