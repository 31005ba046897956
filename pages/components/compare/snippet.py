"""The Python lines that draw a chart again: from the stored radii, or from nothing but the dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arml_core.comparison import EvaluationPair
from arml_core.figures import RobustLine
from arml_core.jobs.spec import GIVEN
from arml_core.reproduce.result_files import metric_file
from arml_core.results import FOLDER, Evaluation
from arml_core.threat import ThreatModel

from .catalogue import Run
from .charts import Chart

COMPUTED = "And these compute its numbers"
FROM_FILES = f"{COMPUTED} from the datasets and the metrics that ship with the project:"
TRAINED = (
    f"{COMPUTED} from nothing, which may take long for learned metrics. {{names}}: trained again. On another processor "
    "a training may differ in its last bits, and an error then moves by a few thousandths, on Splice by a few "
    "hundredths:"
)


def stored_lines(chart: Chart, epsilon: float, upto: float, confidence: float | None) -> str:
    """A script that reads the radii, prints the table at ε and writes the chart; it runs as it stands."""
    evaluations = [e for pair in chart.pairs for e in pair.evaluations]
    from_store = any("job" in e.made and not _is_shipped(chart, e) for e in evaluations)
    from_files = any(_is_shipped(chart, e) for e in evaluations)
    return "\n".join(
        [
            *(["import numpy as np", ""] if any(line.paper_radii is not None for line in chart.lines) else []),
            *(["import arml_core as arml"] if from_files else []),
            "from arml_core.comparison import alone, join",
            "from arml_core.figures import RobustLine, curves_figure, verdicts_table",
            *(["from arml_core.jobs import Client"] if from_store else []),
            *(["from arml_core.results import shipped"] if from_files else []),
            "",
            *(_FINDER if from_files else []),
            *(["client = Client()", ""] if from_store else []),
            "lines = []",
            *(
                text
                for run, pair, line in zip(chart.runs, chart.pairs, chart.lines, strict=True)
                for text in _line(run, pair, line)
            ),
            f"print(verdicts_table(lines, {epsilon!r}).to_string())",
            f"figure = curves_figure(lines, epsilon={epsilon!r}, upto={upto!r}, confidence={confidence!r}, "
            f"norm={chart.norm!r})",
            'figure.write_html("robust-error.html")',
        ]
    )


_FINDER = [
    "def result(**wanted):",
    "    (found,) = [e for e in shipped() if all(getattr(e, name) == value for name, value in wanted.items())]",
    "    return found",
    "",
    "",
]


def _is_shipped(chart: Chart, evaluation: Evaluation) -> bool:
    return any(evaluation is known for run in chart.runs for known in run.evaluations)


def _line(run: Run, pair: EvaluationPair, line: RobustLine) -> list[str]:
    parts = [_source(run, evaluation) for evaluation in pair.evaluations]
    made = [f"found = {'join' if len(parts) == 2 else 'alone'}("]
    made += [f"    {part}," for part in parts]
    made += [")"]
    arguments = [repr(line.label), "found.lower", "found.upper", "exact=found.exact"]
    arguments += [f"certificate={line.certificate!r}", f"attack={line.attack!r}", f"place={line.place}"]
    arguments += ["wrong=~found.correct"]
    if line.partial:
        arguments.append("partial=True")
    for name in ("paper_radii", "paper_certified", "paper_empirical"):
        values = getattr(line, name)
        if values is not None:
            arguments.append(f"{name}=np.array({values.tolist()})")
    return [*made, "lines.append(", "    RobustLine(", *(f"        {a}," for a in arguments), "    )", ")"]


def _source(run: Run, evaluation: Evaluation) -> str:
    if run.job is not None:
        return f"client.evaluation({evaluation.made['job']!r})"
    wanted: dict[str, Any] = {
        "dataset": evaluation.dataset,
        "learner": evaluation.learner,
        "parameters": dict(evaluation.parameters),
        "seed": evaluation.seed,
        "kind": evaluation.kind,
        "method": evaluation.method,
        "n_neighbors": evaluation.n_neighbors,
        "planned": evaluation.planned,
    }
    told = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
    return f"result({told}, threat={_threat(evaluation.threat)})"


def _threat(threat: ThreatModel) -> str:
    given = {name: value for name, value in threat.arguments().items() if value is not None}
    if given.get("norm") == "l2":
        del given["norm"]
    return f"arml.ThreatModel({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def computed_lines(chart: Chart, epsilon: float) -> str | None:
    """A script that evaluates every line of the chart anew; None for rows of a private file.

    A metric that ships is loaded, the others are trained: a training's last bits depend on the processor.
    """
    if chart.setting.part == "given":
        return None
    from_store = any(run.learner == GIVEN for run in chart.runs) or not _name(chart)
    files = [_file(run, pair) for run, pair in zip(chart.runs, chart.pairs, strict=True)]
    return "\n".join(
        [
            *(["import numpy as np", ""] if chart.setting.part == "train" else []),
            "import arml_core as arml",
            *(["from arml_core.jobs import Client"] if from_store else []),
            "from arml_core.learners.registry import get_learner",
            *(["from arml_core.learners.storage import load_metric"] if any(files) else []),
            "",
            _data(chart),
            f"threat = {_threat(chart.setting.threat)}",
            "",
            *(
                text
                for run, pair in zip(chart.runs, chart.pairs, strict=True)
                for text in _computed(chart, run, pair, epsilon)
            ),
        ]
    )


def computed_words(chart: Chart) -> str:
    """What stands above those lines: which metrics they train again, and what that may change."""
    trained = [
        run.label
        for run, pair in zip(chart.runs, chart.pairs, strict=True)
        if run.learner not in ("euclidean", GIVEN) and _file(run, pair) is None
    ]
    return TRAINED.format(names=", ".join(trained)) if trained else FROM_FILES


def _file(run: Run, pair: EvaluationPair) -> Path | None:
    """The metric's file below the project's folder, if it ships."""
    found = None if run.job is not None else metric_file(FOLDER, pair.evaluations[0])
    return None if found is None else found.relative_to(FOLDER.parents[1])


def _name(chart: Chart) -> str:
    return next((e.dataset for pair in chart.pairs for e in pair.evaluations), "")


def _data(chart: Chart) -> str:
    name = _name(chart)
    return f"data = arml.load_dataset({name!r})" if name else f"data = Client().dataset({chart.setting.fingerprint!r})"


def _computed(chart: Chart, run: Run, pair: EvaluationPair, epsilon: float) -> list[str]:
    first = pair.evaluations[0]
    setting, n = chart.setting, pair.n_points
    rows = {
        "evaluation": f"X, y = data.evaluation({n})",
        "test": f"X, y = data.X_test[:{n}], data.y_test[:{n}]",
        "train": f"X, y = data.X_train[:{n}], data.y_train[:{n}]",
    }[setting.part]
    if run.learner == GIVEN and run.job is not None:
        metric = f"Client().run({run.job.id!r})"
    elif (path := _file(run, pair)) is not None:
        metric = f"load_metric({path.as_posix()!r}, data.n_features)"
    else:
        metric = f"get_learner({run.learner!r}).build({dict(first.parameters)!r}, random_state={first.seed})"
        metric += ".fit(data.X_train, data.y_train)"
    common = [*(["exclude=np.arange(len(X))"] if setting.part == "train" else []), "threat=threat"]
    labels = "y" if setting.labels else "None"
    lines = [
        f"# {run.label}",
        rows,
        f"metric = {metric}",
        f"knn = arml.MahalanobisKNN(n_neighbors={setting.n_neighbors}, metric=metric).fit(data.X_train, data.y_train)",
    ]
    printed = []
    if pair.certificate is not None:
        proof = pair.certificate
        options = [
            f"method={proof.method!r}",
            *common,
            *([f"budget={proof.budget!r}"] if proof.budget is not None else []),
        ]
        lines.append(f"proved = knn.certify(X, {labels}, {', '.join(options)})")
        printed.append(f"arml.robust_error(proved.lower, {epsilon!r})")
    if pair.attack is not None:
        hit = pair.attack
        options = [f"method={hit.method!r}", *common, f"random_state={hit.attack_seed}"]
        options += [f"{name}={value!r}" for name, value in hit.options.items()]
        lines.append(f"reached = knn.attack(X, {labels}, {', '.join(options)})")
        printed.append(f"arml.robust_error(reached.upper, {epsilon!r})")
    return [*lines, f"print({run.label!r}, {', '.join(printed)})", ""]
