"""The soundness campaign: thousands of random problems, the paper's datasets and numbers under stress.

    python -m benchmarks.campaign [--problems 10000] [--stress 300] [--paper] [--minutes 60] [--seed 0]

Every answer of the engine is compared with a truth that shares no code with it, with every other answer, and with what
``predict`` says. Anything that does not hold is printed with Python that shows it again, and the exit code is 1.
"""
