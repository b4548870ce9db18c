"""Runs a test of package cclgym with Gymnasium, and prints which Gymnasium it uses.

    run_test.py --venv FOLDER [--real | --none] TEST.py [NAME...]

It uses the first that it finds: Gymnasium in the virtual environment FOLDER (scripts/setup python
makes it), Gymnasium of the running Python, or stand_in/, which has the few names that the package
uses.
--real: skips the test if the real Gymnasium is missing (exit code 77).  --none: uses no Gymnasium.
With CI=true in the environment, the real Gymnasium is required, except with --none.
"""

import argparse
import os
import pathlib
import runpy
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent


def found_in(python):
    """Gymnasium's version for an interpreter that can load the extension module, or None."""
    if not os.access(python, os.X_OK):
        return None
    script = "import sys, gymnasium; print(sys.implementation.cache_tag, gymnasium.__version__)"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    tag, _, version = done.stdout.strip().partition(" ")
    return version if done.returncode == 0 and tag == sys.implementation.cache_tag else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--venv", required=True)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--none", action="store_true")
    parser.add_argument("test")
    parser.add_argument("arguments", nargs="*", help="arguments of unittest: names of tests")
    options = parser.parse_args()
    sys.argv = [options.test, *options.arguments]
    sys.path[0] = str(pathlib.Path(options.test).parent)
    if options.none:
        print("gymnasium: none")
        sys.modules["gymnasium"] = None  # makes every import of gymnasium fail
        runpy.run_path(options.test, run_name="__main__")
        return
    for python in (os.path.join(options.venv, "bin", "python3"), sys.executable):
        version = found_in(python)
        if version is not None:
            print(f"gymnasium {version} (real), {python}", flush=True)
            os.execv(python, [python, "-B", *sys.argv])
    print("gymnasium: Gymnasium is not installed; scripts/setup python installs it")
    if os.environ.get("CI") == "true":
        sys.exit("CI is true, so Gymnasium is required.")
    if options.real:  # the format that scripts/test collects
        print(f"not run: {pathlib.Path(options.test).stem} "
              "[needs Gymnasium, which is not installed (scripts/setup python)]")
        sys.exit(SKIPPED)
    print("gymnasium: stand-in")
    sys.path.insert(0, str(HERE / "stand_in"))
    runpy.run_path(options.test, run_name="__main__")


main()
