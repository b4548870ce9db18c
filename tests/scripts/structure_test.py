#!/usr/bin/env python3
"""Tests scripts/structure on small trees: it accepts a good one, and names the faults of others."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/structure")


class Structure(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return subprocess.run([sys.executable, SCRIPT, "--root", root], capture_output=True, text=True)

    def test_a_good_tree_passes(self):
        result = self.run_on({"core/a.hpp": "", "sim/x/b.hpp": '#include "core/a.hpp"\n',
                              "sim/c.cpp": '#include "sim/x/b.hpp"\n'})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("x 1", result.stdout)

    def test_an_upward_include_is_named(self):
        result = self.run_on({"core/a.hpp": '#include "sim/b.hpp"\n', "sim/b.hpp": ""})
        self.assertEqual(result.returncode, 1)
        self.assertIn("core/a.hpp: includes sim/b.hpp, which is not on a lower floor", result.stderr)

    def test_layers_of_one_floor_do_not_include_each_other(self):
        result = self.run_on({"deploy/a.hpp": '#include "topology_models/b.hpp"\n', "topology_models/b.hpp": ""})
        self.assertEqual(result.returncode, 1)

    def test_a_circle_of_rooms_is_named(self):
        result = self.run_on({"sim/x/a.hpp": '#include "sim/y/b.hpp"\n', "sim/y/b.hpp": "",
                              "sim/y/c.cpp": '#include "sim/x/a.hpp"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn("in a circle: sim/x, sim/y", result.stderr)

    def test_a_crowded_folder_is_named(self):
        result = self.run_on({f"core/a{i}.hpp": "" for i in range(26)})
        self.assertEqual(result.returncode, 1)
        self.assertIn("core: 26 sources", result.stderr)

    def test_an_unknown_include_is_named(self):
        result = self.run_on({"core/a.hpp": '#include "b.hpp"\n', "core/b.hpp": ""})
        self.assertEqual(result.returncode, 1)
        self.assertIn('core/a.hpp: #include "b.hpp" is not a file of the layers', result.stderr)


if __name__ == "__main__":
    unittest.main()
