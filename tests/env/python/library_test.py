"""Tests the package's fabrics, simulations, programs, sweeps and comparisons, against the command line
where it prints the same numbers. Argument: the program cclgym."""

import csv
import faulthandler
import fractions
import json
import inspect
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import cclgym
import not_run
from cclgym import tables

CCLGYM = os.environ["CCLGYM_PROGRAM"]
ROOT = pathlib.Path(__file__).resolve().parents[3]
SWEEP = {"name": "small", "fabrics": ["dgx1", {"name": "ring", "gpus": 4}],
         "collectives": ["allreduce"], "algorithms": ["ring", "tree"], "protocols": ["LL", "Simple"],
         "channels": [1, 2], "sizes": ["1KiB", "1MiB"]}


def command(*arguments):
    return subprocess.run([CCLGYM, *map(str, arguments)], capture_output=True, text=True,
                          check=True).stdout


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class FabricTest(Temporary):
    def test_ring(self):
        fabric = cclgym.Fabric("ring", gpus=4)
        self.assertEqual((fabric.ranks, fabric.servers, fabric.label), (4, 1, "ring gpus=4"))
        self.assertEqual([node["kind"] for node in fabric.nodes], ["gpu"] * 4)
        ends = {(link["source"], link["target"]) for link in fabric.links}
        self.assertEqual(ends, {(f"gpu{i}", f"gpu{(i + d) % 4}") for i in range(4) for d in (1, 3)})
        metrics = fabric.metrics()
        # Two links out of any arc of GPUs; an arc of three sends 3 chunks through two links.
        self.assertEqual((metrics["diameter"], metrics["inverse_bisection"]),
                         (2, fractions.Fraction(3, 2)))
        self.assertEqual(metrics["bisection_Bps"], 2 * fabric.links[0]["capacity_Bps"])
        self.assertEqual(pickle.loads(pickle.dumps(fabric)).label, fabric.label)
        self.assertIn("digraph", fabric.dot())
        self.assertEqual(fabric.describe(), command("describe", "fabric", "ring", "--gpus", 4)[
            :len(fabric.describe())])

    def test_file(self):
        path = self.folder / "pair.yaml"
        path.write_text("name: pair\nnodes: [{name: gpu0..1}]\n"
                        "links: [{mesh: gpu0..1, kind: nvlink, bandwidth: 50 GB/s, latency: 1us}]\n")
        fabric = cclgym.Fabric(path)
        self.assertEqual((fabric.label, fabric.links[0]["capacity_Bps"]), ("pair", 50e9))
        path.write_text(path.read_text().replace("mesh", "mash"))
        with self.assertRaisesRegex(cclgym.UserError, r"pair.yaml:3:10: .*mash"):
            cclgym.Fabric(path)

    def test_errors(self):
        with self.assertRaisesRegex(cclgym.UserError, r"fabric.*did you mean 'ndv4'"):
            cclgym.Fabric("ndv44")
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'gpus'"):
            cclgym.Fabric("ring", gpu=4)
        self.assertIn("dgx1", cclgym.fabrics())


class SimulateTest(Temporary):
    def test_same_as_the_command(self):
        timeline = self.folder / "t.json"
        one = cclgym.simulate("ndv4", "allreduce", "ring", "4MiB", protocol="LL128", channels=8,
                              timeline=timeline)
        two = json.loads(command("simulate", "--fabric", "ndv4", "--collective", "allreduce",
                                 "--algorithm", "ring", "--protocol", "LL128", "--channels", 8,
                                 "--size", "4MiB", "--engine", "flow", "--json"))
        for key in ("time_s", "busbw_Bps", "algbw_Bps", "steps", "flows", "size_bytes", "cost_model"):
            self.assertEqual(getattr(one, key), two[key], key)
        self.assertEqual(one.rank_time_s.tolist(), two["rank_time_s"])
        self.assertEqual(one.links[0]["bytes"], two["links"][0]["bytes"])
        self.assertIn("traceEvents", json.loads(timeline.read_text()))
        tuned = cclgym.simulate(cclgym.Fabric("ndv4"), "allreduce", "nccl-default:2.18", 4 << 20)
        self.assertEqual(tuned.algorithm, "nccl-default:2.18")
        self.assertNotEqual(tuned.program, tuned.algorithm)

    def test_noise_and_seed(self):
        def time_s(seed):
            return cclgym.simulate({"name": "ndv4", "nodes": 2}, "allreduce", "ring", "1MiB",
                                   noise="cloud-ib", seed=seed).time_s

        self.assertEqual(time_s(1), time_s(1))
        self.assertNotEqual(time_s(1), time_s(2))

    def test_errors(self):
        for message, arguments in (
                (r"call\['algorithm'\]: .*did you mean 'ring'", {"algorithm": "rin"}),
                (r"call\['collective'\]: .*did you mean 'allreduce'", {"collective": "alreduce"}),
                (r"call\['channels'\]", {"channels": 0}), ("protocol", {"protocol": "LL1"}),
                (r"call\['size'\]: .*multiple", {"collective": "alltoall", "size": 31,
                                                 "algorithm": "naive"}),
                ("has no .size.", {"size": None})):
            given = {"collective": "allreduce", "algorithm": "ring", "size": "1MiB", **arguments}
            with self.assertRaisesRegex(cclgym.UserError, message):
                cclgym.simulate("dgx1", **given)

    def test_threads_run_at_the_same_time_as_python(self):
        """A simulation that waits for the text of its noise does not keep Python from writing it."""
        noise = self.folder / "noise.yaml"
        os.mkfifo(noise)
        done = []
        thread = threading.Thread(target=lambda: done.append(
            cclgym.simulate({"name": "ndv4", "nodes": 2}, "allreduce", "ring", "1MiB", noise=noise)))
        faulthandler.dump_traceback_later(900, exit=True)  # otherwise such a fault would hang
        thread.start()
        noise.write_text("name: late\nbackground: {jobs: 1, bytes: 1MiB, pause: 0s}\n")
        thread.join()
        faulthandler.cancel_dump_traceback_later()
        self.assertEqual(done[0].noise, "late")


def both_ways(ranks):
    """The program of docs/library.md."""
    p = cclgym.Program("both-ways", "allgather", ranks, chunks=2)
    for rank in range(ranks):
        for half, stride in ((0, 1), (1, ranks - 1)):
            place = 2 * rank + half
            chunk = p.chunk(rank, "input", half).copy(rank, "output", place)
            for step in range(1, ranks):
                chunk = chunk.copy((rank + step * stride) % ranks, "output", place)
    return p


class ProgramTest(Temporary):
    def test_both_ways(self):
        compiled = both_ways(8).compile(fuse=False, share_blocks=False)
        compiled.verify(slots=2).execute(interleavings=3)
        done = compiled.simulate("ndv4", "8MiB", protocol="LL128")
        text = subprocess.run([os.environ["CCLGYM_EXAMPLE"]], capture_output=True, text=True,
                              check=True).stdout if "CCLGYM_EXAMPLE" in os.environ else ""
        if text:  # "both-ways: 107.8 us, 128 transfers"
            self.assertIn(f"{done.flows} transfers", text.splitlines()[0])
        path = self.folder / "p.xml"
        path.write_text(compiled.xml(protocol="LL128"))
        again = cclgym.read_program(path)
        self.assertEqual(again.simulate("ndv4", "8MiB", protocol="LL128").time_s, done.time_s)
        self.assertIn("time", command("simulate", "--fabric", "ndv4", "--program", path, "--size",
                                      "8MiB").lower())

    def test_wrong_programs(self):
        p = cclgym.Program("half", "allgather", 2)
        p.chunk(0, "input", 0).copy(1, "output", 0)
        self.assertIn("rank 0", "\n".join(p.problems()))
        with self.assertRaisesRegex(cclgym.UserError, "half is wrong"):
            p.compile().verify()
        q = cclgym.Program("stale", "allreduce", 2)
        old = q.chunk(1, "input", 0)
        q.chunk(0, "input", 0).copy(1, "input", 0)
        with self.assertRaisesRegex(cclgym.UserError, "stale"):
            old.copy(0, "output", 0)
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'input'"):
            q.chunk(0, "inptu", 0)
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'allreduce'"):
            cclgym.Program("x", "alreduce", 2)

    def test_custom_and_parallel(self):
        def halo(lanes):
            n = 4
            p = cclgym.Program.custom(
                "halo", [2] * n, [2] * n,
                lambda rank, index: [((rank + (1 if index == 0 else -1)) % n, index)])
            with p.parallelize(lanes):
                for rank in range(n):
                    p.chunk((rank + 1) % n, "input", 0).copy(rank, "output", 0)
                    p.chunk(rank, "input", 1).copy((rank + 1) % n, "output", 1)
            return p.compile(instances=2).verify(slots=2).execute()

        self.assertEqual([halo(1).channels, halo(3).channels], [2, 6])
        wrong = cclgym.Program.custom("halo", [1] * 2, [1] * 2, lambda rank, index: [(1 - rank, 0)])
        for rank in range(2):
            wrong.chunk(rank, "input", 0).copy(rank, "output", 0)
        self.assertEqual(len(wrong.problems()), 2)

    def test_reduce(self):
        p = cclgym.Program("sum", "allreduce", 2)
        total = p.chunk(0, "input", 0).reduce(p.chunk(1, "input", 0))
        total.copy(0, "output", 0), total.copy(1, "output", 0)
        p.compile().verify().execute()
        self.assertEqual(len(p.operations()), 3)


class SweepTest(Temporary):
    def test_same_as_the_command(self):
        path = self.folder / "small.yaml"
        path.write_text(json.dumps(SWEEP))
        command("run", path, "--out", self.folder / "a", "--engine", "flow", "--quiet")
        with open(self.folder / "a" / "results.csv", encoding="utf-8") as file:
            expected = list(csv.DictReader(file))
        seen = []
        for experiment in (SWEEP, path):
            result = cclgym.sweep(experiment, progress=lambda done, all: seen.append((done, all)))
            self.assertEqual(result.rows, len(expected))
            self.assertEqual(result["time_us"].tolist(), [float(row["time_us"]) for row in expected])
            self.assertEqual((result["channels"].dtype, result["time_us"].dtype),
                             (np.int64, np.float64))
            self.assertEqual(result["cell_key"].tolist(), [row["cell_key"] for row in expected])
        self.assertEqual(seen[-1], (len(expected), len(expected)))

    def test_report_and_continuation(self):
        result = cclgym.sweep(SWEEP, self.folder / "run")
        page = pathlib.Path(result.report())
        self.assertEqual(page, self.folder / "run" / "report.html")
        self.assertIn("</html>", page.read_text())
        again = cclgym.sweep(SWEEP, self.folder / "run")
        self.assertEqual(again["time_us"].tolist(), result["time_us"].tolist())
        with self.assertRaisesRegex(cclgym.UserError, "fresh=True"):
            cclgym.sweep({**SWEEP, "channels": [1]}, self.folder / "run")
        try:
            import pandas
        except ImportError:
            with self.assertRaises(ImportError):
                result.to_pandas()
        else:
            self.assertEqual(len(result.to_pandas()), result.rows)
            self.assertTrue(pandas)

    def test_errors(self):
        with self.assertRaisesRegex(cclgym.UserError, r"experiment\['fabrics'\].*did you mean 'dgx1'"):
            cclgym.sweep({**SWEEP, "fabrics": ["dgx11"]})
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'sizes'"):
            cclgym.sweep({**SWEEP, "size": 4})

    def test_ctrl_c(self):
        def interrupt(done, all):
            if done == 3:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            cclgym.sweep(SWEEP, self.folder / "run", progress=interrupt)
        counts = []
        cclgym.sweep(SWEEP, self.folder / "run", progress=lambda done, all: counts.append(done))
        self.assertGreaterEqual(counts[0], 3)


class CompareTest(Temporary):
    FILE = ROOT / "experiments" / "measured" / "nccl-sample.csv"

    def test_same_as_the_command(self):
        command("compare", "--measured", self.FILE, "--system", "MI300Xx8", "--out", self.folder / "c", "--quiet")
        result = cclgym.compare(self.FILE, system="MI300Xx8")
        with open(self.folder / "c" / "compare.csv", encoding="utf-8") as file:
            expected = list(csv.DictReader(file))
        self.assertEqual(result.rows, len(expected))
        for name, column in result.items():
            for value, row in zip(column.tolist(), expected):
                self.assertEqual(value, type(value)(row[name]))
        page = pathlib.Path(result.report(self.folder / "page.html"))
        self.assertEqual(page.read_text(), (self.folder / "c" / "compare.html").read_text())

    def test_errors(self):
        path = self.folder / "m.csv"
        path.write_text("ranks,collective,size_bytes,time_us_median\n8,allreduce,1024,1 us\n")
        with self.assertRaisesRegex(cclgym.UserError, r"m.csv:2:18: "):
            cclgym.compare(path, fabric="dgx1")
        with self.assertRaisesRegex(cclgym.UserError, "fabric is a dict; expected a name or the path"):
            cclgym.compare(path, fabric={"name": "dgx1"})
        result = cclgym.compare(self.FILE, system="MI300Xx8", collective="all_gather")
        self.assertEqual(result.rows, cclgym.compare(self.FILE, system=["MI300Xx8"], collective=["all_gather"]).rows)

    def test_tuner(self):
        """The choice of rows that do not state it: by name, or by a tuner."""
        path = self.folder / "m.csv"
        path.write_text("ranks,collective,size_bytes,time_us_median\n8,allreduce,1024,10\n8,allreduce,1048576,50\n")
        for tuner in ("tree/LL/2", "nccl-default:2.18"):
            command("compare", "--measured", path, "--fabric", "dgx1", "--tuner", tuner, "--out", self.folder / "c",
                    "--quiet")
            result = cclgym.compare(path, fabric="dgx1", tuner=tuner)
            with open(self.folder / "c" / "compare.csv", encoding="utf-8") as file:
                self.assertEqual(result["simulated_us"].tolist(),
                                 [float(row["simulated_us"]) for row in csv.DictReader(file)])
        with self.assertRaisesRegex(cclgym.UserError, "did you mean 'tree'"):
            cclgym.compare(path, fabric="dgx1", tuner="tre/LL/2")

    def test_log(self):
        """The fabric of a log that names its GPUs; ranks and nodes of one that does not."""
        row = "# size count type redop root time algbw busbw #wrong\n1048576 262144 float sum -1 30.0 35.0 61.2 0\n"
        devices = "".join(f"# Rank {rank} Group 0 Pid 1 on a device {rank} [0000:0{rank}:00] NVIDIA H100 80GB HBM3\n"
                          for rank in range(8))
        head = "# nccl-tests version 2.17.8 nccl-headers=22809 nccl-library=22809\n"
        start = "# Collective test starting: all_reduce_perf\n"
        path = self.folder / "log.txt"
        path.write_text(head + start + devices + row)
        with self.assertWarnsRegex(UserWarning, "8 GPUs per node of NVIDIA H100 80GB HBM3: simulated on"):
            named = cclgym.compare(path)
        path.write_text(head + start + row)
        with self.assertRaisesRegex(cclgym.UserError, "does not state the number of ranks"):
            cclgym.compare(path, fabric="hgx-h100")
        given = cclgym.compare(path, fabric="hgx-h100", ranks=8, nodes=1)
        self.assertEqual(named["simulated_us"].tolist(), given["simulated_us"].tolist())


MEASURED = """system,ranks,collective,size_bytes,time_us_median,algorithm,protocol,channels
,8,allreduce,1024,20,ring,LL,2
,8,allreduce,65536,30,ring,LL,2
,8,allreduce,1048576,70,ring,Simple,2
"""
TRAINING = {
    "name": "small",
    "train": [{"options": {
        "fabric": {"name": "ring", "gpus": 4}, "actions": "stock-nccl", "episode": 8,
        "workload": {"name": "sweep", "collectives": ["allreduce"], "sizes": "1KiB..1MiB x4"}}}],
    "agent": {"encoder": [8], "lstm": 4, "head": 8, "value": 8}, "warm_start": {"iterations": 1},
    "ppo": {"iterations": 1, "environments": 2, "steps": 16, "sequence": 4}, "seeds": [1, 2]}


class CommandsTest(Temporary):
    def check_shown(self, result, start, cell):
        """One line, and a table that has the text of a cell."""
        self.assertTrue(repr(result).startswith(f"<cclgym.{start}"), repr(result))
        self.assertNotIn("\n", repr(result))
        page = result._repr_html_()
        self.assertRegex(page, r"^<table>.*</table>")
        self.assertIn(f"<td>{cell}</td>", page)

    def test_options_are_those_of_the_commands(self):
        """An option that a command gets must be an argument here, too."""
        fabric = set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", command("describe", "fabric", "--help"), re.MULTILINE))
        for name in ("synthesize", "workload", "train", "fit"):
            options = re.findall(r"^  (?:-\w, )?--([a-z-]+)", command(name, "--help"), re.MULTILINE)
            self.assertGreater(len(options), 8)
            arguments = {one.rstrip("_").replace("_", "-")
                         for one in inspect.signature(getattr(cclgym, name)).parameters}
            expected = set(options) - {"help", "json", "quiet", "dry-run", "peer-timeout"}
            if name != "fit":  # of which a fabric has only a name
                expected -= fabric
            self.assertEqual(arguments - {"file", "files", "progress"}, expected, name)

    def test_synthesize(self):
        ring = cclgym.Fabric("ring", gpus=4)
        said = []
        made = cclgym.synthesize(ring, "allgather", self.folder / "a", sizes="1KiB..1MiB x4", progress=said.append)
        other = json.loads(command("synthesize", "--fabric", "ring", "--gpus", 4, "--collective", "allgather",
                                   "--out", self.folder / "b", "--sizes", "1KiB..1MiB x4", "--json", "--quiet"))
        self.assertEqual([one["name"] for one in made.programs], [one["name"] for one in other["programs"]])
        self.assertEqual(made["min_steps"], other["min_steps"])
        self.check_shown(made, "Synthesis ", made.programs[0]["name"])
        self.assertEqual(sorted(made), sorted(other))
        self.assertTrue(said)
        done = cclgym.simulate(ring, "allgather", f"dispatch:{made.table}", "1MiB")
        self.assertGreater(done.time_s, 0)
        kept = cclgym.synthesize(ring, "allgather", no_sweep=True)
        folder = kept.folder
        self.assertTrue(pathlib.Path(kept.report).is_file())
        del kept
        self.assertFalse(pathlib.Path(folder).exists())
        with self.assertRaisesRegex(cclgym.UserError, "^collective: .*did you mean 'allgather'"):
            cclgym.synthesize(ring, "algather")
        with self.assertRaisesRegex(cclgym.UserError, "^max_conflicts: "):
            cclgym.synthesize(ring, "allgather", max_conflicts=-1)
        with self.assertRaisesRegex(AttributeError, "no 'program'; it has .*programs"):
            made.program

    def test_workload(self):
        path = ROOT / "experiments" / "workloads" / "two-layers.yaml"
        done = cclgym.workload(path, {"name": "ring", "gpus": 4}, compare=["ring/LL/2", "ring/Simple/4"],
                               report=self.folder / "r.html")
        other = json.loads(command("workload", path, "--fabric", "ring", "--gpus", 4, "--compare",
                                   "ring/LL/2,ring/Simple/4", "--json"))
        self.assertEqual(dict(done), other)
        self.check_shown(done, "Workload two-layers on ", done.calls[0]["configuration"])
        self.assertIn("</html>", (self.folder / "r.html").read_text())
        with self.assertRaisesRegex(cclgym.UserError, "^detail: .*did you mean 'calls'"):
            cclgym.workload([path], "ring", detail="cals")
        with self.assertRaisesRegex(cclgym.UserError, "no-such.yaml"):
            cclgym.workload(self.folder / "no-such.yaml", "ring")

    def test_fit(self):
        path = self.folder / "-m.csv"
        path.write_text(MEASURED)
        said = []
        arguments = {"fabric": "dgx1", "start": "v100", "evaluations": 10}
        done = cclgym.fit(path, parameters=["kernel_launch"], hold_out="sizes=64KiB", out=self.folder / "s.yaml",
                          progress=said.append, **arguments)
        other = json.loads(command("fit", f"--measured={path}", "--fabric", "dgx1", "--start", "v100",
                                   "--evaluations", 10, "--parameters", "kernel_launch", "--hold-out", "sizes=64KiB",
                                   "--json"))
        self.assertEqual(dict(done), other)
        self.check_shown(done, "Fit 1 parameters, mean error ", "kernel_launch")
        self.assertTrue(said)
        simulated = cclgym.simulate("dgx1", "allreduce", "ring", "1MiB", cost_model=self.folder / "s.yaml")
        self.assertEqual(simulated.cost_model, "s")
        with self.assertRaisesRegex(cclgym.UserError, "^hold_out: no row has"):
            cclgym.fit(path, hold_out="sizes=4MiB", **arguments)
        path.write_text(MEASURED.replace(",70,", ",70 us,"))
        with self.assertRaisesRegex(cclgym.UserError, "-m.csv:4:"):
            cclgym.fit(path, **arguments)
        path.write_text(MEASURED)

        def stop(line):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            cclgym.fit(path, progress=stop, **{**arguments, "evaluations": 100_000})

    def test_train(self):
        path = self.folder / "small.yaml"
        path.write_text(json.dumps(TRAINING))
        try:
            done = cclgym.train(path, self.folder / "run")
        except cclgym.UserError as error:
            self.assertIn("cannot train", str(error))
            self.skipTest("needs LibTorch, which this build is without (scripts/setup agents)")
        agents = done.trainings[0]["agents"]
        self.assertEqual([agent["seed"] for agent in agents], [1, 2])
        self.check_shown(done, "Training small: 2 agents, 2 iterations, in ", agents[1]["checkpoint"])
        again = cclgym.train(path, self.folder / "run", seed=2)
        self.assertEqual([agent["trained_now"] for agent in again.trainings[0]["agents"]], [False])
        path.write_text(json.dumps({**TRAINING, "sees": [1]}))
        with self.assertRaisesRegex(cclgym.UserError, r"small.yaml:1:\d+: .*did you mean 'seeds'"):
            cclgym.train(path, self.folder / "run")


class ShownTest(Temporary):
    def test_one_line_and_a_table(self):
        done = cclgym.simulate(cclgym.Fabric("ring", gpus=4), "allreduce", "ring", "1MiB")
        self.assertRegex(repr(done), r"^<cclgym.Simulation allreduce of 1048576 bytes, 4 ranks of ring, ring/Simple/1: "
                                     r"\S+ s, busbw \S+ B/s>$")
        self.assertIn(f"<tr><td>time_s</td><td>{done.time_s:.6g}</td></tr>", done._repr_html_())
        many = cclgym.sweep({**SWEEP, "sizes": "1KiB..1MiB x2"})
        self.assertEqual(repr(many), f"<cclgym.Sweep: 176 rows, {len(many)} columns>")
        page = many._repr_html_()
        self.assertEqual(page.count("<tr>"), 21)
        self.assertIn("176 rows, of which 20 are shown", page)
        self.assertIn(f"<td>{many['time_us'][0]:.6g}</td>", page)
        self.assertEqual(tables.html_table(["<a>"], [["<b>&"]], 1),
                         "<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody><tr><td>&lt;b&gt;&amp;</td></tr>"
                         "</tbody></table>")


if __name__ == "__main__":
    not_run.main()
