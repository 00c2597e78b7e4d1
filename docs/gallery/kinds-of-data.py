"""
# Counts, yes and no

`MRD(likelihood=...)` takes counts, binary and ordered answers, outliers and limits of detection as what they are.

The data are simulated: one cause moves eight counts and six yes-or-no answers of 150 samples.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from manyviews import MRD, Search

rng = np.random.default_rng(0)
cause = rng.normal(size=200)
rates = np.exp(1.0 + np.outer(np.sin(cause), rng.normal(size=8)))
chances = 1 / (1 + np.exp(-2 * np.outer(cause, rng.normal(size=6))))
reads, mutated = rng.poisson(rates).astype(float), (rng.random((200, 6)) < chances).astype(float)

model = MRD(
    2, n_inducing=15, likelihood={"reads": "poisson", "mutated": "bernoulli"},
    search=Search(n_restarts=1, max_iter=100), random_state=0,
)  # fmt: skip
model.fit({"reads": reads[:150], "mutated": mutated[:150]})

# %%
# ## Rates and probabilities
#
# From the counts of 50 new samples, the probability of each answer. On the left, the samples in order of the predicted
# probability of the first answer; on the right, predicted against true probabilities, which real data would not show.

chance = model.predict({"reads": reads[150:]}, "mutated")
order = np.argsort(chance[:, 0])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.plot(chance[order, 0], label="predicted probability")
left.plot(mutated[150:][order, 0], "|", label="answer")
left.set(xlabel="sample, in order", ylabel="probability of yes")
left.legend()
right.plot([0, 1], [0, 1], color="0.7")
right.plot(chance.ravel(), chances[150:].ravel(), ".", alpha=0.5)
right.set(xlabel="predicted probability", ylabel="true probability")

# %%
# [Kinds of data](../kinds.md) lists all likelihoods.
