"""
# A survey, with unanswered questions

A case study for questionnaires: ordered and yes-or-no answers, people who skip a part, and an estimate that allows for it.

300 people were asked eight questions about their trust in institutions, with answers from 1 (not at all) to 5 (fully), and
then six yes-or-no questions about what they do: vote, give, volunteer, and so on. People of little trust often skipped
the second part. What share of *all* of them votes? No survey comes with our dependencies, so that **these answers are simulated**,
from two attitudes per person; the true shares are known, and we can check the answer.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from manyviews import MRD, Search, plot

rng = np.random.default_rng(3)
N = 300
trust, energy = rng.normal(size=(2, N))
asked = ["parliament", "courts", "police", "press", "banks", "science", "schools", "neighbours"]
done = ["votes", "gives", "volunteers", "petitions", "protests", "boycotts"]
leaning = np.outer(trust, rng.uniform(0.8, 1.6, 8)) + np.outer(energy, rng.normal(size=8) * 0.4)
level = 1 + (leaning[..., None] + rng.logistic(size=(N, 8, 1)) > [-2, -0.7, 0.7, 2]).sum(axis=2)
will = np.outer(trust, [1.6, 1.2, 0.8, 0.3, 0.0, 0.2]) + np.outer(
    energy, [0.3, 0.4, 0.9, 1.2, 1.4, 1.1]
)
acts = (rng.random((N, 6)) < 1 / (1 + np.exp(-will))).astype(float)
truth = pd.Series(acts.mean(axis=0), done)  # what a full answer would have given

attitudes = pd.DataFrame(level.astype(float), columns=asked).mask(rng.random((N, 8)) < 0.1)
skipped = rng.random(N) < 1 / (1 + np.exp(1.0 + 1.5 * (level.mean(axis=1) - 3)))
behaviour = pd.DataFrame(acts, columns=done).mask(np.broadcast_to(skipped[:, None], (N, 6)))
print(f"{attitudes.isna().to_numpy().mean():.0%} of the first answers are missing")
print(f"{skipped.mean():.0%} of the people skipped the second part")

# %%
# ## The fit
#
# The options say what the answers are: ordered, and yes or no. The model estimates how far apart the levels are.

model = MRD(
    3, n_inducing=12, kernel="linear", likelihood={"attitudes": "ordinal", "behaviour": "bernoulli"},
    search=Search(n_restarts=1, max_iter=60), random_state=0,
)  # fmt: skip
model.fit({"attitudes": attitudes, "behaviour": behaviour[~skipped]})
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4))
plot.data_overview(model, ax=left)
plot.relevance_map(model.variance_explained(), ax=right, label="deviance explained")

# %%
# ## Unanswered questions
#
# For every question that a person left out, the probability of each answer. The first three people who left out *courts*:

gaps = attitudes["courts"].isna().to_numpy()
chances = model.predict_proba({"attitudes": attitudes[gaps]}, "attitudes")["courts"]
chances.head(3)

# %%
# How good are they? The true answers are known here. The log loss is the mean of -log(probability of the true answer):
# lower is better.

true_level = pd.Series(level[gaps, 1].astype(float), chances.index)
loss = -np.log([chances.loc[i, v] for i, v in true_level.items()])
base = attitudes["courts"].value_counts(normalize=True)
base_loss = -np.log([base[v] for v in true_level])
print(
    f"log loss, model                          {loss.mean():.2f} ± {loss.std() / len(loss) ** 0.5:.2f}"
)
print(f"log loss, shares among those who answer  {base_loss.mean():.2f}")

# %%
# ## What share votes?
#
# The answers of those who skipped the second part are drawn 200 times, given their attitudes. Each draw completes the table
# and gives a share. Beside it, the usual tool: a logistic regression on the first answers, holes at their means.

from sklearn.linear_model import LogisticRegression

draws = model.predict({"attitudes": attitudes[skipped]}, "behaviour", n_samples=200, random_state=0)
draws = np.asarray(draws)
shares = (acts[~skipped].sum(axis=0) + draws.sum(axis=1)) / N
answered = behaviour[~skipped]
scores = attitudes.fillna(attitudes.mean())
logistic = []
for answer in done:
    fit = LogisticRegression().fit(scores[~skipped], answered[answer])
    guessed = fit.predict_proba(scores[skipped])[:, 1]
    logistic.append((answered[answer].sum() + guessed.sum()) / N)
found = pd.DataFrame({
    "those who answered": answered.mean(),
    "everybody, by the model": shares.mean(axis=0),
    "± (of the draws)": shares.std(axis=0),
    "everybody, by logistic regression": logistic,
    "truth": truth,
})  # fmt: skip
found

# %%

figure, ax = plt.subplots(figsize=(9, 3.2))
place = np.arange(6)
ax.plot(place - 0.12, found["those who answered"], "s", label="those who answered")
ax.errorbar(
    place,
    found["everybody, by the model"],
    yerr=1.96 * found["± (of the draws)"],
    fmt="o",
    label="everybody, by the model (± 1.96)",
)
ax.plot(place + 0.12, truth, "k_", markersize=14, label="truth")
ax.set(xticks=place, xticklabels=done, ylabel="share of yes")
ax.legend()

# %%
# ## Answer
#
# - {{ f"{found['everybody, by the model']['votes']:.0%}" }} ± {{ f"{found['± (of the draws)']['votes']:.0%}" }} of the 300 people vote.
#   Counting only those who answered gives {{ f"{found['those who answered']['votes']:.0%}" }}; the truth is {{ f"{truth['votes']:.0%}" }}.
# - Over the six questions, the mean absolute error is
#   {{ f"{100 * (found['those who answered'] - truth).abs().mean():.1f}" }} percentage points for those who answered,
#   {{ f"{100 * (found['everybody, by the model'] - truth).abs().mean():.1f}" }} for the model, and
#   {{ f"{100 * (found['everybody, by logistic regression'] - truth).abs().mean():.1f}" }} for logistic regression, which
#   needs one fit per question and the holes filled first.
# - The model's probabilities for unanswered questions have a log loss of {{ f"{loss.mean():.2f}" }}, where the shares among
#   those who answered have {{ f"{base_loss.mean():.2f}" }}.
# - Two limits. Here, people skip according to the attitudes that they *reported*; if they skip for reasons that no
#   answer shows, a bias stays, whatever the model. And the ± is that of the draws: the model's parameters are taken as
#   known, and the 300 people as the whole population.
#
# Next: [Kinds of data](../kinds.md).
