"""Tests what the package says and does where it is used wrongly, or from several threads or
processes."""

import copy
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import unittest

import numpy as np

import cclgym
import not_run
from conformance_test import same

ROOT = pathlib.Path(__file__).resolve().parents[3]
POLICIES = ROOT / "tests" / "fuzz" / "seeds" / "policy"
TUNING = {"fabric": "dgx1", "actions": "stock-nccl", "episode": 8}


HANG_S = 900  # only a hang takes so long


def in_a_fork(function):
    """What function() returns in a forked process, as text; "hangs" if it does."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(HANG_S)
            os.write(write, function().encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said or "hangs"


class ThreadsTest(unittest.TestCase):
    def test_threads_take_turns(self):
        """Threads that step one vector neither hang nor lose a step."""
        for make in (lambda: cclgym.make_vec("Counter-v0", 4, {"target": 10**6}, workers=2),
                     lambda: cclgym.make_vec("Counter-v0", 4, {"target": 10**6}),
                     lambda: cclgym.make("Counter-v0", {"target": 10**6})):
            envs = make()
            envs.reset(seed=1, options={"start": 0})
            action = [0] * 4 if hasattr(envs, "num_envs") else 0
            failed = []

            def run():
                try:
                    for _ in range(2000):
                        envs.step(action)
                except Exception as error:  # of a thread: asserted below
                    failed.append(error)

            threads = [threading.Thread(target=run, daemon=True) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(HANG_S)
                self.assertFalse(thread.is_alive())
            self.assertEqual(failed, [])
            steps = np.atleast_1d(envs.step(action)[4]["steps"])
            self.assertEqual(steps.tolist(), [8001] * len(steps))


class ForkTest(unittest.TestCase):
    def said(self, envs):
        try:
            envs.step([0, 0])
        except RuntimeError as error:
            return str(error)
        return "stepped"

    def test_workers_stay_in_their_process(self):
        envs = cclgym.make_vec("Counter-v0", 2, workers=2)
        envs.reset(seed=1)
        said = in_a_fork(lambda: self.said(envs))
        self.assertIn("Counter-v0: the vector was made in another process", said)
        self.assertIn("spawn", said)

        def freed():
            nonlocal envs
            del envs
            return "freed"

        self.assertEqual(in_a_fork(freed), "freed")
        self.assertEqual(self.said(envs), "stepped")

    def test_copies_and_vectors_without_workers_work(self):
        envs = cclgym.make_vec("Counter-v0", 2, workers=2)
        envs.reset(seed=1)
        self.assertEqual(in_a_fork(lambda: self.said(copy.deepcopy(envs))), "stepped")
        alone = cclgym.make_vec("Counter-v0", 2)
        alone.reset(seed=1)
        held = threading.Event()
        done = threading.Event()

        def hold():
            with alone._turns:
                held.set()
                done.wait(2 * HANG_S)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        self.assertEqual(in_a_fork(lambda: self.said(alone)), "stepped")
        done.set()
        thread.join()


class MessagesTest(unittest.TestCase):
    def refused(self, kind, pattern, function, *arguments, **more):
        with self.assertRaisesRegex(kind, pattern):
            function(*arguments, **more)

    def test_wrappers(self):
        for make in (cclgym.make, cclgym.make_vec):
            for flat in (True, False):
                self.refused(cclgym.UserError, r"^wrappers\[0\]: .*did you mean 'TimeLimit'", make,
                             "Counter-v0", wrappers=["TimeLimt"], flat=flat)
                self.refused(cclgym.UserError, r"^wrappers\[1\]\['max_stps'\]: ", make, "Counter-v0",
                             wrappers=["NormalizeReward", {"name": "TimeLimit", "max_stps": 3}],
                             flat=flat)
            for wrong in ("TimeLimit", {"name": "TimeLimit"}, 3):
                self.refused(cclgym.UserError, r"^wrappers: found .*expected a list", make,
                             "Counter-v0", wrappers=wrong)

    def test_none(self):
        for options, path in (({"fabric": None}, r"\['fabric'\]"),
                              ({"fabric": {"name": "ndv4", "nodes": None}}, r"\['fabric'\]\['nodes'\]"),
                              ({"noise": [None]}, r"\['noise'\]\[0\]")):
            self.refused(cclgym.UserError, rf"^options{path}: found None", cclgym.make,
                         "CollectiveTuning-v0", options)
            self.refused(cclgym.UserError, rf"^options{path}: found None", cclgym.make_vec,
                         "CollectiveTuning-v0", 2, options)
        self.refused(cclgym.UserError, r"^options\['start'\]: found None",
                     cclgym.make("Counter-v0").reset, options={"start": None})
        self.refused(cclgym.UserError, r"^fabric\['nodes'\]: found None", cclgym.Fabric, "ndv4",
                     nodes=None)
        self.refused(cclgym.UserError, r"^experiment\['sizes'\]: found None", cclgym.sweep,
                     {"sizes": None})
        cclgym.make("Counter-v0", None, None).reset(seed=None, options=None)

    def test_names_in_the_singular(self):
        self.refused(cclgym.UserError, r"unknown noise regime 'jiter'.*'jitter'", cclgym.make,
                     "CollectiveTuning-v0", {"noise": "jiter"})
        self.refused(cclgym.UserError, r"\['collectives'\]\[0\]: unknown collective 'allredce'",
                     cclgym.sweep, {"fabrics": ["dgx1"], "collectives": ["allredce"],
                                    "algorithms": ["ring"], "sizes": ["1KiB"]})

    def test_sizes(self):
        for size in (float("nan"), float("inf"), 1.5, True, [1]):
            self.refused(cclgym.UserError, r"^call\['size'\]: size is .*whole number of bytes",
                         cclgym.simulate, "dgx1", "allreduce", "ring", size)
        times = {cclgym.simulate("dgx1", "allreduce", "ring", size).time_s
                 for size in (4096, 4096.0, np.int64(4096), "4KiB")}
        self.assertEqual(len(times), 1)

    def test_actions_of_vectors(self):
        for workers in (0, 2):
            envs = cclgym.make_vec("Counter-v0", 2, workers=workers)
            self.refused(cclgym.ResetNeeded,
                         r"Counter-v0: step\(\) before the first reset\(\) of environment 0",
                         envs.step, [0, 0])
            envs.reset(seed=1, options={"start": 0})
            for wrong, shape in ((0, r"\(\)"), ([0, 0, 0], r"\(3,\)"), ([[0, 0]], r"\(1, 2\)"),
                                 ([[0, 0], [0, 0]], r"\(2, 2\)")):
                self.refused(cclgym.InvalidAction, rf"^Counter-v0: the actions have shape {shape}; "
                             r"expected \(2,\), one action per environment", envs.step, wrong)
            self.refused(cclgym.InvalidAction, "^Counter-v0: the actions are not an array", envs.step,
                         [[0], [0, 0]])
            self.refused(cclgym.InvalidAction, r"^environment 1: Counter-v0: action \[99\] is not in",
                         envs.step, [0, 99])
            envs.step([[0], [0]])

    def test_too_many_environments(self):
        self.refused(cclgym.UserError, "^num_envs 1000000000: .* needs at least .*fewer environments",
                     cclgym.make_vec, "CollectiveTuning-v0", 10**9, TUNING)
        self.refused(ValueError, "num_envs is 1000000000000.*from 1 to", cclgym.make_vec, "Counter-v0",
                     10**12)

    def test_closed(self):
        for env, action in ((cclgym.make("Counter-v0", render_mode="ansi"), 0),
                            (cclgym.make_vec("Counter-v0", 2, render_mode="ansi"), [0, 0]),
                            (cclgym.make_vec("Counter-v0", 2, workers=2, render_mode="ansi"), [0, 0])):
            env.reset(seed=1)
            env.close()
            env.close()
            for method, function in (("step", lambda: env.step(action)), ("reset", env.reset),
                                     ("render", env.render)):
                self.refused(cclgym.ClosedEnvironmentError,
                             rf"^Counter-v0: {method}\(\) after close\(\)", function)
            self.refused(cclgym.ClosedEnvironmentError, "closed", pickle.loads(pickle.dumps(env)).reset)


class FoldersTest(unittest.TestCase):
    def test_files_of_others(self):
        sweep = {"fabrics": ["dgx1"], "collectives": ["allreduce"], "algorithms": ["ring"],
                 "sizes": ["1KiB"]}
        for name in ("experiment.yaml", "report.html", "results.csv", "notes.txt"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                mine = pathlib.Path(folder, name)
                mine.write_text("mine")
                with self.assertRaises(cclgym.UserError):
                    cclgym.sweep(sweep, out=folder)
                with self.assertRaises(cclgym.UserError):
                    cclgym.report(folder)
                self.assertEqual(os.listdir(folder), [name])
                self.assertEqual(mine.read_text(), "mine")

    def test_no_such_folder(self):
        with self.assertRaisesRegex(cclgym.UserError, "^'nosuch' does not exist; expected the folder"):
            cclgym.report("nosuch")
        with self.assertRaisesRegex(cclgym.UserError, "is not a folder; expected the folder of a run"):
            cclgym.report(__file__)


class PolicyTest(unittest.TestCase):
    def test_copies(self):
        for path in sorted(POLICIES.glob("*.policy")):
            policy = cclgym.Policy(path)
            random = np.random.default_rng(1)
            calls = random.normal(size=(6, len(policy.feature_names))).astype(np.float32)
            stream = policy.stream()
            for row in calls[:3]:
                stream.decide(row)
            others = [copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
            decided = [(stream.decide(row).tolist(), stream.logits().tolist()) for row in calls[3:]]
            for other in others:
                self.assertTrue(same(
                    [(other.decide(row).tolist(), other.logits().tolist()) for row in calls[3:]],
                    decided))
            for other in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
                self.assertEqual((other.knobs, other.rules, other.provenance),
                                 (policy.knobs, policy.rules, policy.provenance))
                self.assertTrue(same(other.stream().decide(calls[0]), policy.stream().decide(calls[0])))


class PictureTest(unittest.TestCase):
    def colours(self, picture):
        return {tuple(colour) for colour in picture.reshape(-1, 3).tolist()}

    def test_of_times(self):
        env = cclgym.make("CollectiveTuning-v0", TUNING, render_mode="rgb_array")
        self.assertEqual(env.metadata["render_fps"], 10)
        env.action_space.seed(1)
        env.reset(seed=1)
        empty = env.render()
        self.assertEqual((empty.shape, empty.dtype), ((240, 512, 3), np.uint8))
        self.assertEqual(self.colours(empty), {(255, 255, 255)})
        signs = set()
        for _ in range(8):
            info = env.step(env.sample_legal_action())[4]
            signs.add(np.sign(info["time_us"] - info["default_time_us"]))
        colours = self.colours(env.render())
        self.assertEqual((0, 130, 70) in colours, -1 in signs)
        self.assertEqual((200, 40, 30) in colours, 1 in signs)
        self.assertIn((90, 90, 90), colours)
        env.reset(seed=1)
        self.assertEqual(self.colours(env.render()), {(255, 255, 255)})

    def test_places(self):
        """The bar of a shorter time is lower, and the last call is at the right."""
        from cclgym import drawing
        picture = drawing.draw([(100.0, 100.0), (10.0, 100.0), (1000.0, 100.0)], True)
        rows = {}
        for name, colour in (("default", (90, 90, 90)), ("faster", (0, 130, 70)),
                             ("slower", (200, 40, 30))):
            found = np.argwhere((picture == colour).all(axis=2))
            rows[name] = found
        self.assertGreater(rows["faster"][:, 0].max(), rows["default"][:, 0].max())
        self.assertLess(rows["slower"][:, 0].min(), rows["default"][:, 0].min())
        self.assertGreater(rows["slower"][:, 1].min(), rows["faster"][:, 1].max())
        many = drawing.draw([(float(i), 50.0) for i in range(1, 200)], True)
        self.assertNotIn((0, 130, 70), self.colours(many))  # only the last 64 are shown

    def test_of_rewards_and_of_vectors(self):
        for mode in ("NextStep", "SameStep"):
            envs = cclgym.make_vec("Counter-v0", 2, render_mode="rgb_array", autoreset_mode=mode)
            envs.reset(seed=1, options={"start": 0})
            envs.step([0, 3])
            pictures = envs.render()
            self.assertEqual([picture.shape for picture in pictures], [(240, 512, 3)] * 2)
            self.assertIn((40, 90, 190), self.colours(pictures[0]))
        tuning = cclgym.make_vec("CollectiveTuning-v0", 2, TUNING, render_mode="rgb_array",
                                 autoreset_mode="SameStep")
        tuning.reset(seed=1)
        for _ in range(9):
            tuning.step(tuning.sample_legal_action())
        self.assertIn((90, 90, 90), self.colours(tuning.render()[0]))


if __name__ == "__main__":
    not_run.main()
