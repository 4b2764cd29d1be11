"""``plusb passes``: what would fold into a model's weights and biases before the hardware, and why not the rest."""

from ..models import ModelError
from ..passes import examine
from .common import CommandError, print_json
from .terminal import table

__all__ = ["add_arguments", "execute"]


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument("model", metavar="MODEL", help="a .onnx (float or quantized) or .tflite (int8) file")
    parser.add_argument("--json", action="store_true", help="print the findings for a script")


def execute(arguments):
    """Examine the model and print the findings."""
    try:
        findings = examine(arguments.model)
    except ModelError as error:
        raise CommandError(str(error)) from error
    if arguments.json:
        print_json({"model": arguments.model, "findings": [finding.as_json() for finding in findings]})
        return 0
    if findings:
        table(
            ["pass", "folds", "where", "why"],
            [[f.rule, "yes" if f.folds else "no", f.where, f.why] for f in findings],
        )
        print()
    folds = sum(finding.folds for finding in findings)
    print(f"{folds} of {len(findings)} findings fold")
    return 0
