"""The records of latent points that may stand in a model file."""

from ..io import register_record
from ..kernels import Restricted
from ..latent import BackConstrained, DividedPoints, Points, TimedPoints
from ..mappings import CorrelatedGP, ExactGP, PointPosterior, PrunedGP, SparseGP

for kind in (
    Restricted,
    Points,
    BackConstrained,
    DividedPoints,
    TimedPoints,
    ExactGP,
    SparseGP,
    CorrelatedGP,
    PrunedGP,
    PointPosterior,
):
    register_record(kind)
