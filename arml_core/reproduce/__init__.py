"""The paper's tables and figures, computed by this engine: ``python -m arml_core reproduce``.

A plan (:mod:`plan`) says which radii are needed, the store of the app computes them (:mod:`run`), and what comes out
is kept per point in ``data/results`` (:mod:`result_files`), from where pages and the report (:mod:`report`) read it.
"""
