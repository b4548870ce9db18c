#!/usr/bin/env python3
"""Tests tests/proof/record: the differences that it finds, and the files that it makes comparable."""

import contextlib
import importlib.machinery
import importlib.util
import io
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
TOOL = Path(__file__).with_name("record")
loader = importlib.machinery.SourceFileLoader("record", str(TOOL))
spec = importlib.util.spec_from_loader("record", loader)
record = importlib.util.module_from_spec(spec)
sys.modules["record"] = record
loader.exec_module(record)

HERE = {
    "compiler": "GNU 12",
    "build type": "Release",
    "system": "x86_64",
    "simgrid": "3.32.0",
    "libtorch": "1.13",
    "processor": "p",
}
LINES = {
    "simulate/cross/dgx1/ring/flow": record.hash_of(b"a"),
    "simulate/cross/dgx1/ring/simgrid": record.hash_of(b"b"),
    "training/export/csv": record.hash_of(b"c"),
    "errors/line/cclgym": record.hash_of(record.exit_text(2)),
}


def recording(lines=None, **changes):
    keys = {**HERE, **{key.replace("_", " "): value for key, value in changes.items()}}
    return record.Recording(dict(LINES if lines is None else lines), keys, True, {})


class Compare(unittest.TestCase):
    """Tests the command --compare as a process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("old", recording())

    def write(self, name, contents):
        text = contents if isinstance(contents, str) else contents.text()
        (self.folder / name).write_text(text, encoding="utf-8")

    def compare(self, *more):
        ended = subprocess.run(
            [sys.executable, TOOL, "--compare", "old", "new", *more],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr

    def test_equal(self):
        self.write("new", recording())
        self.assertEqual(self.compare(), (0, "4 lines, no difference\n", ""))

    def test_changed_line(self):
        self.write("new", recording({**LINES, "errors/line/cclgym": record.hash_of(record.exit_text(0))}))
        code, out, _ = self.compare()
        self.assertEqual(code, 1)
        self.assertEqual(
            out, "changed: errors/line/cclgym (was exit 2, is exit 0)\n1 of 4 lines differ\n"
        )

    def test_missing_line(self):
        lines = dict(LINES)
        was = lines.pop("training/export/csv")
        self.write("new", recording(lines))
        code, out, _ = self.compare()
        self.assertEqual(code, 1)
        self.assertEqual(out, f"missing: training/export/csv (was {was[:12]})\n1 of 4 lines differ\n")

    def test_extra_line(self):
        value = record.hash_of(b"more")
        self.write("new", recording({**LINES, "tuner/rows": value}))
        code, out, _ = self.compare()
        self.assertEqual(code, 1)
        self.assertEqual(out, f"extra: tuner/rows (is {value[:12]})\n1 of 5 lines differ\n")

    def test_every_difference(self):
        lines = {name: record.hash_of(name.encode()) for name in LINES}
        self.write("new", recording(lines))
        code, out, _ = self.compare()
        self.assertEqual((code, out.count("changed: ")), (1, 4))

    def test_one_part(self):
        self.write("new", recording({**LINES, "training/export/csv": record.hash_of(b"other")}))
        self.assertEqual(self.compare("--part", "simulate")[:2], (0, "2 lines, no difference\n"))
        self.assertEqual(self.compare("--part", "training")[0], 1)

    def test_another_platform_is_reported(self):
        self.write("new", recording(compiler="GNU 13"))
        self.assertEqual(
            self.compare()[:2],
            (0, "note: another compiler: was GNU 12, is GNU 13\n4 lines, no difference\n"),
        )

    def test_files_that_are_not_recordings(self):
        line = f"{record.hash_of(b'a')}  golden/a\n"
        for text in ("", "hello\n", record.TITLE + "\nhello\n", record.TITLE + "\n" + line + line):
            self.write("new", text)
            code, out, err = self.compare()
            self.assertEqual((code, out, err[:7]), (2, "", "error: "))
        (self.folder / "new").unlink()
        self.assertEqual(self.compare()[0], 2)


class Text(unittest.TestCase):
    def test_a_recording_comes_back(self):
        old = recording()
        old.left_out = {"training": "needs LibTorch: scripts/setup agents"}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "r"
            file.write_text(old.text(), encoding="utf-8")
            new = record.Recording.read(file)
        self.assertEqual(vars(new), vars(old))
        lines = [line for line in old.text().splitlines() if not line.startswith("#")]
        self.assertEqual(len(lines), 4)
        self.assertEqual([line[66:] for line in lines], sorted(LINES))


class Check(unittest.TestCase):
    """Tests which lines --check compares on another platform."""

    def check(self, here, new=None, one_in=1):
        """Returns the exit status, the printed text, and the parts that were recorded."""
        build = mock.Mock()
        build.platform.return_value = {**HERE, **here}
        made = []

        def make(_, parts, quick, share):
            self.assertTrue(quick)
            self.assertEqual(share, one_in)
            made.extend(parts)
            return recording(LINES if new is None else new, **here)

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(record, "make", make):
            file = Path(folder) / "r"
            file.write_text(recording().text(), encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = record.check(build, file, None, one_in)
        return status, out.getvalue(), made

    def test_same_platform(self):
        self.assertEqual(
            self.check({}), (0, "4 lines, no difference\n", ["simulate", "training", "errors"])
        )

    def test_other_compiler(self):
        status, out, made = self.check({"compiler": "Clang 20"})
        self.assertEqual((status, made), (0, ["errors"]))
        self.assertIn(
            "not run: proof: 2 lines of part simulate [recorded with another compiler: GNU 12; here Clang 20]\n",
            out,
        )
        self.assertIn("1 lines, no difference\n", out)

    def test_other_processor(self):
        status, out, made = self.check({"processor": "q"}, {**LINES, "training/export/csv": "0" * 64})
        self.assertEqual((status, made), (0, ["simulate", "errors"]))
        self.assertIn("3 lines, no difference\n", out)

    def test_other_simgrid(self):
        new = {**LINES, "simulate/cross/dgx1/ring/simgrid": "0" * 64}
        self.assertEqual(self.check({"simgrid": "4.0"}, new)[0], 0)
        new["simulate/cross/dgx1/ring/flow"] = "0" * 64
        self.assertEqual(self.check({"simgrid": "4.0"}, new)[0], 1)

    def test_nothing_to_compare(self):
        with mock.patch.object(record, "needs", lambda name: {"compiler"}):
            status, out, made = self.check({"compiler": "Clang 20"})
        self.assertEqual((status, made), (77, []))
        self.assertTrue(out.startswith("not run: proof: "))

    def test_sample(self):
        # A sample of one in a million has the parts only that are always whole.
        one = {"training/export/csv": LINES["training/export/csv"]}
        self.assertEqual(self.check({}, one, 10**6), (0, "1 lines, no difference\n", ["training"]))
        self.assertEqual(self.check({}, {**one, "training/more": "0" * 64}, 10**6)[0], 1)

    def test_differences(self):
        lines = dict(LINES)
        lines.pop("errors/line/cclgym")
        self.assertEqual(self.check({}, lines)[0], 1)
        self.assertEqual(self.check({}, {**LINES, "simulate/more": "0" * 64})[0], 1)


class Sample(unittest.TestCase):
    def test_share(self):
        names = [f"errors/line/cclgym {i}" for i in range(3000)]
        self.assertEqual([name for name in names if not record.in_sample(name, 1)], [])
        self.assertTrue(850 < sum(record.in_sample(name, 3) for name in names) < 1150)
        self.assertTrue(all(record.in_sample(f"golden/{i}", 10**6) for i in range(9)))

    def test_lines_of_an_experiment_are_together(self):
        for i in range(99):
            name = f"simulate/cross/fabric-{i}/ring/flow"
            taken = record.in_sample(name, 3)
            self.assertEqual(record.in_sample(f"{name}/allreduce", 3), taken)
            self.assertEqual(record.in_sample(f"{name}/alltoall", 3), taken)

    def test_only_the_sample_is_run(self):
        """The commands that the part errors runs are those of its lines in the sample."""
        build = mock.Mock(trains=True)
        build.listed.return_value = ["flow"]
        build.run.return_value = (2, b"", b"")
        made = []
        with tempfile.TemporaryDirectory() as folder:
            for one_in in (1, 5):
                build.run.reset_mock()
                recorder = record.Recorder(build, folder, True, lambda _: None, one_in)
                made.append(recorder.record("errors"))
                self.assertEqual(build.run.call_count, len(made[-1]))
        whole, sample = made
        self.assertEqual(sample, {n: v for n, v in whole.items() if record.in_sample(n, 5)})
        self.assertTrue(0 < len(sample) < len(whole) / 2)


class Comparable(unittest.TestCase):
    def test_columns(self):
        self.assertEqual(record.csv_without(b"a,cpu_s,b\n1,2,3\n", ["cpu_s"]), b"a,b\n1,3\n")
        with self.assertRaises(record.Fault):
            record.csv_without(b"a,b\n1,3\n", ["cpu_s"])

    def test_checkpoint(self):
        def checkpoint(seconds, weights, checksum):
            contents = struct.pack("<Q", 3) + b"abc" + struct.pack("<QQd", 1, 2, seconds) + weights
            return b"CCLGYMCK" + struct.pack("<IQ", 1, len(contents)) + contents + checksum

        one = record.checkpoint_without_times(checkpoint(0.5, b"weights", b"12345678"))
        self.assertEqual(one, record.checkpoint_without_times(checkpoint(0.7, b"weights", b"87654321")))
        self.assertNotEqual(one, record.checkpoint_without_times(checkpoint(0.5, b"weightS", b"12345678")))
        self.assertTrue(one.endswith(b"weights"))
        with self.assertRaises(record.Fault):
            record.checkpoint_without_times(b"CCLGYMCK" + struct.pack("<IQ", 3, 0))
        contents = struct.pack("<Q", 3) + b"abc" + struct.pack("<QQ", 1, 2) + b"weights" + bytes(8)
        head = b"CCLGYMCK" + struct.pack("<IQ", 2, len(contents))
        self.assertEqual(one, record.checkpoint_without_times(head + contents + b"12345678"))
        with self.assertRaises(record.Fault):
            record.checkpoint_without_times(head + contents[:-1] + b"\1" + b"12345678")

    def test_archive(self):
        def archive(folder, year, contents):
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as out:
                out.writestr(zipfile.ZipInfo(f"{folder}/data/0", (year, 1, 1, 0, 0, 0)), contents)
            return record.archive_contents(file.getvalue())

        self.assertEqual(archive("a", 2020, b"x"), archive("b", 2021, b"x"))
        self.assertNotEqual(archive("a", 2020, b"x"), archive("a", 2020, b"y"))

    def test_bad_inputs_name_their_file(self):
        for texts, ending, line in record.bad_inputs.FILES.values():
            self.assertIn(record.bad_inputs.FILE, line)
            self.assertTrue(texts and ending.startswith("."))


if __name__ == "__main__":
    unittest.main()
