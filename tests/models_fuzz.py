"""Feed damaged model files to the front ends, in a process of its own with limited memory.

Run as a program it reads a pickled list of files, and answers one JSON line a mutant, so that `hunt`, which starts it,
notices a crash and a hang.
"""

import json
import os
import pickle
import resource
import select
import subprocess
import sys
import time

import numpy as np

__all__ = ["hunt", "mutate"]

GIB = 1 << 30
SECONDS = 10
_WORDS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, 1 << 20, 1 << 28)


def mutate(data, rng, others):
    """One damaged copy of ``data``: other bytes, bits or words, a cut, a splice from any of the files."""
    data = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        at = int(rng.integers(len(data)))
        match int(rng.integers(7)):
            case 0:
                for _ in range(int(rng.integers(1, 16))):
                    data[int(rng.integers(len(data)))] = int(rng.integers(256))
            case 1:
                data[at] ^= 1 << int(rng.integers(8))
            case 2:
                at &= ~3
                data[at : at + 4] = int(rng.choice(_WORDS)).to_bytes(4, "little")
            case 3:
                del data[max(at, 1) :]
            case 4:
                source = others[int(rng.integers(len(others)))]
                start, size = int(rng.integers(len(source))), int(rng.integers(1, 64))
                data[at : at + size] = source[start : start + size]
            case 5:
                data[at:at] = bytes(int(rng.integers(1, 9)))
            case 6:
                del data[at : at + int(rng.integers(1, 9))]
        if not data:
            return b"\0"
    return bytes(data)


def _mutant(files, number):
    rng = np.random.default_rng([20240607, number])
    return mutate(files[number % len(files)], rng, files)


def hunt(files, count, *, run=False, start=0):
    """Outcomes of ``count`` mutants of ``files``.

    Returns
    -------
    dict
        ``clean`` and ``accepted`` counts, ``bad`` (a list of texts: crash, hang, another exception), ``slowest`` in
        seconds, ``memory`` in bytes.
    """
    total = {"clean": 0, "accepted": 0, "bad": [], "slowest": 0.0, "memory": 0}
    number, end = start, start + count
    while number < end:
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, str(number), str(end), str(int(run))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        ) as worker:
            worker.stdin.write(pickle.dumps(files))
            worker.stdin.close()
            patience = 60
            while number < end:
                if not select.select([worker.stdout], [], [], patience)[0]:
                    total["bad"].append(f"mutant {number}: hangs")
                    worker.kill()
                    break
                line = worker.stdout.readline()
                if not line:
                    total["bad"].append(f"mutant {number}: the process died with {worker.wait()}")
                    break
                outcome, patience = json.loads(line), SECONDS
                if outcome["kind"] == "ready":
                    continue
                if outcome["kind"] == "bad":
                    total["bad"].append(f"mutant {number}: {outcome['text']}")
                else:
                    total[outcome["kind"]] += 1
                total["slowest"] = max(total["slowest"], outcome["seconds"])
                total["memory"] = max(total["memory"], outcome["memory"])
                number += 1
            else:
                continue
        number += 1
    return total


def _try(data, run):
    from plusb.gen.models import ModelError, open_model

    try:
        session = open_model(data)
        if run:
            session.check(session.random_inputs(0))
        return "accepted", ""
    except ModelError as error:
        return "clean", str(error)
    except BaseException as error:
        return "bad", f"{type(error).__name__}: {error}"


def _main(start, end, run):
    files = pickle.load(sys.stdin.buffer)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Some parsers print.
    for data in files:
        _try(data, run)
    resource.setrlimit(resource.RLIMIT_DATA, (GIB, GIB))
    print(json.dumps({"kind": "ready"}), file=answers, flush=True)
    for number in range(start, end):
        began = time.monotonic()
        kind, text = _try(_mutant(files, number), run)
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome = {"kind": kind, "text": text[:300], "seconds": time.monotonic() - began, "memory": memory}
        print(json.dumps(outcome), file=answers, flush=True)


if __name__ == "__main__":
    sys.path.pop(0)  # The tests' folder, whose names are not meant to be importable here.
    _main(int(sys.argv[1]), int(sys.argv[2]), bool(int(sys.argv[3])))
