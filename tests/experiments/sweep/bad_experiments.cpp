#include "experiments/sweep/bad_experiments.hpp"

#include <algorithm>
#include <utility>

#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Fills in the lists of names, which grow with the library.
std::string filled_in(std::string message) {
  const auto keys_of = [](const std::vector<OptionSpec>& specs) {
    std::vector<std::string> keys;
    for (const OptionSpec& spec : specs) keys.push_back(spec.name);
    return joined(keys);
  };
  std::vector<std::string> fabrics;
  for (const FabricInfo& info : fabric_infos()) fabrics.push_back(info.name);
  const auto choices = [](std::string_view key) {
    return joined(find_option(experiment_options(), key).choices);
  };
  const std::vector<std::pair<std::string, std::string>> lists{
      {"{keys}", keys_of(experiment_options())},
      {"{baseline-keys}", keys_of(baseline_options())},
      {"{cost-model-keys}", keys_of(cost_model_choice_options())},
      {"{fabrics}", joined(fabrics)},
      {"{collectives}", choices("collectives")},
      {"{algorithms}", choices("algorithms")},
      {"{engines}", choices("engine")},
      {"{cost-models}", joined(cost_model_names())}};
  for (const auto& [mark, list] : lists) {
    if (const std::size_t at = message.find(mark); at != std::string::npos) {
      message.replace(at, mark.size(), list);
    }
  }
  return message;
}

std::vector<BadExperiment> make_bad_experiments() {
  std::vector<BadExperiment> all{
      {"unknown key", experiment_with({{"fabrics", ""}}) + "fabrik: [dgx1]\n",
       ":5:1: unknown key of experiment 'fabrik'; expected one of {keys} (did you mean "
       "'fabrics'?)"},
      {"missing key", experiment_with({{"sizes", ""}}),
       ":1:1: experiment has no 'sizes'; expected size or list of sizes"},
      {"unknown fabric", experiment_with({{"fabrics", "[dgx3]"}}),
       ":2:11: unknown fabric 'dgx3'; expected one of {fabrics} (did you mean 'dgx1'?); or the "
       "path of a file, with a dot or a slash in it (./topo)"},
      {"unknown collective", experiment_with({{"collectives", "[allredcue]"}}),
       ":3:15: unknown collective 'allredcue'; expected one of {collectives} (did you mean "
       "'allreduce'?)"},
      {"unknown algorithm", experiment_with({{"algorithms", "[ring, rinng]"}}),
       ":4:20: unknown algorithm 'rinng'; expected one of {algorithms} (did you mean 'ring'?)"},
      {"unknown protocol", experiment_with({{"protocols", "[LL129]"}}),
       ":6:13: unknown protocol 'LL129'; expected one of LL, LL128, Simple (did you mean "
       "'LL128'?)"},
      {"unknown engine", experiment_with({{"engine", "simgird"}}),
       ":6:9: unknown engine 'simgird'; expected one of {engines} (did you mean 'simgrid'?)"},
      {"unknown cost model", experiment_with({{"cost_model", "a10"}}),
       ":6:13: unknown cost model 'a10'; expected one of {cost-models}, auto (did you mean "
       "'a100'?); or the path of a parameter file (*.yaml)"},
      {"bandwidth without a unit", experiment_with({{"fabrics", "[{name: ring, bandwidth: 25}]"}}),
       ":2:35: bandwidth needs a unit, e.g. '25 GB/s'; found '25'"},
      {"negative size", experiment_with({{"sizes", "[-1KiB]"}}),
       ":5:9: sizes is '-1KiB'; expected a size that is not negative, e.g. '64KiB'"},
      {"zero size", experiment_with({{"sizes", "[0B]"}}), ":5:9: sizes is '0B'; expected >= 1B"},
      {"size with an unknown unit", experiment_with({{"sizes", "[1024P]"}}),
       ":5:9: sizes has the unknown unit 'P'; expected one of B, KB, MB, GB, TB, KiB, MiB, GiB, "
       "TiB, K, M, G, T"},
      {"sizes below an element per rank",
       experiment_with({{"collectives", "[allgather]"}, {"sizes", "[28B]"}}),
       ":5:9: nothing is left to simulate: on fabric 'dgx1': allgather of 28 B is not a multiple "
       "of "
       "32 B (8 ranks x 4 B elements); nearest: 32 B"},
      {"rank misfit",
       experiment_with(
           {{"fabrics", "[{name: ring, gpus: 6}]"}, {"algorithms", "[ring, recursive-doubling]"}}),
       ":4:20: on fabric 'ring gpus=6': recursive-doubling does not run on 6 ranks: it needs a "
       "power of two >= 2"},
      {"algorithm without collective", experiment_with({{"algorithms", "[ring, naive]"}}),
       ":4:20: algorithm 'naive' has none of the experiment's collectives; it has alltoall, "
       "broadcast, reduce, gather, scatter, alltonext"},
      {"collective without algorithm", experiment_with({{"collectives", "[allreduce, scatter]"}}),
       ":3:26: none of the experiment's algorithms has scatter; these have it: naive"},
      {"empty list", experiment_with({{"sizes", "[]"}}),
       ":5:8: sizes is an empty list; expected at least one value"},
      {"no value", experiment_with({{"sizes", "~"}}),
       ":5:1: sizes has no value; expected size or list of sizes"},
      {"no value where there is a default", experiment_with({}) + "channels:\n",
       ":6:1: channels has no value; expected whole number or list of whole numbers"},
      {"no value in a baseline", experiment_with({{"baseline", "{channels: }"}}),
       ":6:12: channels has no value; expected whole number"},
      {"duplicate key", experiment_with({}) + "sizes: [2KiB]\n",
       ":6:1: found the key 'sizes' a second time; expected it once (first in line 5)"},
      {"duplicate value", experiment_with({{"algorithms", "[ring, tree, ring]"}}),
       ":4:26: algorithms has 'ring' more than once"},
      {"tab in the indentation", "name: bad\nfabrics:\n\t- dgx1\n",
       ":3:1: found a tab in the indentation; expected spaces only"},
      {"range without step", experiment_with({{"sizes", "[1KiB..1MiB]"}}),
       ":5:9: sizes is the range '1KiB..1MiB' without a step; expected e.g. '1KiB..1GiB x2'"},
      {"too many cells",
       experiment_with(
           {{"sizes", "[4B..40000B +4B]"}, {"channels", "1..64"}, {"seeds", "[1..10]"}}),
       ":1:1: the experiment has too many cells; expected at most 1000000"},
      {"too long a range", experiment_with({{"sizes", "[4B..1GiB +4B]"}}),
       ":5:9: sizes is the range '4B..1GiB +4B' of more than 10000 values; expected at most 10000 "
       "in "
       "each range of a list"},
      {"too many slots", experiment_with({{"slots", "9"}}),
       ":6:8: slots is '9'; expected >= 0, <= 8"},
      {"root that no rank has", experiment_with({{"collectives", "[broadcast]"}, {"root", "8"}}),
       ":6:7: root is 8; expected a rank of fabric 'dgx1', 0 to 7"},
      {"channels out of range", experiment_with({{"channels", "0"}}),
       ":6:11: channels is '0'; expected >= 1, <= 64"},
      {"threads out of range", experiment_with({{"threads", "16"}}),
       ":6:10: threads is '16'; expected >= 32, <= 1024, a multiple of 32"},
      {"name that leaves the results folder", experiment_with({{"name", "../up"}}),
       ":1:7: name is '../up'; expected at most 100 letters, digits, '.', '_' and '-', not "
       "starting with '.' or '-'"},
      {"baseline that is not in the experiment",
       experiment_with({{"baseline", "{algorithm: tree}"}}),
       ":6:23: unknown algorithm of the experiment 'tree'; expected one of ring"},
      {"baseline with a foreign key", experiment_with({{"baseline", "{size: 1KiB}"}}),
       ":6:12: unknown key of baseline 'size'; expected one of {baseline-keys} (did you mean "
       "'tile'?)"},
      {"timeline of a fabric that is not in the experiment",
       experiment_with({{"timeline", "[{fabric: ndv4}]"}}),
       ":6:21: unknown fabric of the experiment 'ndv4'; expected one of dgx1"},
      {"timeline that matches no cell",
       experiment_with({{"collectives", "[allreduce, alltoall]"},
                        {"algorithms", "[ring, naive]"},
                        {"timeline", "{collective: alltoall, algorithm: ring}"}}),
       ":6:11: timeline matches no cell of the experiment"},
      {"missing measured file", experiment_with({{"measured", "gone.csv"}}),
       ":6:11: measured file 'gone.csv' does not exist"},
      {"measured speedup without a measured file",
       experiment_with(
           {{"baseline", "{algorithm: ring}"}, {"measured_speedup", "{of: a, over: b}"}}),
       ":7:19: measured_speedup needs measured: CSV files (relative to the folder of this file) "
       "with "
       "measured times to show beside the simulated ones"},
      {"measured speedup with one side", experiment_with({{"measured_speedup", "{of: msccl}"}}),
       ":6:19: measured_speedup has no 'over'; expected text"},
      {"missing published file", experiment_with({{"published", "gone.csv"}}),
       ":6:12: published file 'gone.csv' does not exist"},
      {"only with an algorithm that is not in the experiment",
       experiment_with({{"only", "{algorithm: tree}"}}),
       ":6:19: unknown algorithm of the experiment 'tree'; expected one of ring"},
      {"only without an algorithm", experiment_with({{"only", "{channels: 1}"}}),
       ":6:7: only has no 'algorithm'; expected text"},
      {"only with channels that are not in the experiment",
       experiment_with({{"channels", "[1, 4]"}, {"only", "{algorithm: ring, channels: [1, 2]}"}}),
       ":7:39: unknown channels of the experiment '2'; expected one of 1, 4 (did you mean '1'?)"},
      {"only with a protocol that is not in the experiment",
       experiment_with({{"protocols", "LL"}, {"only", "{algorithm: ring, protocol: LL128}"}}),
       ":7:35: unknown protocol of the experiment 'LL128'; expected one of LL"},
      {"only of a tuner",
       experiment_with({{"fabrics", "ndv4"},
                        {"algorithms", "[\"nccl-default:2.8.4\"]"},
                        {"only", "{algorithm: \"nccl-default:2.8.4\"}"}}),
       ":6:19: 'nccl-default:2.8.4' chooses its configurations itself; expected an algorithm"},
      {"missing fabric file", experiment_with({{"fabrics", "gone.yaml"}}),
       ":2:10: fabric file 'gone.yaml' does not exist"},
      {"missing parameter file", experiment_with({{"cost_model", "gone.yaml"}}),
       ":6:13: parameter file 'gone.yaml' does not exist"},
      {"unknown cost parameter", experiment_with({{"cost_model", "{base: a100, start_skw: 2us}"}}),
       ":6:26: unknown key of cost model 'start_skw'; expected one of {cost-model-keys} (did you "
       "mean 'start_skew'?)"},
      {"cost parameter that hockney does not have",
       experiment_with({{"cost_model", "{base: hockney, start_skew: 2us}"}}),
       ":6:29: cost model 'hockney' has no 'start_skew': it is made of the links' latencies and "
       "bandwidths alone"},
      {"cost parameter without a unit",
       experiment_with({{"cost_model", "{base: a100, start_skew: 2}"}}),
       ":6:38: start_skew needs a unit, e.g. '1.5us'; found '2'"},
      {"cost parameter out of range",
       experiment_with({{"cost_model", "{base: a100, protocols: {LL: {efficiency: 2}}}"}}),
       ":6:55: efficiency is '2'; expected > 0, <= 1"},
      {"list in list", experiment_with({{"sizes", "[[1KiB]]"}}),
       ":5:9: found a list; expected a single value"},
      {"unknown datatype", experiment_with({{"datatype", "fp33"}}),
       ":6:11: unknown datatype 'fp33'; expected one of int8, uint8, fp8_e4m3, fp8_e5m2, f8e4m3, "
       "f8e5m2, float16, half, fp16, bfloat16, bf16, int32, uint32, float32, float, fp32, int64, "
       "uint64, float64, double, fp64 (did you mean 'fp32'?)"},
      {"empty file", "", ": found nothing; expected a YAML document"},
      {"no mapping", "hello\n", ":1:1: experiment is 'hello'; expected a mapping (key: value)"},
      {"fabric twice", experiment_with({{"fabrics", "[dgx1, dgx1]"}}),
       ":2:17: fabrics has 'dgx1' more than once"},
      {"option that a fabric does not have",
       experiment_with({{"fabrics", "[{name: dgx1, servers: 2}]"}}),
       ":2:24: unknown key of fabric dgx1 'servers'; expected one of name, bandwidth, "
       "latency, nvb, without"},
      {"latency without a unit", experiment_with({{"fabrics", "[{name: ring, latency: 5}]"}}),
       ":2:33: latency needs a unit, e.g. '1.5us'; found '5'"},
  };
  for (BadExperiment& bad : all) bad.message = filled_in(bad.message);
  return all;
}

}  // namespace

std::string experiment_with(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::vector<std::pair<std::string, std::string>> all{{"name", "bad"},
                                                       {"fabrics", "[dgx1]"},
                                                       {"collectives", "[allreduce]"},
                                                       {"algorithms", "[ring]"},
                                                       {"sizes", "[1KiB]"}};
  for (const auto& line : lines) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const auto& other) { return other.first == line.first; });
    if (same != all.end()) {
      same->second = line.second;
    } else {
      all.push_back(line);
    }
  }
  std::string text;
  for (const auto& [key, value] : all) {
    if (value.empty()) continue;
    text += key;
    text += ": ";
    text += value;
    text += '\n';
  }
  return text;
}

const std::vector<BadExperiment>& bad_experiments() {
  static const std::vector<BadExperiment> all = make_bad_experiments();
  return all;
}

}  // namespace cclgym::test
