"""The benchmark of the GPU part, in small."""

from benchmarks import gpu, gpu_sum


def test_all_variants_of_the_sum_agree():
    rows = list(gpu_sum.sums(quick=True))
    assert {row["dtype"] for row in rows} == {"float64", "float32"}
    assert any("fused" in row["variant"] for row in rows)
    for row in rows:
        limit = 1e-12 if row["dtype"] == "float64" else 1e-5
        assert max(row["error"], row["error_dA"], row["error_dB"]) < limit, row


def test_a_part_that_is_too_slow_or_fails_leaves_what_it_has(monkeypatch):
    rows, wrong = gpu.measured("check", True, limit=0.1)
    assert rows == []
    assert "stopped after" in wrong
    monkeypatch.setenv("MANYVIEWS_FUSED", "nonsense")
    rows, wrong = gpu.measured("check", True, limit=60.0)
    assert rows[0]["backend"] == "cpu"
    assert "MANYVIEWS_FUSED must be one of" in wrong
