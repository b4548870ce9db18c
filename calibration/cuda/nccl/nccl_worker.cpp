// cclgym-nccl-worker: times NCCL's collectives, one request per line (worker_lines.hpp). With
// --check-log=FILE it compares a log of NCCL with a policy instead and needs no GPU.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "calibration/cuda/cuda_build.hpp"
#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "calibration/cuda/nccl/nccl_log.hpp"
#include "calibration/cuda/nccl/nccl_team.hpp"
#include "calibration/cuda/nccl/team_peers.hpp"
#include "calibration/cuda/nccl/watchdog.hpp"
#include "calibration/cuda/quantisation.hpp"
#include "calibration/cuda/worker_lines.hpp"
#include "core/error.hpp"
#include "core/files/companion.hpp"
#include "core/files/standard_streams.hpp"
#include "core/files/text_file.hpp"
#include "core/ranks/launch.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

namespace {

constexpr const char* kWorker = "nccl";
constexpr int kRefused = 2;
constexpr std::size_t kMostLogBytes = std::size_t{1} << 31;

// Reads the lines added to the log since the last read.
class LogTail {
 public:
  /// Appends the lines read to the file `kept`, unless that is empty.
  LogTail(std::string path, std::string kept) : path_(std::move(path)), kept_(std::move(kept)) {}

  /// `channels`: number of channels of the communicator that made the calls, 0 if it is new; set to
  /// the number that the log states.
  std::vector<NcclDecision> decisions(bool keep, int& channels) {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    std::ostringstream text;
    text << file.rdbuf();
    std::string added = std::move(text).str();
    added.resize(added.rfind('\n') + 1);  // npos + 1 is 0: no complete line yet
    std::vector<NcclDecision> found = read_nccl_log(added, path_, lines_ + 1, channels);
    if (!found.empty()) channels = found.back().channels_of_communicator;
    read_ += added.size();
    lines_ += static_cast<std::size_t>(std::count(added.begin(), added.end(), '\n'));
    if (keep && !kept_.empty() && !(std::ofstream(kept_, std::ios::app) << added << std::flush)) {
      throw std::runtime_error("cannot write " + kept_);
    }
    return found;
  }

  /// Number of channels of the communicator of a configuration, 0 if it is not known yet.
  [[nodiscard]] int& channels_of(const std::string& config) { return channels_[config]; }

 private:
  std::string path_;
  std::string kept_;
  std::map<std::string, int> channels_;
  std::size_t read_ = 0;
  std::size_t lines_ = 0;
};

std::unique_ptr<const TunerChoices> choices_of(const std::string& path, int ranks, int nodes) {
  const std::string text = read_text_file(path, std::size_t{64} << 20);
  const auto n = static_cast<std::size_t>(ranks);
  const auto servers = static_cast<std::size_t>(nodes);
  if (text.starts_with("CCLGYMPO")) {
    return std::make_unique<PolicyChoices>(parse_policy(text, path), path, n, servers);
  }
  return std::make_unique<RowChoices>(text, path, n, servers);
}

std::string own_file(const char* name) {
  std::error_code error;
  const std::string path = companion_file(name);
  return std::filesystem::exists(path, error) ? path : std::string();
}

TeamOptions team_options(const OptionTexts& texts) {
  TeamOptions options;
  const std::string& mode = texts.at("mode");
  options.mode = mode == "gpus"     ? TeamMode::Gpus
                 : mode == "copies" ? TeamMode::Copies
                                    : TeamMode::Shared;
  options.ranks = static_cast<int>(parse_integer(texts.at("ranks")));
  options.nccl = texts.at("nccl").empty() ? cuda_build_info().nccl_library : texts.at("nccl");
  if (options.nccl.empty()) {
    throw UserError("no libnccl was found when this was built: --nccl=PATH of libnccl.so.2");
  }
  options.tuner =
      texts.at("tuner").empty() ? own_file("libnccl-tuner-cclgym.so") : texts.at("tuner");
  options.policy = texts.at("policy");
  options.ll128_everywhere = texts.at("ll128") == "everywhere";
  options.communicators = static_cast<std::size_t>(parse_integer(texts.at("communicators")));
  return options;
}

LoggedCommunicator logged(const NcclTeam& team, const TeamConfig& config) {
  return {.ranks = team.options().ranks, .version = team.version(), .channels = config.channels};
}

// Adds what NCCL really used beside what was requested.
void add_log(WorkerAnswer& answer, const NcclTeam& team, const TeamConfig& config,
             const std::vector<NcclDecision>& decisions) {
  answer.extra["logged_calls"] = std::to_string(decisions.size());
  if (decisions.empty()) return;
  const NcclDecision& last = decisions.back();
  answer.extra["used_algorithm"] =
      kNcclAlgorithmNames[static_cast<std::size_t>(last.algorithm)].csv;
  answer.extra["used_protocol"] = kNcclProtocolNames[static_cast<std::size_t>(last.protocol)];
  answer.extra["used_channels"] = std::to_string(last.channels);
  if (config.algorithm == "default") return;
  std::unique_ptr<const TunerChoices> choices;
  if (config.algorithm == "policy") {
    choices = choices_of(team.options().policy, team.options().ranks, team.nodes());
  } else {
    choices = std::make_unique<RowChoices>(
        tuner_csv_for(config.algorithm, config.protocol, config.channels), "choices",
        static_cast<std::size_t>(team.options().ranks), static_cast<std::size_t>(team.nodes()));
  }
  const NcclLogCheck check = check_nccl_log(decisions, *choices, logged(team, config));
  answer.extra["as_asked"] = to_string(agreement(last, *choices, logged(team, config)));
  answer.extra["as_asked_share"] = fmt::format("{:.4f}", check.same_share());
  if (config.algorithm == "policy") return;
  const auto different = check.by_agreement.find(NcclAgreement::Different);
  if (different != check.by_agreement.end()) {
    throw CellRefused(
        fmt::format("NCCL used {}/{}/{} instead: this communicator does not offer the "
                    "requested configuration",
                    answer.extra["used_algorithm"], answer.extra["used_protocol"],
                    answer.extra["used_channels"]));
  }
}

WorkerAnswer measure(NcclTeam& team, const TeamPeers& peers, Watchdog& watchdog, LogTail& log,
                     const WorkerRequest& request) {
  if (peers.first()) watchdog.request(request.id);
  TeamCall call{.collective = lower_case(request.text("collective")),
                .bytes = request.number("size_bytes", 4),
                .in_place = request.text("in_place") == "1"};
  if (!nccl_collective_of(call.collective)) {
    throw std::runtime_error("no collective " + quoted(call.collective));
  }
  const TeamConfig config{.algorithm = lower_case(request.text("algorithm")),
                          .protocol = request.text("protocol"),
                          .channels = static_cast<int>(request.number("channels"))};
  const TeamTimes times = team.run(config, call, request.warmup, request.repeats);
  watchdog.idle();
  if (!peers.first()) return {};
  WorkerAnswer answer;
  answer.samples_s = times.longest_s;
  const double factor = bus_factor(call.collective, team.options().ranks);
  const double algorithm_Bps = static_cast<double>(call.bytes) / upper_median(times.longest_s);
  answer.extra = {
      {"algbw_GBps", fmt::format("{:.5g}", algorithm_Bps / 1e9)},
      {"busbw_GBps", fmt::format("{:.5g}", algorithm_Bps * factor / 1e9)},
      {"shortest_rank_us_median", fmt::format("{:.5g}", upper_median(times.shortest_s) * 1e6)},
      {"verified", "yes"}};
  std::vector<NcclDecision> decisions = log.decisions(
      true,
      log.channels_of(fmt::format("{}/{}/{}", config.algorithm, config.protocol, config.channels)));
  std::erase_if(decisions,
                [](const NcclDecision& decision) { return decision.bytes == kStartBytes; });
  add_log(answer, team, config, decisions);
  return answer;
}

// The first calls; their times show whether processes take turns on a GPU.
TeamTimes first_calls(NcclTeam& team) {
  constexpr int kCalls = 50;
  return team.run({}, {.collective = "allreduce", .bytes = 8, .in_place = false}, 20, kCalls);
}

Environment environment_of(const NcclTeam& team, const TeamPeers& peers, const TeamTimes& small,
                           const OptionTexts& texts) {
  Environment environment = device_facts(0);
  const bool one_gpu = team.options().mode != TeamMode::Gpus;
  environment["nccl"] = team.version().to_string();
  environment["nccl_path"] = team.options().nccl;
  environment["tuner"] = team.options().tuner.empty() ? "none" : team.options().tuner;
  environment["mode"] = texts.at("mode");
  environment["ranks"] = std::to_string(team.options().ranks);
  environment["nodes"] = std::to_string(team.nodes());
  environment["label"] = one_gpu ? "single-GPU loopback" : "one rank a GPU";
  if (!peers.alone()) environment["processes"] = std::to_string(peers.processes());
  environment["built_with"] = cuda_build_text();
  const Quantisation quantisation = check_quantisation(small.longest_s);
  environment["allreduce_8B_us_median"] = fmt::format("{:.5g}", quantisation.median_s * 1e6);
  environment["quantisation"] = quantisation.text();
  return environment;
}

int check_log(const OptionTexts& texts, const std::string& path, int nodes,
              const std::string& version) {
  if (texts.at("policy").empty()) throw UserError("--check-log needs --policy=FILE");
  const auto ranks = static_cast<int>(parse_integer(texts.at("ranks")));
  if (ranks < 2)
    throw UserError("--check-log needs --ranks=N, the ranks of the log's communicator");
  const auto choices = choices_of(texts.at("policy"), ranks, nodes);
  const NcclLogCheck check =
      check_nccl_log(read_nccl_log(read_text_file(path, kMostLogBytes), path), *choices,
                     {.ranks = ranks, .version = parse_nccl_version(version), .channels = 0});
  std::cout << nccl_log_text(check);
  constexpr double kWanted = 0.99;
  return check.chosen() > 0 && check.explained_share() >= kWanted ? 0 : 1;
}

// Makes the team of this process. If that of any process fails, all throw the error.
std::unique_ptr<NcclTeam> team_of(const OptionTexts& texts, TeamPeers& peers, const Busy& busy) {
  std::unique_ptr<NcclTeam> team;
  std::string error;
  try {
    team = std::make_unique<NcclTeam>(team_options(texts), peers, busy);
  } catch (const UserError& why) {
    error = why.what();
  }
  error = shared_error(error, peers);
  if (!error.empty()) throw UserError(error);
  team->join();
  return team;
}

// Ends this process, and its peers, with an exit code.
using GiveUp = std::function<void(int code)>;

int serve_cells(const OptionTexts& texts, TeamPeers& peers, const GiveUp& give_up) {
  const OptionSpec& timeout = find_option(nccl_worker_options(), "timeout");
  Watchdog watchdog(read_time_s(texts.at("timeout"), timeout));
  watchdog.busy("starting");
  const auto team = team_of(texts, peers, [&](const std::string& what) { watchdog.busy(what); });
  const TeamTimes small = first_calls(*team);
  watchdog.idle();
  // Processes other than the first have no log of the decisions, and keep none.
  LogTail log(team->log_path(), peers.first() ? texts.at("log") : "");
  if (peers.first()) {
    const Environment environment = environment_of(*team, peers, small, texts);
    if (environment.at("quantisation") != "passed") {
      std::cerr << "cclgym-nccl-worker: quantisation test " << environment.at("quantisation")
                << '\n';
    }
    // Skips the first calls' decisions.
    (void)log.decisions(false, log.channels_of("default/default/0"));
    std::cout << environment_line(kWorker, environment) << std::endl;
  }
  int code = 1;
  try {
    code = serve_together(peers, std::cin, std::cout, [&](const WorkerRequest& request) {
      return measure(*team, peers, watchdog, log, request);
    });
  } catch (const std::exception& error) {
    // Thrown by processes other than the first, which answers with its errors.
    std::cerr << fmt::format("cclgym-nccl-worker: process {}: {}", peers.process(), error.what())
              << std::endl;
  }
  // After an error, kernels may wait for each other forever, and destructors for the kernels.
  if (code != 0) give_up(code);
  watchdog.busy("ending");
  return code;
}

// Measures on the ranks of this process, or of all that a launcher has started.
int measure_cells(const std::vector<std::string>& arguments) {
  const OptionTexts texts = read_nccl_worker_arguments(arguments);
  if (!launched_rank()) {
    TeamPeers alone;
    return serve_cells(texts, alone, [](int code) { std::_Exit(code); });
  }
  const std::unique_ptr<RankLink> link = open_rank_link(arguments);
  TeamPeers peers(*link);
  try {
    (void)serve_cells(texts, peers, [&link](int code) { link->abort(code); });
  } catch (const UserError& error) {
    // Thrown by all processes; one line is enough.
    if (peers.first()) std::cout << refused_line(kWorker, error.what()) << std::endl;
    link->finish();
    return kRefused;
  } catch (const std::exception& error) {
    std::cerr << fmt::format("cclgym-nccl-worker: process {}: {}", peers.process(), error.what())
              << std::endl;
    link->abort(1);  // the other processes may wait in a call that never ends
  }
  link->finish();
  return 0;
}

int run(std::vector<std::string> arguments) {
  // Options of --check-log only.
  const auto take = [&](std::string_view name, std::string otherwise) {
    const std::string prefix = fmt::format("--{}=", name);
    const auto found =
        std::find_if(arguments.begin(), arguments.end(),
                     [&](const std::string& one) { return one.starts_with(prefix); });
    if (found == arguments.end()) return otherwise;
    std::string value = found->substr(prefix.size());
    arguments.erase(found);
    return value;
  };
  const std::string log_to_check = take("check-log", "");
  if (!log_to_check.empty()) {
    const int nodes = static_cast<int>(parse_integer(take("nodes", "1")));
    const std::string version = take("nccl-version", cuda_build_info().nccl_header);
    return check_log(read_nccl_worker_arguments(arguments), log_to_check, nodes, version);
  }
  return measure_cells(arguments);
}

}  // namespace

}  // namespace cclgym

int main(int argc, char** argv) {
  using namespace cclgym;
  open_closed_standard_streams();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--version"}) {
    std::cout << "cclgym-nccl-worker, " << cuda_build_text() << '\n';
    return 0;
  }
  if (arguments == std::vector<std::string>{"--list"}) return 0;
  try {
    return run(arguments);
  } catch (const UserError& error) {
    std::cout << refused_line("nccl", error.what()) << std::endl;
    std::cerr << "cclgym-nccl-worker: " << error.what() << '\n';
    return kRefused;
  } catch (const std::exception& error) {
    std::cerr << "cclgym-nccl-worker: " << error.what() << std::endl;
    std::_Exit(1);
  }
}
