"""Runs a file's tests, and prints a line for each skipped one, which scripts/test collects."""

import sys
import unittest


def main():
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"not run: {test} [{reason}]")
    sys.exit(not result.wasSuccessful())
