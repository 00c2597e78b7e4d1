"""The bound, its optimisation, and the posterior of new points."""
