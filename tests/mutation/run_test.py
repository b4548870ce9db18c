#!/usr/bin/env python3
"""Tests of tests/mutation/run: outdated lists, reports, and mutations."""

import contextlib
import importlib.machinery
import importlib.util
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("run", str(Path(__file__).with_name("run")))
spec = importlib.util.spec_from_loader("run", loader)
run = importlib.util.module_from_spec(spec)
sys.modules["run"] = run
loader.exec_module(run)


def mutation(**changes):
    entry = {
        "name": "m",
        "what": "a fault",
        "file": "a.cpp",
        "text": "x + 1",
        "replacement": "x - 1",
        "program": "p",
        "tests": ("first, of all", "second"),
    }
    return run.Mutation(**{**entry, **changes})


PASSED = '<testsuites><testsuite tests="4"><testcase name="first, of all"/></testsuite></testsuites>'
FAILED = (
    '<testsuites><testsuite tests="4"><testcase name="first, of all"/>'
    '<testcase name="second/a section"><failure/></testcase></testsuite></testsuites>'
)
EMPTY = '<testsuites><testsuite tests="0"><testcase name="second"/></testsuite></testsuites>'


class FakeTree(run.Tree):
    """A tree whose build and tests return prepared results."""

    def __init__(self, folder, trouble="", outcome=None):
        super().__init__(folder, "release", [], 1)
        self.trouble = trouble
        self.outcome = outcome
        self.seen = None

    def build(self, programs):
        self.seen = (self.folder / "a.cpp").read_text()
        if isinstance(self.trouble, BaseException):
            raise self.trouble
        return self.trouble

    def run(self, program, tests, timeout_s=None):
        return self.outcome


class Mutations(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)
        (self.folder / "a.cpp").write_text("return x + 1;\n")
        (self.folder / "tests").mkdir()
        (self.folder / "tests/a_test.cpp").write_text(
            'TEST_CASE("first, of all") {}\nTEST_CASE(\n    "sec"\n    "ond", "[tag]") {}\n'
        )
        (self.folder / "docs").mkdir()

    def faults(self, **changes):
        return run.faults_of([mutation(**changes)], self.folder)

    def test_lists_out_of_date(self):
        self.assertEqual(self.faults(), [])
        self.assertIn("0 times", self.faults(text="x + 2")[0])
        (self.folder / "a.cpp").write_text("x + 1; x + 1;")
        self.assertIn("2 times", self.faults()[0])
        self.assertIn("does not exist", self.faults(file="b.cpp")[0])
        self.assertIn("no test case 'third' exists", self.faults(text="x", tests=("third",))[-1])
        self.assertIn("changes nothing", self.faults(replacement="x + 1")[-1])
        two = run.faults_of([mutation(), mutation()], self.folder)
        self.assertTrue(any("two mutations have this name" in fault for fault in two))

    def test_pages_out_of_date(self):
        page = self.folder / run.PAGE
        page.write_text("text\n" + run.BEGIN + run.END + "\n")
        self.assertNotEqual(run.page_faults([mutation()], self.folder), [])
        run.write_page([mutation()], {"m": ("second",)}, self.folder)
        self.assertEqual(run.page_faults([mutation()], self.folder), [])
        self.assertNotEqual(run.page_faults([mutation(what="another")], self.folder), [])
        self.assertNotEqual(run.page_faults([mutation(tests=("first, of all",))], self.folder), [])
        self.assertNotEqual(run.page_faults([mutation(), mutation(name="n")], self.folder), [])

    def test_reports(self):
        self.assertEqual(run.outcome_of(PASSED, 0), run.Outcome(True, 4))
        self.assertEqual(run.outcome_of(FAILED, 1), run.Outcome(False, 4, ("second/a section",)))
        self.assertEqual(run.outcome_of(EMPTY, 0).assertions, 0)
        self.assertFalse(run.outcome_of("", -11).passed)
        self.assertFalse(run.outcome_of(PASSED, 3).passed)
        self.assertEqual(run.selection(("a, b", "c[d]")), r"a\, b,c\[d\]")

    def test_verdicts(self):
        def verdict(**told):
            tree = FakeTree(self.folder, **told)
            result = run.judge(tree, mutation(), 1)
            self.assertEqual(tree.seen, "return x - 1;\n")
            self.assertEqual((self.folder / "a.cpp").read_text(), "return x + 1;\n")
            return result

        killed = verdict(outcome=run.outcome_of(FAILED, 1))
        self.assertEqual(killed, (True, "killed: second", ("second",)))
        self.assertEqual(verdict(outcome=run.outcome_of(PASSED, 0))[:2], (False, "SURVIVED"))
        self.assertTrue(verdict(trouble="error: …")[1].startswith("DID NOT BUILD"))
        self.assertTrue(verdict(outcome=run.outcome_of("", -6))[0])

    def test_sources_are_restored_after_ctrl_c(self):
        with self.assertRaises(KeyboardInterrupt):
            run.judge(FakeTree(self.folder, trouble=KeyboardInterrupt()), mutation(), 1)
        self.assertEqual((self.folder / "a.cpp").read_text(), "return x + 1;\n")

    def test_nothing_can_be_committed_meanwhile(self):
        def git(*words):
            who = ["-c", "user.name=t", "-c", "user.email=t@t"]
            done = subprocess.run(["git", *who, *words], cwd=self.folder, capture_output=True)
            return done.returncode == 0

        self.assertTrue(git("init") and git("add", ".") and git("commit", "-m", "one"))
        with self.assertRaises(KeyboardInterrupt):
            with run.no_commits(self.folder):
                (self.folder / "a.cpp").write_text("return x - 1;\n")
                self.assertFalse(git("commit", "-am", "two"))
                with self.assertRaises(run.Fault), run.no_commits(self.folder):
                    pass
                raise KeyboardInterrupt
        self.assertTrue(git("commit", "-am", "two"))

    def test_tests_that_fail_or_check_nothing_without_a_mutation(self):
        for report, status in ((FAILED, 1), (EMPTY, 0), (PASSED, 0)):
            tree = FakeTree(self.folder, outcome=run.outcome_of(report, status))
            trouble, _ = run.run_without(tree, [mutation()])["m"]
            self.assertEqual(trouble == "", report == PASSED)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self.assertEqual(run.run_all(tree, [mutation()]), {})
            self.assertIn("0 of 1 killed", printed.getvalue())
            self.assertEqual("SURVIVED" in printed.getvalue(), report == PASSED)


if __name__ == "__main__":
    unittest.main()
