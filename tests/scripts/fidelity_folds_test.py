#!/usr/bin/env python3
"""Tests of scripts/fidelity-folds with a program in the place of cclgym that records its command lines."""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'scripts/fidelity-folds'
ROWS = """# a comment
system,ranks,config,collective,size_bytes,time_us_median
ABCI-V100,4,c,allreduce,64,10
ABCI-V100,8,c,allreduce,64,10
ABCI-V100,128,c,allreduce,64,10
Azure-NDv4,8,nccl,allreduce,64,10
Azure-NDv4,8,nccl,allreduce,128,10
Azure-NDv4,8,msccl-x,allreduce,256,10
Azure-NDv4,8,nccl,allreduce,512,10
"""
FIT = {
    'errors': {
        'fitted': {'mean': 0.05},
        'held_out': {'cells': 4, 'mean': 0.125, 'median': 0.1, 'p90': 0.25, 'seen_by_start': 2},
    },
    'starts': {'objectives': [1.0, 1.5], 'best': 0, 'same_optimum': False, 'worst_gap': 0.5, 'largest_factor': 3.0,
               'parameter': 'kernel_launch', 'outside_interval': 1},
}


class FoldsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        (self.folder / 'm.csv').write_text(ROWS)
        (self.folder / 'fit.json').write_text(json.dumps(FIT))
        self.program = self.folder / 'cclgym'
        self.program.write_text(f'#!/bin/sh\necho "$@" >>{self.folder}/commands\n'
                                f'case "$*" in *"$FAILING"*) exit 1;; esac\ncat {self.folder}/fit.json\n')
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def run_script(self, *options, failing='none fails'):
        environment = {**os.environ, 'CCLGYM': str(self.program), 'FAILING': failing}
        return subprocess.run([sys.executable, str(SCRIPT), str(self.folder / 'm.csv'), '--folder',
                               str(self.folder / 'out'), *options], env=environment, capture_output=True, text=True)

    def commands(self):
        return (self.folder / 'commands').read_text().splitlines()

    def test_one_fold_for_each_number_of_ranks_or_for_sizes(self):
        ran = self.run_script('--starts', '2', '--evaluations', '50')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        held = [(line.split()[line.split().index('--system') + 1], line.split()[line.split().index('--hold-out') + 1])
                for line in self.commands()]
        self.assertEqual(held, [('ABCI-V100', 'ranks=4'), ('ABCI-V100', 'ranks=8'), ('ABCI-V100', 'ranks=128'),
                                ('Azure-NDv4', 'sizes=128B')])
        self.assertIn('--config nccl', self.commands()[3])
        lines = ran.stdout.splitlines()
        self.assertEqual(len(lines), 6)
        self.assertEqual(lines[2], '| ABCI-V100 | `a100-slingshot` | 4 ranks | 2 of 4 | 4 | 0.125 | 0.100 | 0.250 | 0.050 '
                                   '| 50 | 1 / 1.5 | **different** | 3.00 (kernel_launch) |')

    def test_an_interrupted_run_goes_on_with_the_folds_that_are_missing(self):
        first = self.run_script(failing='ranks=8')
        self.assertNotEqual(first.returncode, 0)
        self.assertIn('not fitted: ABCI-V100 without 8 ranks', first.stderr)
        before = len(self.commands())
        second = self.run_script()
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual([line for line in self.commands()[before:] if 'ranks=8' in line], self.commands()[before:])
        printed = self.run_script('--print')
        self.assertEqual(printed.stdout, second.stdout)
        # Other options make other fits.
        self.run_script('--evaluations', '60', '--system', 'Azure-NDv4')
        self.assertIn('--evaluations 60', self.commands()[-1])

    def test_rows_of_one_system_that_have_two_sets_are_fitted_apart(self):
        rows = ''.join(f'Polaris,{ranks},{config},allreduce,64,10\n' for config in ('envset1', 'envset3', 'envset5')
                       for ranks in (8, 32))
        (self.folder / 'm.csv').write_text(ROWS + rows)
        ran = self.run_script('--system', 'Polaris,Polaris-software')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        configs = [line.split()[line.split().index('--config') + 1] for line in self.commands()]
        self.assertEqual(configs, ['envset3', 'envset3', 'envset5', 'envset5'])
        self.assertEqual(len(list((self.folder / 'out').glob('*.json'))), 4)
        self.assertIn('| Polaris-software | `gh200` | 8 ranks |', ran.stdout)

    def test_limits(self):
        self.run_script('--system', 'ABCI-V100', '--max-ranks', '8')
        self.assertEqual(len(self.commands()), 2)
        wrong = self.run_script('--system', 'Alps')
        self.assertIn('has no rows of Alps; it has ABCI-V100, Azure-NDv4', wrong.stderr)
        self.assertEqual(wrong.returncode, 1)


if __name__ == '__main__':
    unittest.main()
