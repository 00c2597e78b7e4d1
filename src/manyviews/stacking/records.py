"""The records of this room that may stand in a model file, by names of their own."""

from sklearn.cross_decomposition import PLSRegression
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    MultiTaskElasticNet,
    MultiTaskLasso,
    RidgeCV,
)
from sklearn.linear_model import Ridge as RidgeRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from ..io import register_record
from .answers import Answer
from .blend import Blend
from .ensemble import Ensemble, Plan
from .inputs import Inputs
from .members import Asked
from .noise import Noise
from .question import Question
from .regressions import RECIPES, Averaged, Separate, Turned
from .regressions.forest import Trees
from .regressions.linear import LinearMap
from .regressions.neighbours import NeighbourMap
from .regressions.process import Covariance, KernelMap
from .stack import Stack
from .view_regressor import ViewRegressor

OURS = (
    Answer, Asked, Averaged, Blend, Covariance, Ensemble, Inputs, KernelMap, LinearMap,
    NeighbourMap, Noise, Plan, Question, Separate, Stack, Trees, Turned, ViewRegressor,
    *RECIPES.values(),
)  # fmt: skip

# Regressors whose parameters are plain values; what they have learnt is kept as a record of ours.
FOREIGN = (
    DecisionTreeRegressor, DummyRegressor, ElasticNet, ElasticNetCV, ExtraTreeRegressor,
    ExtraTreesRegressor, KNeighborsRegressor, Lasso, LassoCV, LinearRegression,
    MultiTaskElasticNet, MultiTaskLasso, PLSRegression, RandomForestRegressor, RidgeCV,
    RidgeRegressor,
)  # fmt: skip

for kind in OURS:
    register_record(kind, f"stacking.{kind.__name__}")
for kind in FOREIGN:
    register_record(kind, f"sklearn.{kind.__name__}")
