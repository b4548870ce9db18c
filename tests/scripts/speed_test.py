#!/usr/bin/env python3
"""Tests scripts/speed on programs that only pretend to measure."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'scripts/speed'
ENGINES = '''#!/bin/sh
echo "flow       512 ranks unfolded  first run  0.0591 s (graph 0.04), second run  0.0021 s =   4.0 ns per flow,   %s MB above base"
echo "flow     8 ranks, unfolded                     2950728.6 collectives/s     %s ns per flow (rounds 3.0 .. 3.2)"
echo "simgrid  8 ranks, unfolded                        1000.0 collectives/s   900.0 ns per flow (rounds 3.0 .. 3.2)"
'''


def build_directory(folder, megabytes, nanoseconds):
    """A build directory with a cclgym that does nothing and a bench_engines that prints these figures."""
    bench = pathlib.Path(folder, 'tests/bench')
    bench.mkdir(parents=True)
    for path, text in ((bench / 'bench_engines', ENGINES % (megabytes, nanoseconds)),
                       (pathlib.Path(folder, 'cclgym'), '#!/bin/sh\nexit 0\n')):
        path.write_text(text)
        path.chmod(0o755)
    return folder


def speed(*arguments):
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ})


class Speed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.now = build_directory(f'{self.folder.name}/now', 20.9, 3.0)

    def records(self, *arguments):
        path = pathlib.Path(self.folder.name, 'speed.json')
        ran = speed('--build', self.now, '--rounds', '2', '--json', str(path), *arguments)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(path.read_text()), ran.stdout

    def test_figures_are_compared_with_goals_and_with_an_earlier_version(self):
        before = build_directory(f'{self.folder.name}/before', 50.8, 25.0)
        records, table = self.records('--before', before, '--only', 'uncontended,memory of')
        by_row = {one['row']: one for one in records}
        flows = by_row['flows, 8 ranks, uncontended']
        self.assertEqual((flows['now'], flows['before'], flows['met']), (3.0, 25.0, 'yes'))
        self.assertAlmostEqual(flows['times_as_fast'], 25 / 3)
        memory = by_row['memory of engine flow per node, unfolded']
        self.assertAlmostEqual(memory['now'], 20.9e6 / (2 * 512 * 511))
        self.assertEqual(memory['met'], 'yes')
        self.assertIn('8.33x', table)

    def test_what_cannot_be_measured_says_why(self):
        records, table = self.records('--only', 'compare,8 channels on a link')
        self.assertTrue(all(one['now'] is None and one['met'] == '' for one in records))
        self.assertIn('not run: needs --measured', table)
        self.assertIn('not run: bench_engines has no case 64 ranks, 8 channels, jittered', table)

    def test_wrong_options_are_refused(self):
        ran = speed('--build', self.folder.name)
        self.assertEqual(ran.returncode, 1)
        self.assertIn('has no program cclgym', ran.stderr)
        ran = speed('--build', self.now, '--only', 'nonsense')
        self.assertIn('no row contains nonsense; the rows are: flows, 64 ranks', ran.stderr)


if __name__ == '__main__':
    unittest.main()
