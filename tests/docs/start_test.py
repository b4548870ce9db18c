"""Runs the steps of a page of docs/start in an empty folder, as its reader would.

    start_test.py PAGE PROGRAM PACKAGE      PACKAGE: folder of the Python package, or "none"

Blocks after a line "File `NAME`:" are written as files. Blocks marked sh are run in their order. Blocks
marked bash are shown only (installation, submission of jobs), and their syntax is checked. Pages that begin
with another page's cluster get the files of that page first.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

START = pathlib.Path(__file__).resolve().parents[2] / "docs" / "start"
BLOCK = re.compile(r"(?:^File `(?P<name>[^`]+)`:\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
# Stand-in for Slurm's srun: it loads the plugin that the environment names, as NCCL would.
SRUN = """#!/usr/bin/env python3
import ctypes, os, pathlib
assert os.environ["CCLGYM_POLICY"] and pathlib.Path(os.environ["CCLGYM_POLICY"]).stat().st_size > 0
plugin = ctypes.CDLL(os.environ["NCCL_TUNER_PLUGIN"])
print("tuner", all(hasattr(plugin, f"ncclTunerPlugin_v{version}") for version in (3, 4, 5)))
"""


def skip(reason):
    print(f"not run: start_test [{reason}]")
    sys.exit(77)


class Reader:
    """A reader of a page, with a folder of their own."""

    def __init__(self, folder, program, package):
        self.folder = pathlib.Path(folder)
        tools = self.folder / ".tools"
        tools.mkdir()
        (tools / "python3").symlink_to(sys.executable)
        (tools / "srun").write_text(SRUN)
        (tools / "srun").chmod(0o755)
        self.environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore",
                                PATH=f"{tools}:{pathlib.Path(program).parent}:{os.environ['PATH']}")
        if package != "none":
            self.environment["PYTHONPATH"] = package

    def bash(self, text, *options):
        done = subprocess.run(["bash", "-euo", "pipefail", *options, "-c", text], cwd=self.folder, text=True,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        print(f"$ {text.strip()}\n{done.stdout}", flush=True)
        if "cannot train" in done.stdout:
            skip("needs LibTorch, which this build is without (scripts/setup agents)")
        if done.returncode != 0:
            sys.exit(f"exit status {done.returncode}")
        return done.stdout

    def read(self, page, files_only=False):
        """Follows the page; returns the output of its steps."""
        text = (START / f"{page}.md").read_text()
        output = []
        for block in BLOCK.finditer(text):
            name, kind, content = block["name"], block["kind"], block["text"]
            if name:
                (self.folder / name).write_text(content)
            elif kind == "sh":
                if not files_only:
                    output.append(self.bash(content))
            elif kind != "bash":
                sys.exit(f"{page}.md: a block of kind '{kind}' that is neither a file nor a step")
            if kind == "bash":
                self.bash(content, "-n")
        return output


def your_cluster(reader):
    described, *_ = reader.read("your-cluster")
    assert "32 GPUs (A100) in 4 servers" in described, described
    folder = reader.folder
    assert len(list((folder / "plots").glob("*.svg"))) >= 4
    for page in ("results/my-sweep/report.html", "comparison/compare.html"):
        assert "</html>" in (folder / page).read_text()[-20:], page


def policy_in_python(reader):
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("numpy") is None:
        if os.environ.get("CI") == "true":
            sys.exit("CI is true, so PyTorch is required (scripts/setup training).")
        skip("needs PyTorch, which is not installed (scripts/setup training)")
    reader.read("your-cluster", files_only=True)
    output = reader.read("policy-in-python")
    random, default, trained, best = map(float, re.findall(r"-?\d+\.\d{3}", output[-1].splitlines()[-1]))
    assert random < default < trained <= best, (random, default, trained, best)


def plugin_in_a_job(reader):
    reader.read("your-cluster", files_only=True)
    *_, loaded = reader.read("plugin-in-a-job")
    assert loaded == "loaded\n"
    assert reader.bash("bash job.sh") == "tuner True\n"


page_name, program_path, package_folder = sys.argv[1:]
with tempfile.TemporaryDirectory() as temporary:
    globals()[page_name](Reader(temporary, program_path, package_folder))
