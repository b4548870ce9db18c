#include "sim/tuners/nccl_csv_tuner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "sim/call/tiles.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

namespace {

class NcclCsvTuner final : public Tuner {
 public:
  NcclCsvTuner(std::string_view text, const std::string& path, const TunerSite& site)
      : path_(path),
        rows_(text, path, static_cast<std::size_t>(site.fabric->ranks()),
              static_cast<std::size_t>(site.fabric->servers())),
        cost_model_(site.cost_model),
        nccl_(kNewestNccl, nccl_comm_for(*site.fabric, kNewestNccl)),
        rest_(make_nccl_default_tuner("", site)) {}

  [[nodiscard]] Config choose(const Call& call) const override {
    const Answer answer = answer_for(call);
    return answer.config ? *answer.config : rest_->choose(call);
  }

  [[nodiscard]] std::string note(const Call& call) const override {
    const Answer answer = answer_for(call);
    std::vector<std::string> sentences = rows_.skipped();
    if (!answer.config) {
      sentences.push_back(fmt::format("{}: {}, so that NCCL {} chooses for {} of {}", path_,
                                      answer.reason, nccl_.version().to_string(),
                                      to_string(call.collective), format_bytes(call.bytes)));
    }
    return fmt::format("{}", fmt::join(sentences, "\nnote: "));
  }

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return rest_->chooses_for(collective);
  }

  [[nodiscard]] std::string description() const override { return rows_.description(); }

 private:
  // The configuration of a line, or the reason why the call is left to NCCL.
  struct Answer {
    std::optional<Config> config{};
    std::string reason{};
  };

  [[nodiscard]] Answer answer_for(const Call& call) const {
    const auto collective = nccl_collective(call.collective);
    if (!collective) return {.reason = "NCCL asks no tuner about this collective"};
    constexpr int kPipeOps = 1;  // a call that no other call is grouped with
    const std::span<const TunerChoice> wanted =
        rows_.wanted(*nccl_collective_of(to_string(call.collective)), call.bytes, kPipeOps);
    if (wanted.empty()) return {.reason = "no line matches"};
    const TunerChoice& choice = wanted.front();
    const std::string_view program =
        kNcclAlgorithmNames[static_cast<std::size_t>(choice.algorithm)].ours;
    const std::string_view name = kNcclProtocolNames[static_cast<std::size_t>(choice.protocol)];
    const Protocol protocol = *parse_protocol(name);
    const auto algorithm = nccl_algorithm(program, nccl_.version());
    const auto plan = algorithm ? nccl_.plan(*collective, *algorithm, protocol, call.bytes)
                                : std::optional<NcclChoice>();
    if (!plan) {
      return {.reason = fmt::format("the line that matches has {} with {}, which NCCL does not "
                                    "offer here",
                                    program, name)};
    }
    const Config config{.algorithm = std::string(program),
                        .protocol = protocol,
                        .channels = choice.channels > 0 ? choice.channels : plan->channels};
    return {.config = with_protocol_tiles(cost_model_, call.collective, config)};
  }

  std::string path_;
  RowChoices rows_;
  CostModel cost_model_;
  NcclDefault nccl_;
  std::unique_ptr<const Tuner> rest_;
};

}  // namespace

std::unique_ptr<const Tuner> make_nccl_csv_tuner(std::string_view text, const std::string& path,
                                                 const TunerSite& site) {
  try {
    return std::make_unique<const NcclCsvTuner>(text, path, site);
  } catch (const UserError& error) {
    if (site.where.file.empty()) throw;
    throw UserError(site.where, error.what());
  }
}

}  // namespace cclgym
