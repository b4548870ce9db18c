"""Checks that package cclgym conforms to Gymnasium's API, like
gymnasium.utils.env_checker.check_env, but without Gymnasium. real_gymnasium_test.py runs Gymnasium's
own checks.
"""

import inspect
import unittest

import numpy as np

import cclgym
import not_run
from cclgym import spaces
from cclgym.vector import AutoresetMode

OWN_SPACES = spaces.Box.__module__ == "cclgym.spaces"

# Options for environments that are slow with their defaults.
OPTIONS = {"CollectiveTuning-v0": {"fabric": "dgx1", "episode": 12}}

WRAPPERS = [
    [],
    [{"name": "TimeLimit", "max_steps": 3}],
    ["RecordEpisodeStatistics"],
    ["NormalizeObservation"],
    ["NormalizeReward"],
    [{"name": "FrameStack", "frames": 3}],
    [{"name": "TimeLimit", "max_steps": 5}, "RecordEpisodeStatistics",
     {"name": "FrameStack", "frames": 2}, "NormalizeObservation", "NormalizeReward"],
]


def counter(*arguments, **more):
    """Counter-v0 with one action per dimension."""
    return cclgym.make("Counter-v0", *arguments, flat=False, **more)


def counters(count, **more):
    return cclgym.make_vec("Counter-v0", count, flat=False, **more)


def same(a, b):
    """True if two values have the same bits and types, recursively."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, a, b))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a == b


def legal_action(env, random):
    """Draws an action under conditional masks: it is legal even if knobs depend on each other."""
    action = []
    nvec = np.atleast_1d(getattr(env.action_space, "nvec", getattr(env.action_space, "n", None)))
    starts = np.broadcast_to(getattr(env.action_space, "start", 0), nvec.shape)
    for n, start in zip(nvec, starts):
        mask = env.conditional_mask(action)
        assert mask.shape == (n,) and mask.dtype == np.int8 and mask.any()
        action.append(int(start + random.choice(np.flatnonzero(mask))))
    return np.array(action) if env.action_space.shape else action[0]


def trajectory(env, seed, steps):
    random = np.random.default_rng(seed)
    results = [env.reset(seed=seed)]
    for _ in range(steps):
        action = legal_action(env, random)
        results.append(env.step(action))
        if results[-1][2] or results[-1][3]:
            results.append(env.reset())
    return results


class EnvironmentTest(unittest.TestCase):
    def each(self):
        for name in cclgym.environments():
            for wrappers in WRAPPERS:
                for flat in (True, False) if wrappers in (WRAPPERS[0], WRAPPERS[-1]) else (True,):
                    with self.subTest(name=name, wrappers=wrappers, flat=flat):
                        yield lambda **more: cclgym.make(name, OPTIONS.get(name), wrappers,
                                                         flat=flat, **more)

    def check_observation(self, env, observation):
        space = env.observation_space
        self.assertIn(observation, space)
        if isinstance(space, spaces.Box):
            self.assertIsInstance(observation, np.ndarray)
            self.assertEqual(observation.dtype, space.dtype)

    def check_info(self, env, info):
        self.assertIsInstance(info, dict)
        if "action_mask" in info:
            for _ in range(5):
                self.assertIn(env.action_space.sample(info["action_mask"]), env.action_space)

    def test_api(self):
        for make in self.each():
            env = make()
            self.assertIs(env.unwrapped, env)
            self.assertIsNone(env.render_mode)
            self.assertEqual(env.metadata["render_modes"], ["ansi", "rgb_array"])
            parameters = inspect.signature(env.reset).parameters
            self.assertIsNone(parameters["seed"].default)
            self.assertIsNone(parameters["options"].default)
            self.assertNotIn("return_info", parameters)
            self.assertFalse(hasattr(env, "seed"))

            result = env.reset()
            self.assertIsInstance(result, tuple)
            self.assertEqual(len(result), 2)
            self.check_observation(env, result[0])
            self.check_info(env, result[1])
            self.check_observation(env, env.reset(seed=123)[0])
            self.assertIsNotNone(env.unwrapped._np_random)
            state = env.unwrapped._np_random.bit_generator.state
            env.reset(seed=123)
            self.assertEqual(env.unwrapped._np_random.bit_generator.state, state)
            env.reset(seed=456)
            self.assertNotEqual(env.unwrapped._np_random.bit_generator.state, state)
            env.reset(options={})
            self.assertIsNone(env.render())

            random = np.random.default_rng(1)
            for _ in range(40):
                action = legal_action(env, random)
                self.assertIn(action, env.action_space)
                result = env.step(action)
                self.assertIsInstance(result, tuple)
                observation, reward, terminated, truncated, info = result
                self.check_observation(env, observation)
                self.assertIsInstance(reward, float)
                self.assertTrue(np.isfinite(reward))
                self.assertIsInstance(terminated, bool)
                self.assertIsInstance(truncated, bool)
                self.check_info(env, info)
                if terminated or truncated:
                    with self.assertRaises(cclgym.ResetNeeded):
                        env.step(action)
                    env.reset()
            env.close()
            env.close()

    def test_same_seed_and_actions_same_bits(self):
        for make in self.each():
            one = trajectory(make(), 7, 30)
            two = trajectory(make(), 7, 30)
            self.assertTrue(same(one, two))
            views = make(copy=False)
            self.assertTrue(same(one[0], views.reset(seed=7)))

    def test_results_are_copies_or_views(self):
        env = counter()
        first, info = env.reset(seed=1)
        before = first.copy()
        env.step([1, 1])
        self.assertTrue(np.array_equal(first, before))
        self.assertEqual(info["steps"], 0)
        env = counter(copy=False)
        first, _ = env.reset(seed=1)
        second = env.step([1, 1])[0]
        self.assertTrue(np.shares_memory(first, second))

    def test_counter(self):
        env = counter(options={"target": 7})
        observation, info = env.reset(options={"start": 4})
        self.assertEqual(observation.tolist(), [np.float32(4 / 7), 3])
        self.assertEqual(info["count"], 4)
        self.assertEqual([mask.tolist() for mask in info["action_mask"]], [[1, 1], [1, 1]])
        self.assertEqual(env.conditional_mask([2]).tolist(), [1, 0])
        self.assertEqual(env.action_masks().tolist(), [True] * 4)
        self.assertEqual(str(env.action_space), "MultiDiscrete([2 2], start=[1 1])")
        observation, reward, terminated, truncated, info = env.step(np.array([1, 2]))
        self.assertEqual((reward, terminated, truncated), (-1.0, False, False))
        self.assertEqual([mask.tolist() for mask in info["action_mask"]], [[1, 0], [1, 0]])
        self.assertTrue(env.step((1, 1))[2])

    def test_nested_info(self):
        env = counter({"target": 5}, ["RecordEpisodeStatistics"])
        self.assertNotIn("episode", env.reset(options={"start": 3})[1])
        self.assertNotIn("episode", env.step([1, 1])[4])
        self.assertEqual(env.step([1, 1])[4]["episode"], {"r": -2.0, "l": 2.0})

    def test_errors(self):
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'Counter-v0'"):
            cclgym.make("Counter-v1")
        with self.assertRaisesRegex(ValueError, "did you mean 'target'"):
            counter({"targt": 4})
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'TimeLimit'"):
            counter(wrappers=["TimeLimits"])
        with self.assertRaises(ValueError):
            counter(render_mode="human")
        env = counter()
        with self.assertRaisesRegex(cclgym.ResetNeeded, "before the first reset"):
            env.step([1, 1])
        for seed in (-1, 2**64, 1.5, "1", True):
            with self.assertRaises(ValueError):
                env.reset(seed=seed)
        env.reset(seed=2**64 - 1)
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'start'"):
            env.reset(options={"stat": 3})
        env.reset(seed=1, options={"start": 9})
        for action in ([0, 1], [1, 3], [1], [1, 1, 1], [1, 2**32 + 1], [2, 2]):
            with self.assertRaises(cclgym.InvalidAction):
                env.step(action)
        for action in ([1.0, 1.0], None, "11"):
            with self.assertRaises(TypeError):
                env.step(action)
        with self.assertRaises(cclgym.InvalidAction):
            env.conditional_mask([1, 1])
        with self.assertRaises(cclgym.InvalidAction):
            env.conditional_mask([3])

    def test_masks_without_a_choice(self):
        space = counter().action_space
        none, one = np.zeros(2, np.int8), np.ones(2, np.int8)
        if OWN_SPACES:  # Gymnasium's spaces return the first choice
            with self.assertRaisesRegex(ValueError, "all zeros"):
                space.sample((one, none))


class VectorTest(unittest.TestCase):
    def actions(self, envs, random):
        rows = []
        for i in range(envs.num_envs):
            action = []
            for n, start in zip(envs.single_action_space.nvec, envs.single_action_space.start):
                mask = envs.conditional_mask(i, action)
                action.append(int(start + random.choice(np.flatnonzero(mask))))
            rows.append(action)
        return np.array(rows)

    def run_vector(self, workers, mode, copy=True):
        envs = counters(5, wrappers=["RecordEpisodeStatistics"],
                               workers=workers, autoreset_mode=mode, copy=copy)
        random = np.random.default_rng(3)
        results = [envs.reset(seed=11)]
        for _ in range(30):
            actions = self.actions(envs, random)
            self.assertIn(actions, envs.action_space)
            result = envs.step(actions)
            self.assertIn(result[0], envs.observation_space)
            results.append(result)
            if mode == "Disabled":
                ended = result[2] | result[3]
                if ended.any():
                    results.append(envs.reset(options={"reset_mask": ended}))
        return results

    def test_workers_do_not_matter(self):
        for mode in ("NextStep", "SameStep", "Disabled"):
            expected = self.run_vector(0, mode)
            for workers in range(1, 9):
                self.assertTrue(same(self.run_vector(workers, mode), expected), (mode, workers))

    def test_types(self):
        envs = counters(3)
        self.assertEqual(envs.metadata["autoreset_mode"], AutoresetMode.NEXT_STEP)
        self.assertEqual(envs.num_envs, 3)
        self.assertEqual(envs.observation_space.shape, (3, 2))
        self.assertEqual(envs.action_space.shape, (3, 2))
        observations, infos = envs.reset(seed=[1, None, 3], options={"start": 8})
        self.assertEqual(observations.shape, (3, 2))
        self.assertEqual(infos["count"].tolist(), [8, 8, 8])
        self.assertEqual(infos["_count"].tolist(), [True] * 3)
        self.assertEqual(infos["action_mask"].shape, (3, 4))
        self.assertEqual(envs.action_masks().dtype, bool)
        observations, rewards, terminated, truncated, infos = envs.step(np.ones((3, 2), int))
        self.assertEqual(rewards.dtype, np.float64)
        self.assertEqual(terminated.dtype, bool)
        self.assertEqual(truncated.tolist(), [False] * 3)
        self.assertEqual(rewards.tolist(), [-1] * 3)
        envs.close()
        envs.close()

    def test_seeds(self):
        options = {"target": 1000000}
        envs = counters(3, options=options)
        counts = envs.reset(seed=40)[1]["count"]
        for i in range(3):
            env = counter(options)
            self.assertEqual(env.reset(seed=40 + i)[1]["count"], counts[i])

    def test_same_step(self):
        envs = counters(2, wrappers=["RecordEpisodeStatistics"],
                               autoreset_mode=AutoresetMode.SAME_STEP)
        envs.reset(seed=1, options={"start": 8})
        infos = envs.step([[1, 2], [1, 1]])[4]
        self.assertEqual(infos["_final_obs"].tolist(), [True, False])
        self.assertEqual(infos["final_obs"][0].tolist(), [1, 0])
        self.assertIsNone(infos["final_obs"][1])
        self.assertEqual(infos["final_info"]["count"].tolist(), [10, 0])
        self.assertEqual(infos["final_info"]["_count"].tolist(), [True, False])
        self.assertEqual(infos["final_info"]["episode"]["r"].tolist(), [-1, 0])
        self.assertLess(infos["count"][0], 10)
        self.assertNotIn("final_obs", self.run_vector(0, "NextStep")[-1][4])

    def test_next_step(self):
        envs = counters(1)
        envs.reset(options={"start": 9})
        self.assertTrue(envs.step([[1, 1]])[2][0])
        observation, rewards, terminated, _, infos = envs.step([[77, 77]])  # ignored
        self.assertEqual((rewards[0], terminated[0], infos["steps"][0]), (0, False, 0))

    def test_errors(self):
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'NextStep'"):
            counters(2, autoreset_mode="NextSteps")
        with self.assertRaises(ValueError):
            counters(0)
        envs = counters(2, workers=2, autoreset_mode="Disabled")
        with self.assertRaises(cclgym.ResetNeeded):
            envs.step([[1, 1], [1, 1]])
        with self.assertRaises(ValueError):
            envs.reset(seed=[1])
        with self.assertRaises(ValueError):
            envs.reset(options={"reset_mask": [1, 0]})
        with self.assertRaises(cclgym.UserError):
            envs.reset(options={"stat": 1})
        envs.reset(options={"start": 9})
        with self.assertRaises(cclgym.InvalidAction):
            envs.step([[1, 1], [2, 1]])
        with self.assertRaises(IndexError):
            envs.conditional_mask(2, [])


class SpacesTest(unittest.TestCase):
    """Tests of the package's own spaces; test python_without_gymnasium runs them everywhere."""

    def test_text_and_equality(self):
        box = spaces.Box(-np.inf, np.inf, (17,))
        self.assertEqual(str(box), "Box(-inf, inf, (17,), float32)")
        self.assertEqual(str(spaces.Discrete(5, start=2)), "Discrete(5, start=2)")
        self.assertEqual(spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([2, 3]))
        self.assertNotEqual(spaces.MultiDiscrete([2, 3]),
                            spaces.MultiDiscrete([2, 3], start=[1, 0]))
        both = spaces.Dict({"a": spaces.Discrete(2), "b": box})
        self.assertEqual(both, spaces.Dict({"a": spaces.Discrete(2), "b": box}))

    def test_samples(self):
        both = spaces.Dict({
            "box": spaces.Box(np.array([0, -np.inf, 2]), np.array([1, np.inf, np.inf])),
            "discrete": spaces.Discrete(3, start=-1),
            "more": spaces.MultiDiscrete([2, 3], start=[1, 0])})
        both.seed(5)
        first = [both.sample() for _ in range(50)]
        both.seed(5)
        self.assertTrue(same(first, [both.sample() for _ in range(50)]))
        self.assertTrue(all(value in both for value in first))
        self.assertNotIn(3, spaces.Discrete(3))
        self.assertNotIn(1.0, spaces.Discrete(3))
        self.assertNotIn(np.array([1, 3]), both["more"])
        space = spaces.Discrete(4, start=1)
        batch = spaces.batch(both["more"], 2)
        self.assertEqual(str(batch), "Box([[1 0]\n [1 0]], 2, (2, 2), int64)")
        self.assertEqual({tuple(row) for _ in range(99) for row in batch.sample().tolist()},
                         {(a, b) for a in (1, 2) for b in (0, 1, 2)})
        drawn = {int(space.sample(np.array([0, 1, 0, 1], np.int8))) for _ in range(50)}
        self.assertEqual(drawn, {2, 4})


if not OWN_SPACES:
    del SpacesTest  # Gymnasium tests its own spaces


if __name__ == "__main__":
    not_run.main()
