"""GPflow's BayesianGPLVM behind the line protocol; run by an interpreter that has GPflow."""

import os
from collections.abc import Callable
from typing import Any

from .protocol import Arrays, claim_stdout, serve

answers = claim_stdout()
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import gpflow  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


class GPflowLibrary:
    """The library under test; the evaluation is compiled once by ``tf.function``."""

    model: Any
    start: list[np.ndarray]
    value_and_gradient: Callable[[], tuple[Any, list[Any]]]

    def load(self, problem: Arrays) -> None:
        gpflow.config.set_default_jitter(float(problem["jitter"]))
        kernel = gpflow.kernels.SquaredExponential(
            variance=float(problem["variance"]), lengthscales=problem["lengthscale"]
        )
        self.model = model = gpflow.models.BayesianGPLVM(
            data=tf.constant(problem["Y"]),
            X_data_mean=tf.constant(problem["mu"]),
            X_data_var=tf.constant(problem["S"]),
            kernel=kernel,
            inducing_variable=problem["Z"],
        )
        model.likelihood.variance.assign(float(problem["noise"]))
        variables = model.trainable_variables
        self.start = [variable.numpy() for variable in variables]

        @tf.function
        def value_and_gradient() -> tuple[Any, list[Any]]:
            with tf.GradientTape() as tape:
                value = model.elbo()
            return value, tape.gradient(value, variables)

        self.value_and_gradient = value_and_gradient

    def evaluate(self, scale: float) -> float:
        for variable, start in zip(self.model.trainable_variables, self.start, strict=True):
            variable.assign(scale * start)
        value, gradient = self.value_and_gradient()
        for part in gradient:
            tf.convert_to_tensor(part).numpy()
        return float(value)

    def gradients(self) -> Arrays:
        self.evaluate(1.0)
        value, gradient = self.value_and_gradient()
        by_variable = {
            variable.ref(): tf.convert_to_tensor(part).numpy()
            for variable, part in zip(self.model.trainable_variables, gradient, strict=True)
        }
        parameters = {
            "mu": self.model.X_data_mean,
            "S": self.model.X_data_var,
            "Z": self.model.inducing_variable.Z,
            "variance": self.model.kernel.variance,
            "lengthscale": self.model.kernel.lengthscales,
            "noise": self.model.likelihood.variance,
        }
        found = {
            name: by_variable[p.unconstrained_variable.ref()] / slope(p)
            for name, p in parameters.items()
        }
        return {"bound": np.array(value), **found}


def slope(parameter: Any) -> np.ndarray | float:
    """The derivative of a parameter's value by its unconstrained variable."""
    if parameter.transform is None:
        return 1.0
    raw = tf.convert_to_tensor(parameter.unconstrained_variable)
    with tf.GradientTape() as tape:
        tape.watch(raw)
        value = parameter.transform.forward(raw)
    return tape.gradient(value, raw).numpy()


if __name__ == "__main__":
    serve(GPflowLibrary(), answers)
