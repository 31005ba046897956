"""The Python lines that draw a chart again: from the stored radii, or from nothing but the dataset."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from arml_core.comparison import EvaluationPair
from arml_core.jobs import EvaluationSpec
from arml_core.jobs.python_lines import dataset_lines, keywords, metric_of_file, script
from arml_core.jobs.spec import GIVEN
from arml_core.reproduce.result_files import metric_file
from arml_core.results import FOLDER, Evaluation

from .catalogue import Run
from .charts import Chart
from .front import Front

COMPUTED = "And these compute its numbers"
FROM_FILES = f"{COMPUTED} from the datasets and the metrics that ship with the project:"
TRAINED = (
    f"{COMPUTED} from nothing, which may take long for learned metrics. {{names}}: trained again. On another processor "
    "a training may differ in its last bits, and an error then moves by a few thousandths, on Splice by a few "
    "hundredths:"
)


def stored_lines(chart: Chart, epsilon: float, upto: float, confidence: float | None) -> str:
    """A script that reads the radii, prints the table at ε and writes the chart; it runs as it stands."""
    lines = [*(_FINDER if any(run.job is None for run in chart.runs) else []), "lines = []"]
    for run, pair, line in zip(chart.runs, chart.pairs, chart.lines, strict=True):
        values = {name: repr(getattr(line, name)) for name in ("label", "certificate", "attack", "place", "partial")}
        values |= {"certified": "found.lower", "empirical": "found.upper", "exact": "found.exact"}
        values |= {"wrong": "~found.radii.correct"}
        paper = {name: getattr(line, name) for name in ("paper_radii", "paper_certified", "paper_empirical")}
        values |= {name: f"np.array({array.tolist()})" for name, array in paper.items() if array is not None}
        lines += [
            f"found = {'join' if len(pair.evaluations) == 2 else 'alone'}(",
            *(f"    {_source(run, evaluation)}," for evaluation in pair.evaluations),
            ")",
            "line = RobustLine(",
            *(f"    {name}={value}," for name, value in values.items()),
            ")",
            "lines.append(line)",
        ]
    options = {"epsilon": epsilon, "upto": upto, "confidence": confidence, "norm": chart.norm}
    lines += [
        f"print(verdicts_table(lines, {epsilon!r}).to_string())",
        f"figure = curves_figure(lines{keywords(options)})",
        'figure.write_html("robust-error.html")',
    ]
    return script(lines)


def front_lines(chart: Chart, front: Front, epsilon: float) -> str:
    """A script that reads the certificates, keeps the rows that all of them have, and draws the front."""
    pairs = {run.key: pair for run, pair in zip(chart.runs, chart.pairs, strict=True)}
    lines = [*(_FINDER if any(found.run.job is None for found in front.runs) else []), "models = ["]
    for found in front.runs:
        certificate = pairs[found.run.key].certificate
        assert certificate is not None
        about = f"{found.label!r}, {found.size}, {found.target_radius!r}"
        lines.append(f"    ({_source(found.run, certificate)}.radii, {about}),")
    lines += [
        "]",
        "rows = set.intersection(*(set(radii.index) for radii, *_ in models))",
        "points = []",
        "for radii, *about in models:",
        "    shared = radii.take(np.isin(radii.index, list(rows)))",
        f"    points.append(front_point(shared, {epsilon!r}, *about))",
        "print(front_table(points).to_string())",
        f"figure = front_figure(points, epsilon={epsilon!r}, norm={chart.norm!r})",
        'figure.write_html("front.html")',
    ]
    return script(lines)


_FINDER = [
    "",
    "def result(wanted):",
    "    (found,) = [e for e in shipped() if all(attrgetter(name)(e) == value for name, value in wanted.items())]",
    "    return found",
    "",
    "",
]
_WANTED = (
    "dataset",
    "run.learner",
    "run.parameters",
    "run.seed",
    "spec.kind",
    "spec.method",
    "spec.n_neighbors",
    "planned",
)


def _source(run: Run, evaluation: Evaluation) -> str:
    if run.job is not None:
        return f"Client().evaluation({evaluation.made['job']!r})"
    wanted = ", ".join(f"{name!r}: {attrgetter(name)(evaluation)!r}" for name in _WANTED)
    return f"result({{{wanted}, 'spec.threat': {evaluation.spec.threat.python()}}})"


def computed_lines(chart: Chart, epsilon: float) -> str | None:
    """A script that evaluates every line of the chart anew; None for rows of a private file.

    A metric that ships is loaded, the others are trained: a training's last bits depend on the processor.
    """
    if chart.setting.part == "given":
        return None
    lines = dataset_lines(chart.pairs[0].evaluations[0].dataset, chart.setting.fingerprint)
    for run, pair in zip(chart.runs, chart.pairs, strict=True):
        specs = [_spec(evaluation, pair.n_points) for evaluation in pair.evaluations]
        errors = ", ".join(f"arml.robust_error({spec.side}, {epsilon!r})" for spec in specs)
        lines += [
            "",
            _model_line(run, pair),
            *specs[0].python_lines(pair.evaluations[0].run.role),
            *specs[0].points.python_lines(),
            *(f"{spec.side} = {spec.python()}.{spec.side}" for spec in specs),
            f"print({run.label!r}, {errors})",
        ]
    return script(lines)


def computed_words(chart: Chart) -> str:
    """What stands above those lines: which metrics they train again, and what that may change."""
    trained = [
        run.label
        for run, pair in zip(chart.runs, chart.pairs, strict=True)
        if run.learner not in ("euclidean", GIVEN) and _file(run, pair) is None
    ]
    return TRAINED.format(names=", ".join(trained)) if trained else FROM_FILES


def _file(run: Run, pair: EvaluationPair) -> Path | None:
    """The metric's file, if it ships."""
    return None if run.job is not None else metric_file(FOLDER, pair.evaluations[0])


def _model_line(run: Run, pair: EvaluationPair) -> str:
    """The line that calls the model `metric` or `references`."""
    path, first = _file(run, pair), pair.evaluations[0]
    if run.learner == GIVEN and run.job is not None:
        return f"{first.run.role} = Client().run({run.job.id!r})"
    if path is not None:
        return f"metric = {metric_of_file(path)}"
    return first.run.python_line(first.spec.points)


def _spec(made: Evaluation, n: int) -> EvaluationSpec:
    """What was asked for, of the first `n` points."""
    return replace(made.spec, points=replace(made.spec.points, n=n))
