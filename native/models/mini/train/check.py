#!/usr/bin/env python3
"""Every check of the training code that needs no GPU: npm run mini:check. Needs Python 3.11 or newer with the packages of
requirements.txt, and the built rota-model."""
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "../../../build/host/bin/rota-model")
# One thread: threads of one small step wait for each other by spinning, which on a busy machine takes ten times as long.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
NEEDED = ("numpy", "tokenizers", "torch")


def main():
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"{sys.executable}: no {', '.join(missing)}; pip install -r {os.path.relpath(os.path.join(HERE, 'requirements.txt'))}")
    if not os.path.exists(TOOL):
        sys.exit("rota-model is not built: npm run build")
    steps = (["text/dedup_test.py"], ["parity_test.py", TOOL], ["gguf_model_test.py", TOOL], ["acceptance_test.py"], ["drafting_test.py"], ["size_test.py"])
    for step in steps:
        print("--", step[0], flush=True)
        done = subprocess.run([sys.executable, os.path.join(HERE, step[0]), *step[1:]], env=ENVIRONMENT)
        if done.returncode != 0:
            sys.exit(f"{step[0]} failed")
    print(f"{len(steps)} passed, 0 failed")


if __name__ == "__main__":
    main()
