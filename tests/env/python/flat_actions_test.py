"""Tests flat actions in Python: draws under the mask are legal with every profile, on several
fabrics; and the helpers of actions."""

import tempfile
import unittest
import warnings
import unittest.mock

import numpy as np

import cclgym
import not_run

PROFILES = ("stock-nccl", "nccl-2.30", "offline", "openmpi")
FABRICS = ("dgx1", "ndv4", "hgx-h100", "frontier", "ethernet")
COLLECTIVES = {"openmpi": ["allreduce", "allgather", "reducescatter", "broadcast", "alltoall"]}
EACH = ["allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "alltonext"]


def options(fabric, profile, **more):
    collectives = COLLECTIVES.get(profile, EACH)
    calls = [{"collective": name, "size": "4KiB"} for name in collectives]
    return {"fabric": fabric, "actions": profile, "workload": {"name": "trace", "calls": calls},
            "episode": 0, **more}


class LegalTest(unittest.TestCase):
    def test_draws_under_the_mask_are_legal(self):
        for fabric in FABRICS:
            for profile in PROFILES:
                with self.subTest(fabric=fabric, profile=profile):
                    env = cclgym.make("CollectiveTuning-v0", options(fabric, profile))
                    env.action_space.seed(2)
                    _, info = env.reset(seed=2)
                    for _ in range(12):
                        mask = info["action_mask"]
                        self.assertEqual((mask.dtype, mask.shape),
                                         (np.int8, (env.action_space.n,)))
                        np.testing.assert_array_equal(env.action_masks(), mask == 1)
                        info = env.step(env.action_space.sample(mask))[-1]

    def test_every_other_action_is_refused(self):
        env = cclgym.make("CollectiveTuning-v0", options("ndv4", "nccl-2.30"))
        _, info = env.reset(seed=1)
        seen = 0
        for _ in EACH:
            for action in np.flatnonzero(info["action_mask"] == 0):
                with self.assertRaises(cclgym.InvalidAction):
                    env.step(action)
                seen += 1
            info = env.step(env.sample_legal_action())[-1]
        self.assertGreater(seen, 0)

    def test_the_message_names_the_knob(self):
        env = cclgym.make("CollectiveTuning-v0",
                          options("ndv4", "stock-nccl", legal="nccl",
                                  workload={"name": "trace", "calls": [
                                      {"collective": "allgather", "size": "4KiB"}]}), flat=False)
        env.reset(seed=1)
        # The levels are nccl-default, ring, tree, …; LL, LL128, Simple; 1, 2, … channels.
        with self.assertRaisesRegex(cclgym.InvalidAction,
                                    "'tree LL' is not legal for allgather on ndv4: algorithm tree: "
                                    "allgather has nccl-default or ring"):
            env.step([2, 0, 0])
        with self.assertRaisesRegex(cclgym.InvalidAction,
                                    "protocol Simple: 'nccl-default' has only LL"):
            env.step([0, 2, 0])

    def test_default_instead_of_illegal(self):
        env = cclgym.make("CollectiveTuning-v0", options("ndv4", "stock-nccl", illegal="default"))
        _, info = env.reset(seed=1)
        action = int(np.flatnonzero(info["action_mask"] == 0)[0])
        _, reward, _, _, info = env.step(action)
        self.assertEqual((reward, info["illegal"]), (0.0, 1.0))
        self.assertEqual(env.step(env.sample_legal_action())[-1]["illegal"], 0.0)


class HelperTest(unittest.TestCase):
    def test_sample_legal_action(self):
        for flat in (True, False):
            env = cclgym.make("CollectiveTuning-v0", options("dgx1", "offline"), flat=flat)
            drawn = []
            for _ in range(2):
                env.action_space.seed(7)
                env.reset(seed=1)
                drawn.append([])
                for _ in range(12):
                    action = env.sample_legal_action()
                    self.assertIn(action, env.action_space)
                    env.step(action)
                    drawn[-1].append(np.asarray(action).tolist())
            self.assertEqual(drawn[0], drawn[1])
            self.assertGreater(len({str(action) for action in drawn[0]}), 6)
            envs = cclgym.make_vec("CollectiveTuning-v0", 3, options=options("dgx1", "offline"),
                                   flat=flat)
            envs.reset(seed=1)
            for _ in range(12):
                actions = cclgym.sample_legal_action(envs)
                self.assertIn(actions, envs.action_space)
                envs.step(actions)
        with self.assertRaises(TypeError):
            cclgym.sample_legal_action(unittest.mock.Mock(unwrapped=object()))

    def test_describe_action(self):
        env = cclgym.make("CollectiveTuning-v0", options("ndv4", "stock-nccl"))
        self.assertEqual(env.describe_action(0), "nccl-default")
        texts = [env.describe_action(action) for action in range(env.action_space.n)]
        self.assertEqual(len(set(texts)), len(texts))
        self.assertIn("ring LL128 channels=8", texts)
        with self.assertRaises(cclgym.InvalidAction):
            env.describe_action(env.action_space.n)
        factored = cclgym.make("CollectiveTuning-v0", options("ndv4", "stock-nccl"), flat=False)
        self.assertEqual(factored.describe_action([1, 1, 3]), "ring LL128 channels=8")
        self.assertEqual(cclgym.make("Counter-v0", flat=False).describe_action([1, 2]), "[1 2]")
        self.assertEqual(cclgym.make("Counter-v0").describe_action(1), "[1 2]")

    def test_fewer_actions(self):
        def count(**more):
            return cclgym.make("CollectiveTuning-v0",
                               {"fabric": "ndv4", **more}).action_space.n

        everything = count()
        self.assertLess(count(knobs={"threads": "nccl"}), everything / 3)
        self.assertEqual(count(actions="stock-nccl", knobs={
            "algorithm": ["ring"], "protocol": ["LL", "Simple"], "channels": [4, 8]}), 4)
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'channels'"):
            count(knobs={"chanels": 4})
        with self.assertRaisesRegex(cclgym.UserError, "unknown level of channels '3'"):
            count(knobs={"channels": [3]})
        with self.assertRaisesRegex(cclgym.UserError, "no action of profile"):
            count(actions="stock-nccl", knobs={"algorithm": "pat"})

    def test_a_machine_without_a_parameter_set_is_warned_of(self):
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(file.close)
        file.write("name: four-b300\ngpu_model: B300\nnodes: [{name: gpu0..3}]\n"
                   "links: [{mesh: gpu0..3, kind: nvlink, bandwidth: 50 GB/s, latency: 1us}]\n")
        file.flush()
        for make in (cclgym.make, cclgym.make_vec):
            with self.assertWarnsRegex(UserWarning, "no parameter set was fitted to the B300"):
                make("CollectiveTuning-v0", options={"fabric": file.name, "episode": 4})
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                make("CollectiveTuning-v0", options={"fabric": "ndv4", "episode": 4})
                make("CollectiveTuning-v0", options={"fabric": file.name, "episode": 4,
                                                     "cost_model": "hockney"})


if __name__ == "__main__":
    not_run.main()
