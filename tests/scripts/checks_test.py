"""Tests of scripts/build's lock, scripts/changed-files, and the table of scripts/steps.sh."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / 'scripts'


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / 'scripts').mkdir()

    def copy(self, name):
        shutil.copy(SCRIPTS / name, self.root / 'scripts' / name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


class Build(Folder):
    """A tree whose ninja and cmake only say what they do; ninja's build waits for somebody to open gate."""

    def setUp(self):
        super().setUp()
        self.copy('build')
        self.write('CMakePresets.json', '{}')
        self.write('bin/cmake', '#!/bin/bash\nmkdir -p build; touch build/build.ninja; echo "configured" >>said\n')
        self.write('bin/ninja', '#!/bin/bash\n[[ " $* " = *" -n "* ]] && exit 0\n'
                                'echo "begins ${@: -1}" >>said; cat gate; echo "ends ${@: -1}" >>said\n')
        os.mkfifo(self.root / 'gate')

    def start(self, target):
        environment = {**os.environ, 'PATH': f'{self.root / "bin"}:{os.environ["PATH"]}'}
        return subprocess.Popen(['bash', 'scripts/build', 'release', target], cwd=self.root, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def open_gate(self):
        """Lets one build end. It returns once that build has come to its gate."""
        (self.root / 'gate').write_text('')

    def test_the_second_build_waits_and_says_for_whom(self):
        first = self.start('one')
        for line in first.stdout:
            if line.startswith('Building'):
                break
        second = self.start('two')
        waiting = second.stdout.readline()
        self.assertEqual(waiting, f'Waiting for another build in build: process {first.pid}, '
                                  'scripts/build release one\n')
        self.open_gate()
        self.assertEqual(first.wait(), 0)
        self.open_gate()
        self.assertEqual(second.wait(), 0)
        first.stdout.close()
        second.stdout.close()
        self.assertEqual((self.root / 'said').read_text().split('\n')[:-1],
                         ['configured', 'begins one', 'ends one', 'begins two', 'ends two'])

    def wait_until_said(self, line):
        said = self.root / 'said'
        while not said.exists() or line not in said.read_text().split('\n'):
            time.sleep(0.01)

    def test_a_killed_build_has_the_lock_until_its_ninja_ends(self):
        first = self.start('one')
        self.wait_until_said('begins one')
        first.kill()
        first.wait()
        second = self.start('two')
        self.assertTrue(second.stdout.readline().startswith('Waiting for another build in build: '))
        self.open_gate()
        self.wait_until_said('begins two')
        self.open_gate()
        self.assertEqual(second.wait(), 0)
        first.stdout.close()
        second.stdout.close()
        self.assertEqual((self.root / 'said').read_text().split('\n')[:-1],
                         ['configured', 'begins one', 'ends one', 'begins two', 'ends two'])

    def test_an_unknown_preset_leaves_no_folder(self):
        ran = subprocess.run(['bash', 'scripts/build', 'relase'], cwd=self.root, stderr=subprocess.PIPE, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("found 'relase'; expected a preset", ran.stderr)
        self.assertFalse((self.root / 'build-relase').exists())


class ChangedFiles(Folder):
    def setUp(self):
        super().setUp()
        self.copy('changed-files')
        self.git('init', '-q', '-b', 'main')
        self.commit('first')
        self.commit('second')

    def git(self, *words, folder=None):
        identity = ['-c', 'user.name=n', '-c', 'user.email=e']
        return subprocess.run(['git', *identity, *words], cwd=folder or self.root, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def commit(self, name):
        self.write(name, name)
        self.git('add', '-A')
        self.git('commit', '-qm', name)

    def changed(self, folder=None):
        ran = subprocess.run(['bash', 'scripts/changed-files'], cwd=folder or self.root, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.assertEqual('no merge base' in ran.stderr, ran.returncode == 1)
        return ran.returncode, ran.stdout.split()

    def test_without_a_merge_base(self):
        self.assertEqual(self.changed(), (1, []))

    def test_since_the_branch_left_its_upstream(self):
        with tempfile.TemporaryDirectory() as other:
            self.git('clone', '-q', str(self.root), other + '/c')
            clone = pathlib.Path(other, 'c')
            (clone / 'third').write_text('3')
            self.git('add', '-A', folder=clone)
            self.git('commit', '-qm', 'third', folder=clone)
            (clone / 'fourth').write_text('4')
            (clone / 'first').write_text('changed')
            self.assertEqual(self.changed(clone), (0, ['first', 'fourth', 'third']))

    def test_commits_that_were_pushed_to_their_own_branch_count(self):
        with tempfile.TemporaryDirectory() as other:
            self.git('clone', '-q', str(self.root), other + '/c')
            clone = pathlib.Path(other, 'c')
            self.git('checkout', '-qb', 'work', folder=clone)
            (clone / 'third').write_text('3')
            self.git('add', '-A', folder=clone)
            self.git('commit', '-qm', 'third', folder=clone)
            self.git('push', '-qu', 'origin', 'work', folder=clone)
            (clone / 'f\u00fcnfte').write_text('5')
            self.assertEqual(self.changed(clone), (0, ['f\u00fcnfte', 'third']))

    def test_a_fresh_clone_of_a_merge(self):
        self.git('checkout', '-qb', 'work')
        self.commit('third')
        self.git('checkout', '-q', 'main')
        self.git('merge', '-q', '--no-ff', '-m', 'merge', 'work')
        self.commit('fourth')
        with tempfile.TemporaryDirectory() as other:
            self.git('clone', '-q', str(self.root), other + '/c')
            self.assertEqual(self.changed(pathlib.Path(other, 'c')), (0, ['fourth', 'third']))


class Steps(Folder):
    def run_steps(self, lines):
        self.copy('steps.sh')
        self.write('check', f'set -euo pipefail\nsource scripts/steps.sh\n{lines}')
        return subprocess.run(['bash', 'check'], cwd=self.root, stdout=subprocess.PIPE, text=True)

    def test_all_steps_are_in_the_table(self):
        ran = self.run_steps('step "a b" true\nstep c echo said\n')
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r'== a b\n== c\nsaid\n\nstep +min:s\na b +\d+:\d\d\nc +\d+:\d\d\nall +\d+:\d\d\n$')

    def test_a_step_that_is_interrupted_is_not_in_the_sum(self):
        ran = self.run_steps('step a true\nstep b bash -c \'kill -TERM $PPID\'\nstep c true\n')
        self.assertNotEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r'\na +\d+:\d\d\nb +-\nall +\d+:\d\d\nInterrupted: b\n$')

    def test_a_failure_ends_the_script(self):
        ran = self.run_steps('step a true\nstep b bash -c "exit 3"\nstep c true\n')
        self.assertEqual(ran.returncode, 3)
        self.assertTrue(ran.stdout.endswith('Failed: b\n'))
        self.assertNotIn('== c', ran.stdout)


if __name__ == '__main__':
    unittest.main()
