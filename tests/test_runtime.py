from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from manyviews import _runtime


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux only")
def test_compiled_programs_are_dropped_when_they_are_many(monkeypatch):
    traced = []

    @jax.jit
    def double(x):
        traced.append(x)
        return 2.0 * x

    for most, expected in ((10**9, 1), (0, 2)):
        monkeypatch.setattr(_runtime, "MOST_MAPPINGS", most)
        double(jnp.ones(3))
        _runtime.make_room_for_programs()
        double(jnp.ones(3))
        assert len(traced) == expected
