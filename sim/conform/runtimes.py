"""Which runtimes are installed."""

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

__all__ = ["installed", "missing_packages"]

_LITE = {"ai_edge_litert": "ai-edge-litert", "flatbuffers": "flatbuffers"}
#: Modules that a runtime needs, and the packages they come with. The first package of a runtime is the runtime itself.
_PACKAGES = {
    "litert-ref": _LITE,
    "litert": _LITE,
    "litert-xnnpack": _LITE,
    "tflm": {"tflite_micro": "tflite-micro", **_LITE},
    "ort": {"onnxruntime": "onnxruntime", "onnx": "onnx"},
}


def missing_packages(runtime):
    """Packages that are missing to ask a runtime; empty where it can be asked."""
    return [package for module, package in _PACKAGES[runtime].items() if find_spec(module) is None]


def installed(runtime):
    """Package and version of an installed runtime, such as ``onnxruntime 1.22.0``."""
    package = next(iter(_PACKAGES[runtime].values()))
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
