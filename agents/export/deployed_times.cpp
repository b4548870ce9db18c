#include "agents/export/deployed_times.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/split.hpp"
#include "core/units.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/nccl_plugin/kernel_times.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"

namespace cclgym {

namespace {

// Positions of the columns in kTimesHeader, and their count.
namespace column {
enum Column : std::uint8_t {
  Communicator,
  Rank,
  Ranks,
  Nodes,
  Sequence,
  Collective,
  Bytes,
  Algorithm,
  Protocol,
  Channels,
  Warps,
  Start,
  Time,
  Count
};
}  // namespace column
using column::Column;

struct RecordedCall {
  std::tuple<int, std::size_t, int, int> key;
  double time_s = 0;
};

}  // namespace

RecordedTimes::RecordedTimes(std::string_view text, const std::string& name, std::uint32_t ranks,
                             std::uint32_t nodes) {
  static const std::vector<std::uint64_t> sizes = deployed_sizes();
  // The key is the communicator and the number of the call in it.
  std::map<std::pair<std::string, std::int64_t>, RecordedCall> calls;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const SourceLocation where{.file = name, .line = number};
    if (number == 1) {
      if (std::string(line) + "\n" != kTimesHeader) {
        throw UserError(where, "not a file of the profiler's times: the header differs");
      }
      continue;
    }
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != column::Count) {
      throw UserError(where, std::to_string(fields.size()) + " columns; expected " +
                                 std::to_string(static_cast<int>(column::Count)));
    }
    const auto integer = [&](Column column) {
      return parse_integer(fields[column], "a column", where);
    };
    const auto collective = nccl_collective_of(fields[column::Collective]);
    const auto algorithm = nccl_algorithm_of_csv(fields[column::Algorithm]);
    const auto protocol = nccl_protocol_of(fields[column::Protocol]);
    const double time_s = parse_real(fields[column::Time], "time_us", where) * 1e-6;
    if (!collective || !algorithm || !protocol || !(time_s > 0) || integer(column::Bytes) < 0) {
      throw UserError(where, "expected a call of one of NCCL's collectives with its time");
    }
    if (integer(column::Ranks) != ranks || integer(column::Nodes) != nodes) continue;
    RecordedCall& call =
        calls[{std::string(fields[column::Communicator]), integer(column::Sequence)}];
    call.key = {*collective,
                place_of_size(sizes, static_cast<std::uint64_t>(integer(column::Bytes))),
                *algorithm, *protocol};
    call.time_s = std::max(call.time_s, time_s);
  }
  for (const auto& [number, call] : calls) times_s_[call.key].push_back(call.time_s);
  calls_ = calls.size();
}

std::span<const double> RecordedTimes::of(int collective, std::uint64_t bytes, int algorithm,
                                          int protocol) const {
  static const std::vector<std::uint64_t> sizes = deployed_sizes();
  const auto found = times_s_.find({collective, place_of_size(sizes, bytes), algorithm, protocol});
  if (found == times_s_.end()) return {};
  return found->second;
}

}  // namespace cclgym
