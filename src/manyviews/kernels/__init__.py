"""Covariance functions: one family per file, sums and products by ``+`` and ``*``."""

from .base import Kernel
from .combine import Product, Sum
from .constant import Bias, White
from .linear import Linear
from .matern import Matern12, Matern32, Matern52
from .naming import kernel_from_name
from .periodic import Periodic
from .polynomial import Polynomial
from .rbf import RBF
from .restricted import Restricted

__all__ = [
    "RBF",
    "Bias",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Product",
    "Restricted",
    "Sum",
    "White",
    "kernel_from_name",
]
