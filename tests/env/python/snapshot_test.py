"""Tests copies of environments with their state, render_mode "ansi", arguments, and draws under masks."""

import contextlib
import copy
import inspect
import io
import itertools
import pickle
import time
import types
import unittest
import unittest.mock

import numpy as np

import cclgym
import not_run
from cclgym import arguments, spaces
from conformance_test import same

TUNING = {"fabric": "ndv4", "actions": "stock-nccl", "episode": 5, "noise": "stragglers"}
CASES = [
    ("Counter-v0", {"target": 50}, []),
    ("CollectiveTuning-v0", TUNING, []),
    ("CollectiveTuning-v0", TUNING, [{"name": "TimeLimit", "max_steps": 3}, "RecordEpisodeStatistics",
                                     {"name": "FrameStack", "frames": 2}, "NormalizeObservation",
                                     "NormalizeReward"]),
]


def go_on(env, steps):
    """Results of steps with actions from the environment's own stream; episodes go on unseeded."""
    results = []
    for _ in range(steps):
        results.append(env.step(env.sample_legal_action()))
        if results[-1][2] or results[-1][3]:
            results.append(env.reset())
    return results


def vector_steps(envs, steps):
    return [envs.step(envs.sample_legal_action()) for _ in range(steps)]


class SnapshotTest(unittest.TestCase):
    def copies(self, env):
        return [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]

    def test_copies_go_on_with_the_same_bits(self):
        for name, options, wrappers in CASES:
            for flat in (True, False):
                for seed in (3, None):
                    with self.subTest(name=name, wrappers=wrappers, flat=flat, seed=seed):
                        env = cclgym.make(name, options, wrappers, flat=flat)
                        env.action_space.seed(1)
                        env.reset(seed=seed)
                        go_on(env, 8)
                        copies = self.copies(env)
                        twice = self.copies(copies[1])
                        expected = go_on(env, 12)
                        for other in copies + twice:
                            self.assertTrue(same(go_on(other, 12), expected))

    def test_copies_before_and_after_reset(self):
        env = cclgym.make("CollectiveTuning-v0", TUNING)
        for other in self.copies(env):
            with self.assertRaises(cclgym.ResetNeeded):
                other.step(0)
        expected = env.reset(seed=4, options={"regime": 1})
        for other in self.copies(env):
            self.assertTrue(same(other._results(), expected))

    def test_copies_are_independent(self):
        env = cclgym.make("CollectiveTuning-v0", TUNING, copy=False)
        observation, _ = env.reset(seed=4)
        before = observation.copy()
        for other in self.copies(env):
            go_on(other, 3)
        np.testing.assert_array_equal(observation, before)

    def test_the_history_begins_anew_with_a_seed(self):
        env = cclgym.make("Counter-v0", {"target": 10**6})
        env.reset(seed=1)
        for _ in range(1000):
            env.step(0)
        long = len(pickle.dumps(env))
        env.reset(seed=1)
        self.assertLess(len(pickle.dumps(env)) + 3000, long)

    def test_vectors(self):
        for mode in ("NextStep", "SameStep"):
            for workers in (0, 2):
                envs = cclgym.make_vec("CollectiveTuning-v0", 3, TUNING, workers=workers,
                                       autoreset_mode=mode)
                envs.single_action_space.seed(1)
                for seed in (7, None):
                    envs.reset(seed=seed)
                    vector_steps(envs, 7)
                    copies = self.copies(envs)
                    expected = vector_steps(envs, 9)
                    for other in copies:
                        self.assertTrue(same(vector_steps(other, 9), expected))


class RenderTest(unittest.TestCase):
    def test_ansi(self):
        env = cclgym.make("CollectiveTuning-v0", TUNING, render_mode="ansi")
        env.reset(seed=1)
        self.assertIn("no step since the last reset", env.render())
        action = env.sample_legal_action()
        reward, info = env.step(action)[1::3]
        line = env.render()
        self.assertIn(env.describe_action(action), line)
        self.assertIn(f"reward {reward:.6g}", line)
        self.assertIn(f"time_us {info['time_us']:.6g}", line)
        envs = cclgym.make_vec("Counter-v0", 2, render_mode="ansi")
        envs.reset(seed=1)
        envs.step([0, 3])
        self.assertEqual([line[:19] for line in envs.render()],
                         ["Counter-v0: [1 1]: ", "Counter-v0: [2 2]: "])
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'ansi'"):
            cclgym.make("Counter-v0", render_mode="anis")


class ArgumentsTest(unittest.TestCase):
    def test_make_and_make_vec_take_the_same(self):
        one = inspect.signature(cclgym.make).parameters
        vec = dict(inspect.signature(cclgym.make_vec).parameters)
        for name in ("num_envs", "workers", "autoreset_mode"):
            del vec[name]
        self.assertEqual(list(one), list(vec))
        for name, parameter in one.items():
            self.assertEqual(parameter.default, vec[name].default, name)

    def test_unknown_arguments(self):
        with self.assertRaisesRegex(TypeError, "make: unknown argument 'wraper'.*mean 'wrappers'"):
            cclgym.make("Counter-v0", wraper=[])
        with self.assertRaisesRegex(TypeError, "make_vec: unknown argument 'option'.*'options'"):
            cclgym.make_vec("Counter-v0", option={})
        with self.assertRaisesRegex(ValueError, "workers is -1"):
            cclgym.make_vec("Counter-v0", workers=-1)

    def test_errors_have_the_key(self):
        for make in (cclgym.make, cclgym.make_vec):
            with self.assertRaisesRegex(cclgym.UserError,
                                        r"^options\['fabric'\]\['name'\]: unknown fabric 'ndv44'"):
                make("CollectiveTuning-v0", options={"window": 3, "fabric": {"name": "ndv44"}})
            with self.assertRaisesRegex(cclgym.UserError, r"^wrappers\[0\].*'TimeLimit'"):
                make("Counter-v0", wrappers=["TimeLimits"])

    def test_path_at(self):
        text = '{"a": [1, {"b,[": "x]"}, [7, 8]], "c": {"d": 9}}'
        for sign, path in (("1", "['a'][0]"), ('"x]"', "['a'][1]['b,[']"), ("8", "['a'][2][1]"),
                           ("9", "['c']['d']")):
            self.assertEqual(arguments.path_at(text, text.index(sign) + 1), path)

    def test_long_calls_report_and_raise(self):
        said = io.StringIO()

        def wait():
            """Ends as soon as the report has been written."""
            while not said.getvalue():
                time.sleep(0.001)
            return 5

        looks = itertools.count()  # each look at the clock is a second after the one before
        clock = types.SimpleNamespace(monotonic=lambda: float(next(looks)))
        with contextlib.redirect_stderr(said), unittest.mock.patch.object(arguments, "time", clock), \
                unittest.mock.patch.object(arguments, "FIRST_REPORT_S", 0.01):
            self.assertEqual(arguments.call(wait, doing="waiting"), 5)
        self.assertTrue(said.getvalue().startswith("cclgym: waiting: 1 s\n"), said.getvalue())
        with self.assertRaises(ZeroDivisionError):
            arguments.call(lambda: 1 // 0, doing="dividing")


class DrawTest(unittest.TestCase):
    def test_draws_are_those_of_discrete(self):
        random = np.random.default_rng(1)
        for n in (1, 5, 64, 65, 1000):
            fast, slow = spaces.LegalDiscrete(n, start=3), spaces.Discrete(n, start=3)
            fast.seed(5), slow.seed(5)
            for _ in range(200):
                mask = (random.random(n) < random.random()).astype(np.int8)
                mask[random.integers(n)] = 1
                one, two = fast.sample(mask), slow.sample(mask)
                self.assertEqual((one, type(one)), (two, type(two)))
                self.assertEqual(mask[one - 3], 1)
            self.assertEqual(fast.sample(), slow.sample())
            self.assertEqual(fast, slow)
        with self.assertRaises((ValueError, AssertionError)):
            spaces.LegalDiscrete(2).sample(np.array([1, 2], np.int8))


if __name__ == "__main__":
    not_run.main()
