"""Checks a model of cclgym export --format onnx and compares it with the decisions of calls.txt.

    onnx_check.py FOLDER      FOLDER: has model.onnx and calls.txt, which onnx_test.cpp writes

Every runtime that is found runs the model: onnxruntime, and the reference evaluator of onnx. The exit
code is 77 if there is none. Levels must be equal, logits and states within 1e-5.
"""

import itertools
import json
import pathlib
import sys

import numpy as np

SKIPPED = 77
LIMIT = 1e-5


def checked(path):
    """Checks the file with onnx.checker, shapes included."""
    try:
        import onnx
    except ImportError:
        print("onnx is not installed, so the model is not checked (scripts/setup onnx)")
        return
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 6 and [o.version for o in model.opset_import] == [11]
    print(f"onnx {onnx.__version__}: checked")


def runtimes(path):
    try:
        import onnxruntime
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        meta = session.get_modelmeta().custom_metadata_map
        yield (f"onnxruntime {onnxruntime.__version__}", session.run,
               [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()], meta)
    except ImportError:
        pass
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator
        model = onnx.load(path)
        evaluator = ReferenceEvaluator(model)
        yield (f"onnx.reference {onnx.__version__}", evaluator.run, evaluator.input_names,
               evaluator.output_names, {p.key: p.value for p in model.metadata_props})
    except ImportError:
        pass


def calls_of(path):
    lines = [line.split() for line in pathlib.Path(path).read_text().splitlines()]
    rules = {line[0]: np.array(line[1:], np.int64).reshape(-1, 3) for line in lines[:2]}
    calls = []
    for kind, *values in lines[2:]:
        if kind == "rules":
            calls.append({"rules": values[0]})
        else:
            calls[-1][kind] = np.array(values, np.int64 if kind == "levels" else np.float32)
    return rules, calls


def compare(name, run, inputs, outputs, meta, rules, calls):
    sizes = [len(level) for level in json.loads(meta["levels"])]
    rules["all"] = np.array(list(itertools.product(*map(range, sizes))), np.int64)
    for key, rule in (("ring gpus=4/allreduce", "some"), ("dgx1/allgather", "one")):
        assert (np.array(json.loads(meta["rules/" + key])) == rules[rule]).all()
    assert len(json.loads(meta["knobs"])) == len(sizes) and meta["cclgym_version"]
    lstm = int(meta["lstm"])
    assert set(inputs) == {"observation", "legal"} | ({"h", "c"} if lstm else set())
    state = {key: np.zeros([1, lstm], np.float32) for key in ("h", "c") if lstm}
    worst = 0.0
    first = {}
    for call in calls:
        feed = {"observation": call["observation"][None, :], "legal": rules[call["rules"]], **state}
        out = dict(zip(outputs, run(None, feed)))
        assert (out["levels"][0] == call["levels"]).all(), (out["levels"], call)
        logits = np.concatenate([out[f"logits_{d}"][0] for d in range(len(sizes))])
        worst = max(worst, np.abs(logits - call["logits"]).max())
        state = {key: out[key + "_next"] for key in state}
        if lstm:
            now = np.concatenate([state["h"][0], state["c"][0]])
            worst = max(worst, np.abs(now - call["state"]).max())
        if call["rules"] == "some" and len(first) < 5:
            first[len(first)] = (feed, out)
    assert worst < LIMIT, worst
    # Calls side by side, under the same rules, are decided as one by one.
    feeds = [feed for feed, _ in first.values()]
    feed = {key: np.concatenate([f[key] for f in feeds]) for key in ("observation", *state)}
    out = dict(zip(outputs, run(None, {**feed, "legal": rules["some"]})))
    for row, (_, one) in first.items():
        assert (out["levels"][row] == one["levels"][0]).all()
        assert np.abs(out["logits_2"][row] - one["logits_2"][0]).max() < LIMIT
    print(f"{name}: {len(calls)} calls, lstm {lstm}, max difference {worst:.1e}")


def main():
    folder = pathlib.Path(sys.argv[1])
    checked(str(folder / "model.onnx"))
    rules, calls = calls_of(folder / "calls.txt")
    found = 0
    for runtime in runtimes(str(folder / "model.onnx")):
        compare(*runtime, rules, calls)
        found += 1
    sys.exit(0 if found else SKIPPED)


main()
