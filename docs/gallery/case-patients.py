"""
# Patients, without a blood test

A case study for clinical and biological tables: what two tables share, whether one replaces the other,
and what foretells the course of a disease.

442 diabetes patients were examined (age, sex, body mass index, blood pressure), had six blood measurements taken, and a
year later their doctors rated the progression of the disease (Efron et al. 2004). The data come with scikit-learn. Three
questions:

1. What do the examination and the blood share?
2. Which blood measurements could the examination replace?
3. Does the blood test tell more about the progression than the examination alone?

## The tables

Every table is a DataFrame with one row per patient. A sixth of the training patients have no blood values: such
rows stay, and nothing needs to be filled in beforehand.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from manyviews import MRD, Search, plot

data = load_diabetes(as_frame=True, scaled=False)
names = dict(
    s1="cholesterol", s2="LDL", s3="HDL", s4="chol/HDL", s5="log triglycerides", s6="glucose"
)
exam = data.data[["age", "sex", "bmi", "bp"]]
blood = data.data[list(names)].rename(columns=names)
outcome = data.target.to_frame("progression")
patients = np.random.default_rng(0).permutation(len(exam))
train, new = patients[:300], patients[300:]
views = {"exam": exam.iloc[train], "blood": blood.iloc[train[:250]], "outcome": outcome.iloc[train]}
pd.DataFrame({name: {"patients": len(v), "columns": v.shape[1]} for name, v in views.items()}).T

# %%
# ## The fit
#
# The columns have different units, so each is scaled by its own standard deviation (the default).

model = MRD(5, n_inducing=30, search=Search(n_restarts=1, max_iter=200), random_state=0)
model.fit(views)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
plot.data_overview(model, ax=left)
plot.relevance_map(model.variance_explained(), ax=right, label="variance explained")

# %%
# ## 1. What is shared?
#
# How much of each table do the dimensions explain that examination *and* blood use?

shared = model.shared("exam", "blood")
explained = model.variance_explained_by(shared)
print(f"{len(shared)} of {model.n_active_} dimensions are shared by exam and blood")
explained.rename("explained by the shared dimensions").to_frame()

# %%
# ## 2. Which measurements could be replaced?
#
# The blood of 142 new patients is predicted from their examination. R² is measured on these patients, against their own
# mean; 0 means that the prediction is no better than telling everyone the average.

known = {"exam": exam.iloc[new]}
mean, std = model.predict(known, "blood", return_std=True)
truth = blood.iloc[new]
r2 = 1 - ((mean - truth) ** 2).mean() / truth.var(ddof=0)
inside = ((mean - truth).abs() < 1.645 * std).mean()
pd.DataFrame({"R²": r2, "inside the 90 % interval": inside})

# %%
# ## 3. Does the blood test add anything?
#
# Progression, predicted from the examination, from the blood, and from both; ridge regression beside it.

from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

everything = {"exam": exam, "blood": blood}
errors, rows = {}, {}
y = outcome.iloc[new, 0].to_numpy()
for title, used in {"exam": ["exam"], "blood": ["blood"], "both": ["exam", "blood"]}.items():
    given = {name: everything[name].iloc[new] for name in used}
    answer, spread = model.predict(given, "outcome", return_std=True)
    answer, spread = answer.to_numpy()[:, 0], spread.to_numpy()[:, 0]
    X = pd.concat([everything[name] for name in used], axis=1)
    complete = train[:250]
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))
    ridge.fit(X.iloc[complete], outcome.iloc[complete, 0])
    errors[title] = (answer - y) ** 2
    rows[title] = {
        "R² of MRD": 1 - errors[title].mean() / y.var(),
        "R² of ridge": 1 - np.mean((ridge.predict(X.iloc[new]) - y) ** 2) / y.var(),
        "inside the 90 % interval": np.mean(np.abs(answer - y) < 1.645 * spread),
    }
table = pd.DataFrame(rows).T
table

# %%
# The difference between the examination and both tables, with a standard error over patients:

gain = (errors["exam"] - errors["both"]) / y.var()
difference, error = gain.mean(), gain.std(ddof=1) / np.sqrt(len(gain))
figure, ax = plt.subplots(figsize=(8, 3))
ax.barh(table.index, table["R² of MRD"], height=0.35, label="MRD")
ax.barh(np.arange(3) + 0.37, table["R² of ridge"], height=0.35, label="ridge")
ax.set(xlabel="R² of the progression, 142 new patients")
ax.legend()

# %%
# ## Answer
#
# - Examination and blood share {{ len(shared) }} dimension{{ "" if len(shared) == 1 else "s" }}, which explain{{ "s" if len(shared) == 1 else "" }}
#   {{ f"{explained['exam']:.0%}" }} of the examination's variance and {{ f"{explained['blood']:.0%}" }} of the blood's.
# - The examination replaces no blood measurement well: the best predicted, {{ r2.idxmax() }}, has an R² of
#   {{ f"{r2.max():.2f}" }}. The model knows it: its 90 % intervals hold {{ f"{inside.mean():.0%}" }} of the true values.
# - With the blood test the R² of the progression is {{ f"{table['R² of MRD']['both']:.2f}" }}, without it
#   {{ f"{table['R² of MRD']['exam']:.2f}" }}: a gain of {{ f"{difference:.2f} ± {error:.2f}" }} (standard error), which is
#   {{ "more than" if difference > 2 * error else "less than" }} two standard errors.
# - Ridge regression reaches {{ f"{table['R² of ridge']['both']:.2f}" }} with both tables. For the prediction alone it
#   {{ "is about as good" if abs(table['R² of ridge']['both'] - table['R² of MRD']['both']) < 0.02 else ("is better" if table['R² of ridge']['both'] > table['R² of MRD']['both'] else "is not as good") }};
#   it gives no intervals, and needs complete rows.
#
# Next: [Which model?](../which-model.md), [When not to use this](../when-not.md).
