"""The protocol of linear models of several views: the same as of MRD."""

from ..models.direct_views import DirectViews
from .estimator import LinearEstimator


class LinearViews(LinearEstimator, DirectViews):
    """A linear-Gaussian model of several named views."""
