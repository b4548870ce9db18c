"""Tests package cclgym with Gymnasium installed, or with its stand-in (run_test.py)."""

import unittest

import gymnasium

import cclgym
import not_run
from cclgym import spaces


class GymnasiumTest(unittest.TestCase):
    def test_environments_are_gymnasiums(self):
        env = cclgym.make("Counter-v0")
        self.assertIsInstance(env, gymnasium.Env)
        self.assertIs(spaces.Box, gymnasium.spaces.Box)
        self.assertIsInstance(env.observation_space, gymnasium.spaces.Box)
        self.assertIsInstance(env.action_space, gymnasium.spaces.Discrete)
        self.assertIsInstance(cclgym.make("Counter-v0", flat=False).action_space,
                              gymnasium.spaces.MultiDiscrete)
        observation, info = env.reset(seed=1)
        self.assertIn(observation, env.observation_space)
        self.assertIn(env.action_space.sample(info["action_mask"]), env.action_space)

    def test_vectors_are_gymnasiums(self):
        envs = cclgym.make_vec("Counter-v0", 2)
        self.assertIsInstance(envs, gymnasium.vector.VectorEnv)
        self.assertIs(envs.metadata["autoreset_mode"], gymnasium.vector.AutoresetMode.NEXT_STEP)
        envs.close()
        self.assertTrue(envs.closed)

    def test_errors_are_gymnasiums(self):
        env = cclgym.make("Counter-v0")
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(0)
        env.reset(seed=1)
        with self.assertRaises(gymnasium.error.InvalidAction):
            env.step(4)

    def test_registered(self):
        for name in cclgym.environments():
            self.assertIn(f"cclgym/{name}", gymnasium.registry)
        env = gymnasium.make("cclgym/Counter-v0", options={"target": 4}).unwrapped
        self.assertIsInstance(env, cclgym.Environment)
        self.assertEqual(env.observation_space.high[1], 4)
        factored = gymnasium.make("cclgym/Counter-v0", flat=False).unwrapped
        self.assertIsInstance(factored.action_space, gymnasium.spaces.MultiDiscrete)
        envs = gymnasium.make_vec("cclgym/Counter-v0", num_envs=3)
        self.assertEqual(envs.num_envs, 3)


if __name__ == "__main__":
    not_run.main()
