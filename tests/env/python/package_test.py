"""Tests an installation in a new virtual environment without the system's packages: the package works there, trains,
and has the program.

    package_test.py wheel | source

wheel: that of scripts/wheel, for whose files the system's libraries are only those of the manylinux standard.
source: `pip install .`, with an environment of the build. Both build all sources, in build-wheel-portable/ and
build-wheel/. They need pip's index."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Of the system, only these may be needed: glibc, and what the manylinux standard (PEP 600) counts in with it.
SYSTEM = re.compile(r"(ld-linux-x86-64|linux-vdso|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libz)\.so")
SCRIPT = """
import importlib.metadata, importlib.resources, pathlib, sys
import cclgym

assert cclgym.__version__ == importlib.metadata.version("cclgym"), cclgym.__version__
assert pathlib.Path(cclgym.__file__).is_relative_to(sys.prefix), cclgym.__file__
assert importlib.resources.files("cclgym").joinpath("py.typed").is_file()
assert cclgym.simulate("ring", "allreduce", "ring", "1MiB", engine="simgrid").time_s > 0
made = cclgym.synthesize(cclgym.Fabric("ring", gpus=4), "allgather", no_sweep=True, time_limit=5)
assert made.programs, made.notes
print("works")
"""
TRAINING = """
name: tiny
train:
  - options: {fabric: {name: ring, gpus: 4}, actions: stock-nccl, episode: 8,
              workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}}
warm_start: {iterations: 1}
ppo: {iterations: 1, environments: 2, steps: 16, sequence: 4}
seeds: [1]
"""


def run(*command, fails=False):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PYTHON", "LD_"))}
    environment.update(CC="cc", CXX="c++")  # as in scripts/build, for ccache
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment,
                          cwd=tempfile.gettempdir())
    if (done.returncode != 0) != fails:
        sys.exit(f"ended with {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def skip_without_index(python):
    done = subprocess.run([python, "-m", "pip", "download", "--no-deps", "-q", "-d", tempfile.gettempdir(),
                           "pybind11==3.1.0"], capture_output=True, check=False)
    if done.returncode == 0:
        return
    if os.environ.get("CI") == "true":
        sys.exit("CI is true, so pip's index is required.")
    print("not run: package_test [needs pip's index, which cannot be reached]")
    sys.exit(77)


def check_libraries(folder):
    """Every program and library of the package finds what it needs in the folder, and otherwise needs SYSTEM only."""
    files = [path for path in folder.glob("cclgym*/**/*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(files) > 10, files
    for path in files:
        for line in run("ldd", path).splitlines():
            name = line.split()[0]
            found = re.search(r"=> (\S+)", line)
            inside = found and pathlib.Path(found[1]).is_relative_to(folder)
            assert inside or SYSTEM.match(pathlib.Path(name).name), f"{path}: {line}"


def main():
    kind = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        made = subprocess.run([sys.executable, "-m", "venv", folder / "v"], capture_output=True, check=False)
        if made.returncode != 0:
            print("not run: package_test [needs python3-venv, which is not installed (scripts/setup python)]")
            sys.exit(77)
        python = folder / "v/bin/python3"
        skip_without_index(python)
        if kind == "wheel":
            wheel = run(ROOT / "scripts/wheel", "--out", folder / "d", "--python", sys.executable).split()[-1]
            assert re.search(r"-cp3\d+-cp3\d+-manylinux_\w+\.whl$", wheel), wheel
            run(python, "-m", "pip", "install", wheel)
        else:
            run(python, "-m", "pip", "install", ROOT)
        assert "works" in run(python, "-c", SCRIPT)
        first, last = map(float, re.findall(r"-?\d+\.\d{3}", run(
            python, ROOT / "docs/examples/training/numpy_policy.py", "300")))
        assert last > first + 0.2, (first, last)
        assert "cclgym" in run(folder / "v/bin/cclgym", "--version")
        (folder / "tiny.yaml").write_text(TRAINING)
        train = f"import cclgym; print(cclgym.train({str(folder / 'tiny.yaml')!r}, {str(folder / 'out')!r}))"
        if kind == "wheel":
            [package] = (folder / "v/lib").glob("python3*/site-packages")
            check_libraries(package)
            assert "UserError: cannot train" in run(python, "-c", train, fails=True)
        elif list((package := folder / "v/lib").rglob("cclgym-train")):
            assert "1 agents, 2 iterations" in run(python, "-c", train), package


main()
