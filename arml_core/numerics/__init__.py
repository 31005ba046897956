"""Everything about floats: error bounds, directed rounding, bounded distances, exact comparisons, precision, threads.

No other folder computes an error bound.
"""
