"""Lists of mistakes: command lines and files that cclgym must refuse, and a few good ones to compare with.

`record` records only their exit codes, because messages may be reworded. The kinds of mistakes are those in
the tests of the readers, but the texts may differ.
"""

# Stands for the name of the file in command lines; `record` replaces it.
FILE = "@FILE@"


def experiment(**lines):
    """A good experiment with some lines changed; the value None removes a line. Values are YAML."""
    keys = {
        "name": "bad",
        "fabrics": "[dgx1]",
        "collectives": "[allreduce]",
        "algorithms": "[ring]",
        "sizes": "[1KiB]",
        "engine": "flow",
    }
    keys.update(lines)
    return "".join(f"{key}: {value}\n" for key, value in keys.items() if value is not None)


EXPERIMENTS = {
    "good": experiment(),
    "unknown-key": experiment(fabrik="[dgx1]"),
    "missing-fabrics": experiment(fabrics=None),
    "missing-sizes": experiment(sizes=None),
    "unknown-fabric": experiment(fabrics="[dgx3]"),
    "unknown-collective": experiment(collectives="[allredcue]"),
    "unknown-algorithm": experiment(algorithms="[ring, rinng]"),
    "unknown-protocol": experiment(protocols="[LL129]"),
    "unknown-engine": experiment(engine="simgird"),
    "unknown-cost-model": experiment(cost_model="a10"),
    "unknown-noise": experiment(noise="stormy"),
    "unknown-datatype": experiment(datatype="fp32"),
    "unknown-cost-parameter": experiment(cost_model="{base: a100, start_skw: 2us}"),
    "unknown-fabric-option": experiment(fabrics="[{name: dgx1, servers: 2}]"),
    "foreign-baseline-key": experiment(baseline="{size: 1KiB}"),
    "bandwidth-without-unit": experiment(fabrics="[{name: ring, bandwidth: 25}]"),
    "latency-without-unit": experiment(fabrics="[{name: ring, latency: 5}]"),
    "negative-size": experiment(sizes="[-1KiB]"),
    "zero-size": experiment(sizes="[0B]"),
    "size-without-unit": experiment(sizes="[1024]"),
    "size-no-multiple-of-element": experiment(sizes="[1KiB, 1022B]"),
    "size-no-multiple-of-ranks": experiment(collectives="[allgather]", sizes="[1000B..4000B +1000B]"),
    "rank-misfit": experiment(fabrics="[{name: ring, gpus: 6}]", algorithms="[ring, recursive-doubling]"),
    "algorithm-without-collective": experiment(algorithms="[ring, naive]"),
    "collective-without-algorithm": experiment(collectives="[allreduce, scatter]"),
    "empty-list": experiment(sizes="[]"),
    "no-value": experiment(sizes="~"),
    "no-value-with-default": experiment() + "channels:\n",
    "no-value-in-baseline": experiment(baseline="{channels: }"),
    "duplicate-key": experiment() + "sizes: [2KiB]\n",
    "duplicate-value": experiment(algorithms="[ring, tree, ring]"),
    "duplicate-fabric": experiment(fabrics="[dgx1, dgx1]"),
    "tab": "name: bad\nfabrics:\n\t- dgx1\n",
    "range-without-step": experiment(sizes="[1KiB..1MiB]"),
    "too-long-range": experiment(sizes="[4B..1GiB +4B]"),
    "too-many-cells": experiment(sizes="[4B..40000B +4B]", channels="1..64", seeds="[1..10]"),
    "too-many-slots": experiment(slots="9"),
    "tile-without-unit": experiment(tile="65536"),
    "root-that-no-rank-has": experiment(collectives="[broadcast]", root="8"),
    "channels-out-of-range": experiment(channels="0"),
    "threads-out-of-range": experiment(threads="16"),
    "name-that-leaves-the-folder": experiment(name="../up"),
    "baseline-not-in-experiment": experiment(baseline="{algorithm: tree}"),
    "timeline-of-other-fabric": experiment(timeline="[{fabric: ndv4}]"),
    "timeline-of-no-cell": experiment(
        collectives="[allreduce, alltoall]",
        algorithms="[ring, naive]",
        timeline="{collective: alltoall, algorithm: ring}",
    ),
    "missing-measured-file": experiment(measured="gone.csv"),
    "missing-published-file": experiment(published="gone.csv"),
    "missing-fabric-file": experiment(fabrics="gone.yaml"),
    "missing-parameter-file": experiment(cost_model="gone.yaml"),
    "measured-speedup-without-file": experiment(
        baseline="{algorithm: ring}", measured_speedup="{of: a, over: b}"
    ),
    "measured-speedup-with-one-side": experiment(measured_speedup="{of: msccl}"),
    "only-with-other-algorithm": experiment(only="{algorithm: tree}"),
    "only-without-algorithm": experiment(only="{channels: 1}"),
    "only-with-other-channels": experiment(channels="[1, 4]", only="{algorithm: ring, channels: [1, 2]}"),
    "only-of-a-chooser": experiment(
        fabrics="ndv4",
        algorithms='["nccl-default:2.8.4"]',
        only='{algorithm: "nccl-default:2.8.4"}',
    ),
    "unknown-chooser-release": experiment(fabrics="ndv4", algorithms='["nccl-default:1.0"]'),
    "hockney-has-no-parameters": experiment(cost_model="{base: hockney, start_skew: 2us}"),
    "cost-parameter-without-unit": experiment(cost_model="{base: a100, start_skew: 2}"),
    "cost-parameter-out-of-range": experiment(
        cost_model="{base: a100, protocols: {LL: {efficiency: 2}}}"
    ),
    "list-in-list": experiment(sizes="[[1KiB]]"),
    "empty-file": "",
    "no-mapping": "hello\n",
    "open-list": "name: [bad\n",
    "zero-bytes": "\0\0\0\0",
}


def link(keys):
    """A fabric of two GPUs and one link, which has these keys."""
    return f"nodes:\n  - {{name: a}}\n  - {{name: b}}\nlinks:\n  - {{{keys}}}\n"


GOOD_LINK = "from: a, to: b, bandwidth: 1 GB/s, latency: 1us"
FABRICS = {
    "good": link(GOOD_LINK),
    "negative-server": "nodes: [{name: a, server: -1}]\n",
    "several-in-a-gpu": "nodes: [{name: a, multiplicity: 2}]\n",
    "gpu-that-computes": "nodes: [{name: a, computes: true}]\n",
    "no-server-0": "nodes: [{name: a, server: 1}]\n",
    "no-gpu": "nodes: [{name: s, kind: nic}]\n",
    "same-name-twice": "nodes:\n  - {name: a0..2}\n  - {name: a2}\n",
    "no-way": "nodes: [{name: a0..1}]\n",
    "no-way-back": link(GOOD_LINK + ", duplex: false"),
    "unknown-node": link("from: a, to: bb, bandwidth: 1 GB/s, latency: 1us"),
    "link-to-itself": link("from: a, to: a, bandwidth: 1 GB/s, latency: 1us"),
    "link-with-one-end": link("from: a, bandwidth: 1 GB/s, latency: 1us"),
    "mesh-with-ends": link("from: a, mesh: b, bandwidth: 1 GB/s, latency: 1us"),
    "one-way-mesh": link("mesh: a, duplex: false, bandwidth: 1 GB/s, latency: 1us"),
    "ends-of-unequal-number": "nodes: [{name: a0..2}, {name: b0..1}]\n"
    "links: [{from: a0..2, to: b0..1, bandwidth: 1 GB/s, latency: 1us}]\n",
    "unknown-key": "nodse: []\n",
    "unknown-key-of-node": "nodes: [{name: a, knd: gpu}]\n",
    "unknown-kind-of-node": "nodes: [{name: a, kind: gpo}]\n",
    "unknown-key-of-link": link("from: a, to: b, bandwith: 1 GB/s, latency: 1us"),
    "unknown-kind-of-link": link(GOOD_LINK + ", kind: nvlnk"),
    "unknown-gpu-model": "gpu_model: V1000\nnodes: [{name: a}]\n",
    "no-nodes": "name: x\n",
    "empty-nodes": "nodes: []\n",
    "list": "- a\n",
    "no-bandwidth": link("from: a, to: b, latency: 1us"),
    "zero-bandwidth": link("from: a, to: b, bandwidth: 0 GB/s, latency: 1us"),
    "bandwidth-without-unit": link("from: a, to: b, bandwidth: 25, latency: 1us"),
    "latency-without-unit": link("from: a, to: b, bandwidth: 1 GB/s, latency: 3"),
    "no-link-at-all": link(GOOD_LINK + ", multiplicity: 0"),
    "range-that-counts-down": "nodes: [{name: g3..1}]\n",
    "too-many-names": "nodes: [{name: g0..100000}]\n",
}

PARAMETER_FILE = """name: mine
kernel_launch: {value: 5us, source: measured}
local_copy_rate: 100 GB/s
alpha: {nvlink: 0.5us}
protocols:
  LL: {step_latency: 1us, efficiency: 0.5, thread_block_rate: 8 GB/s, reduce_rate: 4 GB/s}
  LL128: {step_latency: 2us, efficiency: 0.9375, thread_block_rate: 9 GB/s, reduce_rate: 5 GB/s}
  Simple: {step_latency: 3us, efficiency: 1, thread_block_rate: 10 GB/s, reduce_rate: 6 GB/s}
"""


def changed(text, old, new):
    """The text with the first `old` replaced by `new`. The text must contain `old`."""
    assert old in text, old
    return text.replace(old, new, 1)


PARAMETERS = {
    "good": PARAMETER_FILE,
    "unknown-key": changed(PARAMETER_FILE, "kernel_launch", "kernel_lunch"),
    "rate-without-unit": changed(PARAMETER_FILE, "100 GB/s", "100"),
    "efficiency-out-of-range": changed(PARAMETER_FILE, "efficiency: 0.5", "efficiency: 1.5"),
    "unknown-protocol": changed(PARAMETER_FILE, "LL128:", "LL64:"),
    "blocks-not-whole": PARAMETER_FILE + "max_thread_blocks: 1.5\n",
    "no-name": changed(PARAMETER_FILE, "name: mine\n", ""),
    "unknown-key-of-value": changed(PARAMETER_FILE, "value: 5us", "valeu: 5us"),
    "no-reduce-rate": changed(PARAMETER_FILE, ", reduce_rate: 6 GB/s", ""),
    "negative-time": changed(PARAMETER_FILE, "5us", "-5us"),
    "empty": "",
    "list": "- 1\n",
}

RANGES = "tables:\n  - fabric: ndv4\n    collective: allreduce\n    ranges:\n"


def range_of(sizes, more="algorithm: ring"):
    return f"      - {{sizes: {sizes}, {more}}}\n"


DISPATCH = {
    "good": RANGES + range_of(".."),
    "hole": RANGES + range_of("1KiB..32KiB") + range_of("64KiB..1MiB"),
    "not-in-order": RANGES + range_of("16KiB..1MiB") + range_of("1KiB..32KiB"),
    "twice": RANGES + range_of("..") + range_of(".."),
    "upside-down": RANGES + range_of("1MiB..1KiB"),
    "no-range": RANGES + range_of("1KiB"),
    "sizes-without-unit": RANGES + range_of("1..2"),
    "unknown-algorithm": RANGES + range_of("..", "algorithm: rign"),
    "algorithm-of-other-collective": RANGES + range_of("..", "algorithm: naive"),
    "channels-out-of-range": RANGES + range_of("..", "algorithm: ring, channels: 65"),
    "unknown-key": RANGES + range_of("..", "algorithm: ring, chanels: 2"),
    "no-algorithm": RANGES + range_of("..", "protocol: LL"),
    "no-value": RANGES + range_of("..", "algorithm: ring, channels: "),
    "unknown-fallback": "fallback: rng\n" + RANGES + range_of(".."),
    "table-as-fallback": "fallback: dispatch:u.yaml\n" + RANGES + range_of(".."),
    "no-tables": "tables: []\n",
    "empty": "",
    "size-in-no-range": RANGES + range_of("1GiB.."),
}

LOAD = "name: x\nload:\n  network:\n    correlation_time: 1ms\n    states: "
NOISE = {
    "good": LOAD + "[{capacity: 1, share: 0.5}, {capacity: 0.5, share: 0.5}]\n",
    "unknown-key": "name: x\nlaod: {}\n",
    "no-name": "description: x\n",
    "shares-that-are-not-1": LOAD + "[{capacity: 1, share: 0.5}, {capacity: 0.5, share: 0.4}]\n",
    "no-capacity": LOAD + "[{capacity: 0, share: 1}]\n",
    "no-share": LOAD + "[{capacity: 1}]\n",
    "unknown-network": "name: x\nload:\n  ether: {}\n",
    "median-without-unit": "name: x\njitter:\n  network: {median: 3}\n",
    "rate-out-of-range": "name: x\nslow_gpus: {rate: 1.5}\n",
    "jobs-without-bytes": "name: x\nbackground: {jobs: 1}\n",
    "reserved-name": "name: none\nstart_skew: 1us\n",
    "gpu-that-is-not-there": "name: x\nslow_gpus: {ranks: [99], rate: 0.5}\n",
    "empty": "",
}

XML_FILE = """<algo name="two" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1">
  <gpu id="0" i_chunks="0" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="0" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"""
PROGRAMS = {
    "good": XML_FILE,
    "legal-but-wrong": changed(
        XML_FILE, 'srcoff="0" dstbuf="o" dstoff="0"', 'srcoff="1" dstbuf="o" dstoff="1"'
    ),
    "empty": "",
    "cut-off": XML_FILE[:300],
    "cut-off-at-the-end": XML_FILE[:-9],
    "doctype": '<!DOCTYPE a [<!ENTITY b "bbbb">]>\n' + XML_FILE,
    "other-element": "<agol/>",
    "two-programs": XML_FILE + XML_FILE,
    "text": XML_FILE + "more",
    "not-utf-8": changed(XML_FILE, 'name="two"', 'name="\udcff"'),
    "unknown-collective": changed(XML_FILE, 'coll="allgather"', 'coll="algather"'),
    "unknown-protocol": changed(XML_FILE, 'proto="LL"', 'proto="LL64"'),
    "too-many-channels": changed(XML_FILE, 'nchannels="1"', 'nchannels="34"'),
    "other-number-of-gpus": changed(XML_FILE, 'ngpus="2"', 'ngpus="3"'),
    "chunks-that-do-not-divide": changed(XML_FILE, 'nchunksperloop="2"', 'nchunksperloop="3"'),
    "no-collective": changed(XML_FILE, ' coll="allgather"', ""),
    "collective-twice": changed(XML_FILE, 'coll="allgather"', 'coll="allgather" coll="reduce"'),
    "same-gpu-twice": changed(XML_FILE, '<gpu id="1"', '<gpu id="0"'),
    "other-number-of-chunks": changed(XML_FILE, 'o_chunks="2"', 'o_chunks="4"'),
    "peer-that-is-the-gpu-itself": changed(XML_FILE, 'send="1"', 'send="0"'),
    "peer-that-is-not-there": changed(XML_FILE, 'send="1"', 'send="2"'),
    "channel-that-is-not-there": changed(XML_FILE, 'chan="0"', 'chan="1"'),
    "other-element-for-a-step": changed(XML_FILE, '<step s="0"', '<stop s="0"'),
    "steps-not-in-order": changed(XML_FILE, '<step s="1"', '<step s="2"'),
    "unknown-type": changed(XML_FILE, 'type="s"', 'type="rr"'),
    "unknown-buffer": changed(XML_FILE, 'srcbuf="o"', 'srcbuf="x"'),
    "out-of-the-buffer": changed(XML_FILE, 'srcoff="0"', 'srcoff="2"'),
    "no-number": changed(XML_FILE, 'srcoff="0"', 'srcoff="0x"'),
    "receive-without-peer": changed(XML_FILE, 'send="1" recv="1"', 'send="1" recv="-1"'),
    "half-a-dependency": changed(XML_FILE, 'depid="-1"', 'depid="0"'),
    "dependency-on-nothing": changed(XML_FILE, 'depid="-1" deps="-1"', 'depid="3" deps="0"'),
    "receive-without-send": changed(XML_FILE, 'type="s"', 'type="r"'),
    "send-without-receive": changed(XML_FILE, 'type="r"', 'type="s"'),
    "threads-that-are-no-warps": changed(XML_FILE, 'inplace="1"', 'inplace="1" nthreads="33"'),
}

ENVIRONMENT = """fabric: {name: ring, gpus: 4}
actions: stock-nccl
workload: {name: sweep, collectives: [allreduce], sizes: 64KiB}
"""
ENVIRONMENTS = {
    "good": ENVIRONMENT,
    "unknown-key": ENVIRONMENT + "fabrik: ring\n",
    "unknown-fabric": changed(ENVIRONMENT, "ring", "rign"),
    "unknown-actions": changed(ENVIRONMENT, "stock-nccl", "stack-nccl"),
    "unknown-workload": changed(ENVIRONMENT, "sweep", "sweap"),
    "unknown-noise": ENVIRONMENT + "noise: stormy\n",
    "unknown-reward": ENVIRONMENT + "reward: praise\n",
    "unknown-knob": ENVIRONMENT + "knobs: {chanels: [4]}\n",
    "unknown-level": ENVIRONMENT + "knobs: {channels: [5]}\n",
    "window-out-of-range": ENVIRONMENT + "window: 65\n",
    "empty": "",
}

TRAINING = """name: t
train:
  - options: {fabric: {name: ring, gpus: 4}, actions: stock-nccl,
              workload: {name: sweep, collectives: [allreduce], sizes: 64KiB}}
agent: {encoder: [4], lstm: 2, head: 4, value: 4}
warm_start: {iterations: 0}
ppo: {iterations: 1, environments: 2, steps: 4, sequence: 4}
"""
TRAININGS = {
    "unknown-key": TRAINING + "seed: 1\n",
    "no-name": changed(TRAINING, "name: t\n", ""),
    "unknown-algorithm": TRAINING + "algorithm: pppo\n",
    "unknown-expert": changed(TRAINING, "{iterations: 0}", "{expert: svn}"),
    "sequence-that-does-not-divide": changed(TRAINING, "sequence: 4", "sequence: 3"),
    "layer-of-no-units": changed(TRAINING, "encoder: [4]", "encoder: [0]"),
    "lstm-with-dqn": TRAINING + "algorithm: dqn\n",
    "environment-without-actions": changed(TRAINING, "stock-nccl", "stack-nccl"),
    "empty": "",
}

SIMULATE = "simulate --engine flow --fabric ndv4 --collective allreduce --algorithm ring --size 1MiB"

# By kind of file: its texts, the ending of its name, and the command line that reads it.
FILES = {
    "experiment": (EXPERIMENTS, ".yaml", f"run {FILE} --out out --jobs 1 --quiet"),
    "fabric": (FABRICS, ".yaml", f"describe fabric {FILE}"),
    "parameters": (PARAMETERS, ".yaml", f"{SIMULATE} --cost-model {FILE}"),
    "noise": (NOISE, ".yaml", f"{SIMULATE} --noise {FILE}"),
    "dispatch": (
        DISPATCH,
        ".yaml",
        f"simulate --engine flow --fabric ndv4 --collective allreduce --algorithm dispatch:{FILE} --size 1MiB",
    ),
    "program": (PROGRAMS, ".xml", f"verify {FILE}"),
    "simulated-program": (
        {name: PROGRAMS[name] for name in ("good", "empty", "unknown-type", "legal-but-wrong")},
        ".xml",
        f"simulate --engine flow --fabric ring --gpus 2 --program {FILE} --size 1MiB",
    ),
    "environment": (ENVIRONMENTS, ".yaml", f"evaluate {FILE} --against random --calls 2 --seeds 1 --out out"),
    "training": (TRAININGS, ".yaml", f"train {FILE} --out out --quiet"),
    "policy": ({"empty": "", "text": "hello\n"}, ".policy", f"deploy --policy {FILE} --for nccl-2.28 -o out"),
}

COMMANDS = (
    "run report simulate describe list compile verify tune-dispatch fit compare calibrate train evaluate "
    "validate export deploy"
).split()

LINES = [
    "",
    "--help",
    "--version",
    "--vresion",
    "rnu",
    *(f"{command} --help" for command in COMMANDS),
    *(f"{command} --no-such-option" for command in COMMANDS),
    *COMMANDS,
    "run a b",
    "run a --jobs",
    "run a --jobs 1 --jobs 2",
    "run a --jobs 0",
    "run --FILE a",
    "run gone.yaml",
    "run /",
    "report gone",
    "list fabrik",
    "list fabrics algorithms",
    "describe fabric",
    "describe fabric dgx3",
    "describe machine dgx1",
    "describe fabric dgx1 --nodes 2",
    "describe fabric ring --gpus 1",
    "compile ring --collective allreduce --gpus 8",
    "compile rign --collective allreduce --gpus 8 --out o.xml",
    "compile ring --collective alltoall --gpus 8 --out o.xml",
    "compile recursive-doubling --collective allreduce --gpus 6 --out o.xml",
    "compile ring --collective allreduce --gpus 8 --servers 3 --out o.xml",
    "compile ring --collective allreduce --gpus 8 --dialect dutch --out o.xml",
    "compile ring --collective allreduce --gpus 2 --channels 33 --out o.xml",
    "verify gone.xml",
    "verify / --execute",
    "tune-dispatch gone.yaml -o table.yaml",
    "fit --measured gone.csv",
    "fit --measured gone.csv --fabric ndv5",
    "compare --measured gone.csv",
    "calibrate nckl --out o.csv",
    "calibrate mpi",
    "train gone.yaml",
    "evaluate gone",
    "validate gone --out o",
    "export gone --to o.policy",
    "export gone --to o --format tar",
    "deploy --for nccl-2.28",
    "deploy --for nccl-2.28 -o out",
    "deploy --policy gone --for nccl-2.28 -o out",
    "deploy --policy p --for ncl-2.28 -o out",
    "deploy --policy p --dispatch d --for nccl-2.28 -o out",
    "deploy --constants --machine dgx1 --for nccl-2.27 -o out",
    "deploy --constants --for nccl-2.28 -o out",
    "deploy --constants --machine dgx3 --for nccl-2.28 -o out",
    SIMULATE,
    SIMULATE.replace("ndv4", "ndv5"),
    SIMULATE.replace("allreduce", "allredcue"),
    SIMULATE.replace("allreduce", "alltoall"),
    SIMULATE.replace("ring", "rign"),
    SIMULATE.replace("1MiB", "1022B"),
    SIMULATE.replace("1MiB", "1024"),
    SIMULATE.replace("1MiB", "0B"),
    SIMULATE.replace("flow", "flew"),
    SIMULATE.replace("ring", "nccl-default:1.0"),
    SIMULATE.replace("ring", "dispatch:gone.yaml"),
    SIMULATE + " --protocol LL129",
    SIMULATE + " --channels 65",
    SIMULATE + " --instances 0",
    SIMULATE + " --threads 31",
    SIMULATE + " --datatype float33",
    SIMULATE + " --root 1",
    SIMULATE + " --slots 9",
    SIMULATE + " --tile 7",
    SIMULATE + " --nodes 0",
    SIMULATE + " --nodes many",
    SIMULATE + " --gpus 4",
    SIMULATE + " --nic-binding nowhere",
    SIMULATE + " --noise stormy",
    SIMULATE + " --cost-model a10",
    SIMULATE + " --seed -1",
    SIMULATE + " --timeline /no/such/folder/t.json",
    SIMULATE + " --program gone.xml",
]
