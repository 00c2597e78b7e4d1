"""The records of latent points that may stand in a model file."""

from ..io import register_record
from ..kernels import Restricted
from ..latent import BackConstrained, Points
from ..mappings import CorrelatedGP, ExactGP, PointPosterior, SparseGP

for kind in (Restricted, Points, BackConstrained, ExactGP, SparseGP, CorrelatedGP, PointPosterior):
    register_record(kind)
