"""Tests that the vector's short cuts give what the plain definitions give: draws of all
environments together, and infos, which are made in C++."""

import copy
import unittest

import numpy as np

import cclgym
from cclgym import spaces

SWEEP = {"name": "sweep", "collectives": ["allreduce", "allgather", "alltoall"],
         "sizes": "1KiB..1MiB x4"}


def same(a, b):
    """True if two results have the same types, keys in the same order, and bits."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (tuple, list, np.ndarray)):
        return len(a) == len(b) and all(same(*pair) for pair in zip(a, b))
    return type(a) is type(b) and a == b


def plain_infos(names, rows, masks, among=None):
    """Infos as Gymnasium describes them."""
    infos = {}
    for name, column in zip(names, rows.T):
        holds = ~np.isnan(column)
        if among is not None:
            holds &= among
        if holds.any():
            *outer, last = name.split(".")
            at = infos
            for part in outer:
                at.setdefault("_" + part, holds)
                at = at.setdefault(part, {})
            at[last] = np.where(holds, column, 0.0)
            at["_" + last] = holds
    infos["action_mask"] = masks
    infos["_action_mask"] = np.ones(len(masks), bool) if among is None else among
    return infos


class DrawTest(unittest.TestCase):
    def rows(self, masks, start=0):
        """Draws together and row by row, from streams with the same seed, and what follows."""
        for seed in range(20):
            together = spaces.LegalDiscrete(masks.shape[1], start=start)
            single = spaces.LegalDiscrete(masks.shape[1], start=start)
            together.seed(seed)
            single.seed(seed)
            for _ in range(3):  # an odd number of draws leaves half of 64 random bits
                drawn = spaces.sample_legal_rows(together, masks)
                expected = np.stack([single.sample(mask) for mask in masks])
                self.assertTrue(same(drawn, expected), (drawn, expected))
            self.assertEqual(together.np_random.integers(1 << 40), single.np_random.integers(1 << 40))

    def test_draws_are_those_of_single_rows(self):
        random = np.random.default_rng(1)
        for width in (1, 7, 8, 9, 43, 64, 65, 200):
            masks = (random.random((9, width)) < 0.4).astype(np.int8)
            masks[:, random.integers(width)] = 1
            masks[3] = 0
            masks[3, -1] = 1  # a row with one value, for which nothing is drawn
            self.rows(masks)
            self.rows(masks, start=5)
            self.rows(np.repeat(masks[:1], 9, axis=0))  # all rows allow equally many

    def test_rows_without_a_legal_value(self):
        masks = np.ones((3, 4), np.int8)
        space = spaces.LegalDiscrete(4)
        for fault in (0, 2):
            masks[1] = fault
            self.assertIsNone(spaces.sample_legal_rows(space, masks))
        with self.assertRaises((ValueError, AssertionError)):  # `sample` says what is wrong
            space.sample(masks[1])

    def test_vectors_draw_in_the_order_of_the_environments(self):
        envs = cclgym.make_vec("CollectiveTuning-v0", 5, {"fabric": "ndv4", "workload": SWEEP})
        envs.reset(seed=3)
        counts = set()
        for step in range(12):
            envs.single_action_space.seed(step)
            drawn = envs.sample_legal_action()
            envs.single_action_space.seed(step)
            expected = np.stack([envs.single_action_space.sample(envs.conditional_mask(i, []))
                                 for i in range(5)])
            self.assertTrue(same(drawn, expected))
            counts.update(envs.action_masks().sum(axis=1).tolist())
            envs.step(drawn)
        self.assertGreater(len(counts), 1)


class InfoTest(unittest.TestCase):
    def test_infos_are_those_of_the_definition(self):
        for mode in ("NextStep", "SameStep"):
            envs = cclgym.make_vec(
                "CollectiveTuning-v0", 4,
                {"fabric": "ndv4", "actions": "stock-nccl", "workload": SWEEP, "episode": 3},
                wrappers=["RecordEpisodeStatistics"], autoreset_mode=mode)
            envs.single_action_space.seed(1)
            envs.reset(seed=[1, 2, 3, 4])
            ends = 0
            for step in range(12):
                if step == 5:  # the environments end at different steps from now on
                    envs.reset(options={"reset_mask": np.array([True, False, True, False])})
                infos = envs.step(envs.sample_legal_action())[-1]
                views = envs._views
                final = {key: infos.pop(key) for key in list(infos) if "final" in key}
                self.assertTrue(same(infos, plain_infos(
                    envs._core.info_names, views["infos"], views["action_masks"])), infos)
                finished = views["finished"]
                self.assertEqual(bool(final), bool(finished.any()))
                if final:
                    ends += 1
                    self.assertTrue(same(final["final_info"], plain_infos(
                        envs._core.info_names, views["final_infos"], views["final_action_masks"],
                        finished)))
                    self.assertIn("episode", final["final_info"])
            self.assertEqual(ends > 3, mode == "SameStep")

    def test_results_are_not_views(self):
        envs = cclgym.make_vec("CollectiveTuning-v0", 3, {"fabric": "ndv4", "actions": "stock-nccl"})
        envs.reset(seed=1)
        first = envs.step(envs.sample_legal_action())
        kept = copy.deepcopy(first)
        actions = envs.sample_legal_action()
        before = actions.copy()
        envs.step(actions)
        self.assertTrue(same(first, kept))
        self.assertTrue(same(actions, before))

    def test_the_vector_keeps_no_action_of_the_caller(self):
        envs = cclgym.make_vec("CollectiveTuning-v0", 2, {"fabric": "ndv4", "actions": "stock-nccl"},
                               render_mode="ansi")
        envs.reset(seed=1)
        actions = np.zeros(2, np.int64)
        envs.step(actions)
        shown = envs.render()
        actions[:] = 1
        self.assertEqual(envs.render(), shown)


class SendTest(unittest.TestCase):
    def pair(self, **more):
        made = [cclgym.make_vec("CollectiveTuning-v0", 3, {"fabric": "dgx1", "episode": 4, "workload": SWEEP}, **more)
                for _ in range(2)]
        for envs in made:
            envs.reset(seed=5)
        return made

    def test_as_step(self):
        for more in ({}, {"workers": 2}, {"autoreset_mode": "SameStep"}):
            one, two = self.pair(**more)
            for envs in (one, two):
                envs.single_action_space.seed(1)
            for _ in range(9):
                actions = one.sample_legal_action()
                one.send(actions)
                actions[:] = -1  # the caller's array is its own again
                self.assertTrue(same(one.recv(), two.step(two.sample_legal_action())))

    def test_order(self):
        envs, other = self.pair()
        with self.assertRaisesRegex(RuntimeError, r"recv\(\) without a send"):
            envs.recv()
        actions = envs.sample_legal_action()
        envs.send(actions)
        for wrong in (lambda: envs.send(actions), lambda: envs.step(actions), envs.reset, lambda: copy.deepcopy(envs)):
            with self.assertRaisesRegex(RuntimeError, r"call recv\(\) first"):
                wrong()
        envs.recv()
        bad = np.full(3, 10**6)
        with self.assertRaises(cclgym.InvalidAction):
            other.step(bad)
        envs.send(bad)
        with self.assertRaises(cclgym.InvalidAction):
            envs.recv()
        envs.reset()
        self.assertEqual(len(copy.deepcopy(envs).action_masks()), 3)
        envs.close()
        with self.assertRaises(cclgym.ClosedEnvironmentError):
            envs.send(actions)


if __name__ == "__main__":
    unittest.main()
