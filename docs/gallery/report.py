"""
# The report

`write_report` puts the findings, the concerns and the pictures of a fitted model into one HTML file.

The model is that of the [linear factors](linear-factors.md), with a hundred tumours held out. `manyviews fit` writes the same
page.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from manyviews import plot
from manyviews.linear import GroupFactorAnalysis
from manyviews.report import write_report

data = load_breast_cancer(as_frame=True)
log = np.log(data.data + 0.01)
views = {}
for kind in ("mean", "error", "worst"):
    views[kind] = log[[column for column in log if kind in column]]
    views[kind].columns = [column.replace(kind, "").strip() for column in views[kind]]
model = GroupFactorAnalysis(8, scaling="column", random_state=0)
model.fit({name: view.iloc[:469] for name, view in views.items()})
diagnosis = data.target.iloc[:469].map({0: "malignant", 1: "benign"}).rename("diagnosis")
held_out = {name: view.iloc[469:] for name, view in views.items()}
assessments = write_report(
    model, "report.html", title="Cell nuclei of tumours", held_out=held_out, metadata=diagnosis
)

# %%
# ## The page
#
# It is a single file without scripts, which can be mailed. [Open it on its own](report/report.html).
#
# <iframe src="report/report.html" title="The report" loading="lazy"></iframe>
#
# ## How to read it
#
# *Findings* are sentences about this fit. *Concerns* say what a statistician would question, and what to do about it; read
# them before you quote a finding. The same figures are also to be had in Python:

import pandas as pd

pd.DataFrame([a.summary() for a in assessments]).set_index("view").T

# %%
# and so are its pictures: predictions of held-out tables, and how much of the truth their intervals hold.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
for assessment, colour in zip(assessments, ("#0072B2", "#D55E00", "#009E73")):
    standard = [
        (part - assessment.centre) / assessment.scale
        for part in (assessment.truth, assessment.mean)
    ]
    plot.predicted_against_true(*standard, ax=left, colour=colour)
    found = assessment.truth, assessment.mean, assessment.std
    plot.calibration(*found, ax=right, label=assessment.view, colour=colour)
right.legend()

# %%
# [Reports and pictures](../pictures.md) is the guide.
