"""Golden numbers: what every public estimator answers, recorded, and compared to 1e-8."""
