#include "calibration/cuda/worker_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "core/error.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

// Checks the type, since the conversion of a real number beyond the range of integers is undefined.
template <class Integer>
Integer integer_at(const json& line, const char* key) {
  const json& value = line.at(key);
  const bool whole = value.is_number_integer();
  const bool large = value.is_number_unsigned() &&
                     value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  if (!whole || large || !std::in_range<Integer>(value.get<std::int64_t>())) {
    throw std::runtime_error(fmt::format("{}: found {}; expected a whole number of {} bits", key,
                                         quoted(value.dump()), 8 * sizeof(Integer)));
  }
  return value.get<Integer>();
}

WorkerRequest read_request(const json& line) {
  WorkerRequest request;
  request.id = integer_at<std::int64_t>(line, "id");
  if (line.contains("warmup")) request.warmup = std::max(0, integer_at<int>(line, "warmup"));
  if (line.contains("repeats")) request.repeats = std::max(1, integer_at<int>(line, "repeats"));
  request.cell = line.at("cell").get<CalibrationCell>();
  return request;
}

// Messages of other programs may not be UTF-8; invalid bytes are replaced.
std::string dump(const json& line) {
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

json answer_to(const WorkerRequest& request,
               const std::function<WorkerAnswer(const WorkerRequest&)>& measure) {
  const WorkerAnswer answer = measure(request);
  const auto repeats = static_cast<std::size_t>(request.repeats);
  if (answer.samples_s.size() != repeats) {
    throw std::logic_error(
        fmt::format("{} samples of {} repeats", answer.samples_s.size(), repeats));
  }
  for (const double sample_s : answer.samples_s) {
    if (!std::isfinite(sample_s) || sample_s <= 0) {
      throw std::runtime_error(fmt::format("measured a time of {} s", sample_s));
    }
  }
  return json{{"id", request.id}, {"samples_s", answer.samples_s}, {"extra", answer.extra}};
}

}  // namespace

const std::string& WorkerRequest::text(const std::string& column) const {
  const auto found = cell.find(column);
  if (found == cell.end()) throw std::runtime_error("the cell has no column " + column);
  return found->second;
}

std::uint64_t WorkerRequest::number(const std::string& column, std::uint64_t least) const {
  const std::string& value = text(column);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < least) {
    throw std::runtime_error(fmt::format("column {}: found {}; expected a whole number >= {}",
                                         column, quoted(value), least));
  }
  return number;
}

std::string environment_line(const std::string& worker, const Environment& environment) {
  return dump(json{{"worker", worker}, {"environment", environment}});
}

std::string refused_line(const std::string& worker, const std::string& why) {
  return dump(json{{"worker", worker}, {"refused", why}});
}

std::string request_line(const WorkerRequest& request) {
  return dump(json{{"id", request.id},
                   {"warmup", request.warmup},
                   {"repeats", request.repeats},
                   {"cell", request.cell}});
}

WorkerRequest parse_request(const std::string& line) { return read_request(json::parse(line)); }

int serve(std::istream& requests, std::ostream& answers,
          const std::function<WorkerAnswer(const WorkerRequest&)>& measure) {
  for (std::string line; std::getline(requests, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    WorkerRequest request;
    json answer;
    int code = 0;
    try {
      request = parse_request(line);
      answer = answer_to(request, measure);
    } catch (const CellRefused& why) {
      answer = json{{"id", request.id}, {"refused", why.what()}};
    } catch (const std::exception& why) {
      answer = json{{"id", request.id}, {"error", why.what()}};
      code = 1;
    }
    answers << dump(answer) << '\n' << std::flush;
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace cclgym
