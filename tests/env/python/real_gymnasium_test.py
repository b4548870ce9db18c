"""Tests package cclgym with the real Gymnasium: with its environment checker and its wrappers, and
by comparison of its vectors of cclgym's environments with cclgym's own vectors."""

import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cclgym
import not_run

TUNING = "cclgym/CollectiveTuning-v0"
SMALL = {"fabric": "dgx1", "episode": 12}
SEVERAL = {**SMALL, "workload": {"name": "sweep", "sizes": "1KiB..64KiB x4",
                                 "collectives": ["allreduce", "allgather", "alltoall"]}}
COUNTER = "cclgym/Counter-v0"
# Wrappers that keep statistics over episodes are left out, because the checker requires equal
# results for equal seeds.
WRAPPERS = [
    [],
    [{"name": "TimeLimit", "max_steps": 3}],
    ["RecordEpisodeStatistics"],
    [{"name": "FrameStack", "frames": 3}],
]


class CheckerTest(unittest.TestCase):
    def check(self, env):
        """Asserts that check_env reports no error and no warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_env(env)
        self.assertEqual([str(one.message) for one in caught], [])

    def test_default_environment(self):
        """Checks the environment that gymnasium.make returns without options."""
        env = gymnasium.make(TUNING)
        self.assertIsInstance(env.action_space, gymnasium.spaces.Discrete)
        self.check(env.unwrapped)

    def test_flat(self):
        for wrappers in WRAPPERS:
            with self.subTest(wrappers=wrappers):
                self.check(gymnasium.make(TUNING, options=SMALL, wrappers=wrappers).unwrapped)

    def test_actions_drawn_without_a_mask(self):
        """The checker draws actions without a mask. With several collectives, or with one number
        per knob, not all actions are legal for all calls; option `illegal` replaces those."""
        for options in (SMALL, SEVERAL):
            for flat in (True, False):
                with self.subTest(options=options, flat=flat):
                    self.check(gymnasium.make(TUNING, options={**options, "illegal": "default"},
                                              flat=flat).unwrapped)

    def test_counter(self):
        """Checks with a distant target, because only actions that overshoot it are illegal."""
        for flat in (True, False):
            self.check(gymnasium.make(COUNTER, options={"target": 1000000}, flat=flat).unwrapped)


class MakeTest(unittest.TestCase):
    def test_episode_through_gymnasiums_wrappers(self):
        env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(TUNING, options=SEVERAL))
        env.action_space.seed(1)
        for _ in range(2):
            _, info = env.reset(seed=3)
            done = False
            while not done:
                action = env.action_space.sample(info["action_mask"])
                self.assertTrue(env.get_wrapper_attr("action_masks")()[action])
                _, _, terminated, truncated, info = env.step(action)
                done = terminated or truncated
            self.assertEqual(info["episode"]["l"], 12)
            env.reset()
            env.step(cclgym.sample_legal_action(env))
        with self.assertRaises(gymnasium.error.ResetNeeded):
            gymnasium.make(TUNING, options=SMALL).step(0)


def columns(infos, name):
    return np.asarray(infos[name], float), np.asarray(infos["_" + name], bool)


class VectorTest(unittest.TestCase):
    """Compares cclgym's vector with Gymnasium's, which defines the protocol."""

    def compare(self, name, options, mode, flat, wrappers):
        count = 3
        make = lambda: gymnasium.make(  # noqa: E731
            name, options=options, flat=flat, wrappers=wrappers, disable_env_checker=True)
        theirs = SyncVectorEnv([make] * count, autoreset_mode=mode)
        ours = gymnasium.make_vec(name, num_envs=count, options=options, flat=flat,
                                  wrappers=wrappers, autoreset_mode=mode)
        self.assertIsInstance(ours.unwrapped, cclgym.VectorEnvironment)
        self.assertEqual(ours.single_action_space, theirs.single_action_space)
        self.assertEqual(ours.action_space, theirs.action_space)
        self.assertEqual(ours.observation_space, theirs.observation_space)
        self.assertEqual(ours.metadata["autoreset_mode"], theirs.metadata["autoreset_mode"])
        a, b = ours.reset(seed=5), theirs.reset(seed=5)
        ends = infos = 0
        for _ in range(30):
            np.testing.assert_array_equal(a[0], b[0])
            self.assertEqual(a[0].dtype, b[0].dtype)
            if mode != AutoresetMode.DISABLED:
                infos += self.compare_infos(a[-1], b[-1], flat)
            action = cclgym.sample_legal_action(ours)
            self.assertIn(action, ours.action_space)
            a, b = ours.step(action), theirs.step(action)
            for i in (1, 2, 3):
                np.testing.assert_array_equal(a[i], b[i])
                self.assertEqual(a[i].dtype, b[i].dtype)
            ends += int((a[2] | a[3]).sum())
            if mode == AutoresetMode.SAME_STEP and (a[2] | a[3]).any():
                self.compare_final(a[-1], b[-1])
            if mode == AutoresetMode.DISABLED and (a[2] | a[3]).any():
                reset = {"reset_mask": a[2] | a[3]}
                # cclgym keeps infos of the other environments, which Gymnasium leaves out.
                a, b = ours.reset(options=dict(reset)), theirs.reset(options=dict(reset))
        self.assertGreater(ends, 0)
        self.assertTrue(infos > 0 or mode == AutoresetMode.DISABLED)

    def compare_infos(self, ours, theirs, flat):
        """Asserts that both have the same numbers for the same environments, and the same masks of
        flat actions. (For others, Gymnasium makes an array of objects.) Returns the number of
        names."""
        apart = {"final_obs", "_final_obs", "final_info", "_final_info"}
        if not flat:
            apart |= {"action_mask", "_action_mask"}
        self.assertEqual(ours.keys() - apart, theirs.keys() - apart)
        names = {key for key in ours if not key.startswith("_")} - apart
        for name in names:
            a, holds = columns(ours, name)
            b, also = columns(theirs, name)
            np.testing.assert_array_equal(holds, also, name)
            np.testing.assert_array_equal(a[holds], b[holds], name)
        return len(names)

    def compare_final(self, ours, theirs):
        np.testing.assert_array_equal(ours["_final_obs"], theirs["_final_obs"])
        for i in np.flatnonzero(ours["_final_obs"]):
            np.testing.assert_array_equal(ours["final_obs"][i], theirs["final_obs"][i])

    def test_like_gymnasiums_own(self):
        for mode in AutoresetMode:
            for flat in (True, False):
                with self.subTest(mode=mode, flat=flat):
                    self.compare(COUNTER, {"target": 8}, mode, flat, [])
                    self.compare(TUNING, {**SEVERAL, "episode": 7}, mode, flat, [])

    def test_wrappers_of_vectors(self):
        envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
            gymnasium.make_vec(TUNING, num_envs=3, options=SEVERAL))
        _, infos = envs.reset(seed=1)
        ended = False
        for _ in range(13):
            masks = infos["action_mask"]
            self.assertEqual(masks.shape, (3, envs.single_action_space.n))
            action = np.array([envs.single_action_space.sample(mask) for mask in masks])
            _, _, _, truncated, infos = envs.step(action)
            ended = ended or truncated.any()
            if truncated.any():
                self.assertEqual(infos["episode"]["l"].tolist(), [12] * 3)
        self.assertTrue(ended)


if __name__ == "__main__":
    not_run.main()
