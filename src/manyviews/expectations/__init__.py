"""Psi statistics: expectations of kernels under Gaussian inputs."""

from . import constant, linear, rbf, restricted
from .gaussian import Gaussian
from .table import (
    cross_psi2,
    cross_psi2_rows,
    expectation_error,
    psi0,
    psi1,
    psi2,
    psi2_rows,
    register,
    register_cross,
)

__all__ = [
    "Gaussian",
    "constant",
    "cross_psi2",
    "cross_psi2_rows",
    "expectation_error",
    "linear",
    "psi0",
    "psi1",
    "psi2",
    "psi2_rows",
    "rbf",
    "register",
    "register_cross",
    "restricted",
]
