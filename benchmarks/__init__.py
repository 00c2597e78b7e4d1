"""Speed and agreement of manyviews beside GPy and GPflow: ``python -m benchmarks --help``."""
