"""Nothing is left to be compiled at a page's first click."""

import numpy as np
from numba.core.dispatcher import Dispatcher

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates import (
    box,
    branch_kernels,
    graph_kernels,
    pair_kernels,
    program_kernels,
    relaxation_kernels,
    screening_kernels,
    training_row_kernels,
)
from arml_core.numerics import compiled as home_of_compiled
from arml_core.numerics import distance_kernels, smallest
from arml_core.warm_up import compile_loops
from tests.certificates.test_branch import binary_problem

MODULES = (
    box,
    branch_kernels,
    graph_kernels,
    pair_kernels,
    program_kernels,
    relaxation_kernels,
    screening_kernels,
    training_row_kernels,
    distance_kernels,
    smallest,
)


def compiled() -> dict[str, int]:
    loops = {
        f"{module.__name__}.{name}": loop
        for module in MODULES
        for name, loop in vars(module).items()
        if isinstance(loop, Dispatcher)
    }
    return {name: len(loop.signatures) for name, loop in loops.items()}


def test_everything_that_certificates_call_is_compiled_before():
    compile_loops()
    before = compiled()
    assert before
    for seed in range(6):
        M, X, y, x = binary_problem(seed, n=14, d=4)
        for norm in (1, 2, float("inf")):
            for limits in (None, (-1, 2)):
                threat = ThreatModel(norm, box=limits)
                MahalanobisKNN(3, M).fit(X, y).certify(x[None], method="search", threat=threat, budget=5.0)
        for data in (X, X.astype(np.float32), X * 1e-3 + 5.0):
            for method, k in (("votes", 3), ("votes", 4), ("theorem1", 3), ("exact", 1)):
                knn = MahalanobisKNN(k, M).fit(data, y)
                knn.certify(data, method=method, exclude=np.arange(14))
                knn.certify(data[:1] * 1e7, method=method, threat=ThreatModel(frozen=[1]))  # so far out: in float64
                knn.certify_training(data, exclude=np.arange(14))
                knn.certify_training(data[:1] * 1e7)
    assert compiled() == before


def test_a_change_to_any_file_with_loops_compiles_all_of_them_again(tmp_path):
    """Numba alone would go on using a function of another file as it was before."""
    files = home_of_compiled.sources()
    assert {module.__file__ for module in (*MODULES, home_of_compiled)} == {str(file) for file in files}
    copies = [tmp_path / f"{number}.py" for number in range(len(files))]
    for copy, file in zip(copies, files, strict=True):
        copy.write_bytes(file.read_bytes())
    before = home_of_compiled.digest(copies)
    for copy in copies:
        whole = copy.read_bytes()
        copy.write_bytes(whole + b"#")
        assert home_of_compiled.digest(copies) != before
        copy.write_bytes(whole)
    assert home_of_compiled.digest(copies) == before
    assert f"compiled-{home_of_compiled.digest(files)}" in smallest.keep_smallest.stats.cache_path
