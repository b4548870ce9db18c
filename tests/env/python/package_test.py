"""Tests the wheel: pip installs it into a new virtual environment without network, and the package works
there. Arguments: the build tree."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = """
import pathlib, cclgym, importlib.metadata, importlib.resources
assert cclgym.__version__ == importlib.metadata.version("cclgym"), cclgym.__version__
assert pathlib.Path(cclgym.__file__).is_relative_to({prefix!r}), cclgym.__file__
assert importlib.resources.files("cclgym").joinpath("py.typed").is_file()
env = cclgym.make("CollectiveTuning-v0", {{"fabric": "ndv4", "actions": "stock-nccl"}})
env.reset(seed=1)
env.step(env.sample_legal_action())
print("works", cclgym.__version__)
"""


def run(*command):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PIP_NO_INDEX"] = "1"
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment,
                          cwd=tempfile.gettempdir())
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(python, prefix):
    assert "works" in run(python, "-c", SCRIPT.format(prefix=prefix))


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        # --system-site-packages: for numpy.
        probe = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", f"{folder}/v"],
                               capture_output=True, check=False)
        if probe.returncode != 0:
            print("not run: package_test [needs python3-venv, which is not installed "
                  "(scripts/setup python)]")
            sys.exit(77)
        python = f"{folder}/v/bin/python3"
        wheel, = run(sys.executable, ROOT / "scripts/wheel", "--out", f"{folder}/d", "--build",
                     build).split()
        again, = run(sys.executable, ROOT / "scripts/wheel", "--out", f"{folder}/e", "--build",
                     build).split()
        assert pathlib.Path(wheel).read_bytes() == pathlib.Path(again).read_bytes()
        run(python, "-m", "pip", "install", "--disable-pip-version-check", wheel)
        check(python, f"{folder}/v")
        run(python, "-m", "pip", "uninstall", "-y", "cclgym")
        run(python, "-m", "pip", "install", "--disable-pip-version-check", ROOT,
            "--config-settings", f"build={build}")
        check(python, f"{folder}/v")


main()
