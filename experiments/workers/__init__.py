"""Other libraries behind one file each, run by an interpreter that has the library.

``python -m experiments.workers.NAME PROBLEM.npz ANSWER.npz``; see :mod:`.exchange`.
"""
