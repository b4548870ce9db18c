#include "calibration/cuda/nccl/nccl_cells.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <stdexcept>

#include "core/error.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"

namespace cclgym {

namespace {

std::vector<std::string> measured_collectives() {
  return {kNcclCollectiveNames.begin(), kNcclCollectiveNames.end()};
}

// NCCL has Tree for AllReduce only, the CollNets and NVLS for three collectives, PAT for two
// (tuning.cc).
bool offers(const std::string& collective, const std::string& algorithm) {
  if (algorithm == "ring") return true;
  const bool sliced = collective == "allgather" || collective == "reducescatter";
  if (algorithm == "pat") return sliced;
  if (algorithm == "nvls") return sliced || collective == "allreduce";
  return collective == "allreduce";
}

bool offers_protocol(const std::string& algorithm, const std::string& protocol) {
  return algorithm == "ring" || algorithm == "tree" || protocol == "Simple";
}

}  // namespace

const std::vector<OptionSpec>& nccl_cell_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "collectives",
       .kind = OptionKind::Choice,
       .shape = OptionShape::List,
       .description = "collectives to measure",
       .default_text = "allreduce,allgather,reducescatter,broadcast,reduce",
       .choices = measured_collectives()},
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::List,
       .description =
           "collective sizes (the larger of a rank's send and receive buffers), multiples of 4 B",
       .min = 4,
       .max = 1ULL << 36,
       .default_text = "8B..64MiB x8"},
      {.name = "algorithms",
       .kind = OptionKind::Choice,
       .shape = OptionShape::List,
       .description = "algorithms to measure, `default` for NCCL's own choice, or `policy` for the "
                      "choice of the worker's policy",
       .default_text = "default,ring,tree",
       .choices = {"default", "policy", "ring", "tree", "nvls", "nvls_tree", "pat"}},
      {.name = "protocols",
       .kind = OptionKind::Choice,
       .shape = OptionShape::List,
       .description = "protocols to measure with each named algorithm",
       .default_text = "LL,LL128,Simple",
       .choices = {"LL", "LL128", "Simple"}},
      {.name = "channels",
       .kind = OptionKind::Integer,
       .shape = OptionShape::List,
       .description = "numbers of channels to measure with each named algorithm; 0: NCCL's choice",
       .min = 0,
       .max = 64,
       .default_text = "1,2,4,8"},
      {.name = "placement",
       .kind = OptionKind::Choice,
       .shape = OptionShape::List,
       .description = "placement of the result: out of place or in place",
       .default_text = "out,in",
       .choices = {"out", "in"}},
  };
  return specs;
}

CellTable nccl_cells(const OptionTexts& texts) {
  const std::vector<OptionSpec>& specs = nccl_cell_options();
  check_option_texts(texts, specs);
  const auto spec = [&](std::string_view name) -> const OptionSpec& {
    return find_option(specs, name);
  };
  const std::vector<std::uint64_t> sizes = listed_bytes(texts, spec("sizes"));
  for (const std::uint64_t size : sizes) {
    if (size % sizeof(float) != 0) {
      throw UserError(
          fmt::format("--sizes: found {} B; expected multiples of 4 B, as floats are "
                      "sent",
                      size));
    }
  }
  struct Config {
    std::string algorithm;
    std::string protocol;
    std::string channels;
  };
  std::vector<Config> configs;
  for (const std::string& algorithm : listed_choices(texts, spec("algorithms"))) {
    if (algorithm == "default" || algorithm == "policy") {
      configs.push_back({algorithm, "default", "0"});
      continue;
    }
    for (const std::string& protocol : listed_choices(texts, spec("protocols"))) {
      if (!offers_protocol(algorithm, protocol)) continue;
      for (const std::int64_t channels : listed_integers(texts, spec("channels"))) {
        configs.push_back({algorithm, protocol, std::to_string(channels)});
      }
    }
  }
  CellTable table{
      .columns = {"collective", "size_bytes", "algorithm", "protocol", "channels", "in_place"},
      .cells = {}};
  const std::vector<std::string> placements = listed_choices(texts, spec("placement"));
  for (const std::string& collective : listed_choices(texts, spec("collectives"))) {
    for (const Config& config : configs) {
      if (config.protocol != "default" && !offers(collective, config.algorithm)) continue;
      for (const std::uint64_t size : sizes) {
        for (const std::string& placement : placements) {
          table.cells.push_back({{"collective", collective},
                                 {"size_bytes", std::to_string(size)},
                                 {"algorithm", config.algorithm},
                                 {"protocol", config.protocol},
                                 {"channels", config.channels},
                                 {"in_place", placement == "in" ? "1" : "0"}});
        }
      }
    }
  }
  return table;
}

const std::vector<OptionSpec>& nccl_worker_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "mode",
       .kind = OptionKind::Choice,
       .description = "placement of the ranks: one per visible GPU (gpus); all on the first GPU, "
                      "each with a copy of the library, over loopback sockets (copies); all on the "
                      "first GPU, with NCCL 2.30 or newer given by `nccl` (shared)",
       .default_text = "gpus",
       .choices = {"gpus", "copies", "shared"}},
      {.name = "ranks",
       .kind = OptionKind::Integer,
       .description = "number of ranks; 0: one per GPU, or 4 if all are on one GPU",
       .min = 0,
       .max = 64,
       .default_text = "0"},
      {.name = "nccl",
       .kind = OptionKind::Text,
       .description = "path of libnccl.so.2; default: the library found at build time"},
      {.name = "tuner",
       .kind = OptionKind::Text,
       .description = "path of libnccl-tuner-cclgym.so; default: the plugin of this build"},
      {.name = "policy",
       .kind = OptionKind::Text,
       .description = "policy file, or CSV of a policy, for cells of the algorithm `policy`"},
      {.name = "log",
       .kind = OptionKind::Text,
       .description = "file to which the log of NCCL's rank 0 about the cells' calls is appended; "
                      "default: none"},
      {.name = "ll128",
       .kind = OptionKind::Choice,
       .description = "where LL128 may be used: where NCCL takes it for safe, or everywhere (mode "
                      "copies: over sockets, where NCCL leaves it out)",
       .default_text = "safe",
       .choices = {"safe", "everywhere"}},
      {.name = "communicators",
       .kind = OptionKind::Integer,
       .description = "max number of communicators to keep; each algorithm, protocol and number of "
                      "channels needs one",
       .min = 1,
       .max = 256,
       .default_text = "24"},
      {.name = "timeout",
       .kind = OptionKind::Time,
       .description = "time after which a hanging call is given up",
       .default_text = "30s"},
  };
  return specs;
}

namespace {

// Reads each value through its option record, which throws the errors.
void check_worker_options(const OptionTexts& texts) {
  const std::vector<OptionSpec>& specs = nccl_worker_options();
  check_option_texts(texts, specs);
  for (const auto& [name, text] : texts) {
    const OptionSpec& spec = find_option(specs, name);
    const SourceLocation where{.file = "--" + name};
    if (spec.kind == OptionKind::Choice) (void)read_choice(text, spec, where);
    if (spec.kind == OptionKind::Integer) (void)read_integer(text, spec, where);
    if (spec.kind == OptionKind::Time) (void)read_time_s(text, spec, where);
    if (spec.kind == OptionKind::Text) (void)read_text(text, spec, where);
  }
}

}  // namespace

std::vector<std::string> nccl_worker_arguments(const OptionTexts& texts) {
  check_worker_options(texts);
  std::vector<std::string> arguments;
  for (const auto& [name, text] : texts) arguments.push_back(fmt::format("--{}={}", name, text));
  return arguments;
}

OptionTexts read_nccl_worker_arguments(const std::vector<std::string>& arguments) {
  OptionTexts texts;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--") || equals == std::string::npos) {
      throw UserError(fmt::format("found {}; expected --OPTION=VALUE", quoted(argument)));
    }
    texts[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
  }
  check_worker_options(texts);
  for (const OptionSpec& spec : nccl_worker_options()) {
    texts.try_emplace(spec.name, spec.default_text);
  }
  return texts;
}

std::string tuner_csv_for(const std::string& algorithm, const std::string& protocol, int channels) {
  std::string text =
      "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (const std::string_view collective : kNcclCollectiveNames) {
    if (!offers(std::string(collective), algorithm)) continue;
    // The range ends at 1 TiB, more than any buffer.
    text += fmt::format("{},0,1099511627776,{},{},{},-1,-1\n", collective, algorithm,
                        lower_case(protocol), channels == 0 ? -1 : channels);
  }
  return text;
}

double bus_factor(const std::string& collective, int ranks) {
  const double n = ranks;
  if (collective == "allreduce") return 2 * (n - 1) / n;
  if (collective == "allgather" || collective == "reducescatter") return (n - 1) / n;
  if (collective == "broadcast" || collective == "reduce") return 1;
  throw std::logic_error("no bus factor of " + collective);
}

}  // namespace cclgym
