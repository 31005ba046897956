"""Nothing is left to be compiled at a page's first click."""

from numba.core.dispatcher import Dispatcher

from arml_core import MahalanobisKNN, ThreatModel
from arml_core.certificates import branch_kernels
from arml_core.warm_up import compile_loops
from tests.certificates.test_branch import binary_problem


def compiled() -> dict[str, int]:
    loops = {name: loop for name, loop in vars(branch_kernels).items() if isinstance(loop, Dispatcher)}
    assert loops
    return {name: len(loop.signatures) for name, loop in loops.items()}


def test_everything_that_a_search_calls_is_compiled_before():
    compile_loops()
    before = compiled()
    for seed in range(6):
        M, X, y, x = binary_problem(seed, n=14, d=4)
        for norm in (1, 2, float("inf")):
            MahalanobisKNN(3, M).fit(X, y).certify(x[None], method="search", threat=ThreatModel(norm), budget=5.0)
    assert compiled() == before
