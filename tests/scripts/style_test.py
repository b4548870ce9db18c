#!/usr/bin/env python3
"""Tests scripts/style: the texts that it reports and accepts, and that the project itself passes."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/style")


def faults(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        result = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True)
        return result.stdout


class Style(unittest.TestCase):
    def test_headless_openings(self):
        for opening in ("What a step does", "Of the ring", "Whom it sends to", "where it is"):
            self.assertIn("a.cpp:1:", faults("a.cpp", f"int a;  ///< {opening}\n"), opening)
            self.assertIn("a.cpp:1:", faults("a.cpp", f"/// {opening}\nint a;\n"), opening)

    def test_a_line_inside_a_comment_may_open_with_anything(self):
        self.assertEqual("", faults("a.cpp", "/// Names the number\n/// of steps.\nint a;\n"))

    def test_questions(self):
        self.assertIn("question", faults("a.hpp", "bool a;  ///< Does it run?\n"))
        self.assertEqual("", faults("a.hpp", "bool a;  ///< true if it runs\n"))

    def test_text_in_strings_is_no_comment(self):
        self.assertEqual("", faults("a.cpp", 'const char* a = "http:// What";\n'))

    def test_banned_phrases(self):
        self.assertIn("has no", faults("a.md", "The release has not that algorithm.\n"))
        self.assertIn("tuner", faults("a.cpp", "// Makes a chooser.\n"))

    def test_long_lines_of_docs(self):
        self.assertIn("121 characters", faults("a.md", "x" * 121 + "\n"))
        self.assertEqual("", faults("a.md", "x" * 120 + "\n"))
        self.assertEqual("", faults("a.md", "| " + "x" * 200 + " |\n"))

    def test_the_project_passes(self):
        result = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
        self.assertEqual("", result.stdout)


if __name__ == "__main__":
    unittest.main()
