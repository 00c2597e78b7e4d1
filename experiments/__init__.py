"""The published experiments, one file each: ``python -m experiments NAME``."""
