#include "workloads/readers/traces/kineto_events.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym {

namespace {

// Times beyond this are wrong, ns: some 70 years from the trace's zero. Sums and differences of two
// fit into 64 bits.
constexpr double kMostTimeNs = 0x1p61;

enum class Key : std::uint8_t {
  Other,
  TraceEvents,
  DistributedInfo,
  Rank,
  WorldSize,
  PgConfig,
  PgName,
  Ranks,
  Ph,
  Cat,
  Name,
  Ts,
  Dur,
  Tid,
  Args,
  Stream,
  Device,
  Correlation,
  SyncKind,
  WaitOnStream,
  RecordCorrelation,
  Collective,
  InElements,
  OutElements,
  Dtype,
  GroupSize,
  GroupName,
  GroupDescription,
  GroupRanks,
  Source,
  Destination
};

Key key_of(const std::string& text) {
  static const std::unordered_map<std::string_view, Key> keys{
      {"traceEvents", Key::TraceEvents},
      {"distributedInfo", Key::DistributedInfo},
      {"rank", Key::Rank},
      {"world_size", Key::WorldSize},
      {"pg_config", Key::PgConfig},
      {"pg_name", Key::PgName},
      {"ranks", Key::Ranks},
      {"ph", Key::Ph},
      {"cat", Key::Cat},
      {"name", Key::Name},
      {"ts", Key::Ts},
      {"dur", Key::Dur},
      {"tid", Key::Tid},
      {"args", Key::Args},
      {"stream", Key::Stream},
      {"device", Key::Device},
      {"correlation", Key::Correlation},
      {"cuda_sync_kind", Key::SyncKind},
      {"wait_on_stream", Key::WaitOnStream},
      {"wait_on_cuda_event_record_corr_id", Key::RecordCorrelation},
      {"Collective name", Key::Collective},
      {"In msg nelems", Key::InElements},
      {"Out msg nelems", Key::OutElements},
      {"dtype", Key::Dtype},
      {"Group size", Key::GroupSize},
      {"Process Group Name", Key::GroupName},
      {"Process Group Description", Key::GroupDescription},
      {"Process Group Ranks", Key::GroupRanks},
      {"Src Rank", Key::Source},
      {"Dst Rank", Key::Destination}};
  const auto found = keys.find(text);
  return found == keys.end() ? Key::Other : found->second;
}

// A scalar of the text: a number is kept as a whole number and as nanoseconds, if it was
// microseconds.
struct Scalar {
  std::optional<std::int64_t> integer{};
  std::optional<std::int64_t> ns{};
  const std::string* text = nullptr;
};

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || read != end) return std::nullopt;
  return value;
}

// Nanoseconds in "4458677009853.422" microseconds.
std::optional<std::int64_t> decimal_ns(double value, const std::string& text) {
  const double rounded = value * 1e3;
  if (!(std::abs(rounded) < kMostTimeNs)) return std::nullopt;
  const std::size_t point = text.find('.');
  const auto before = whole(std::string_view(text).substr(0, point));
  if (point == std::string::npos || !before || *before < 0) {
    return static_cast<std::int64_t>(std::llround(rounded));
  }
  std::int64_t fraction = 0;
  for (std::size_t digit = 1; digit <= 3; ++digit) {
    const char c = point + digit < text.size() ? text[point + digit] : '0';
    if (c < '0' || c > '9') return static_cast<std::int64_t>(std::llround(rounded));
    fraction = fraction * 10 + (c - '0');
  }
  if (text.find_first_of("eE", point) != std::string::npos) {
    return static_cast<std::int64_t>(std::llround(rounded));
  }
  return *before * 1000 + fraction;
}

struct Event {
  std::string ph{};
  std::string cat{};
  std::string name{};
  std::string sync_kind{};
  std::optional<std::int64_t> ts{};
  std::optional<std::int64_t> dur{};
  std::optional<std::int64_t> tid{};
  std::optional<std::int64_t> stream{};
  std::optional<std::int64_t> device{};
  std::optional<std::int64_t> correlation{};
  std::optional<std::int64_t> wait_on_stream{};
  std::optional<std::int64_t> record_correlation{};
  KinetoCall call{};
  /// First value that should be a number: "its duration (dur) is 'abc'; expected microseconds".
  std::string malformed{};
};

// nlohmann's SAX interface; `depth_` counts the objects and arrays around the current value.
class Handler {
 public:
  Handler(std::string_view text, KinetoTrace& trace) : text_(text), trace_(trace) {}

  bool null() { return true; }
  bool boolean(bool /*value*/) { return true; }
  bool number_integer(std::int64_t value) { return number(value); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return true;
    return number(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& text) {
    return scalar({.ns = decimal_ns(value, text)});
  }
  bool string(const std::string& text) {
    // Some versions write numbers of ranks as texts.
    return scalar({.integer = whole(text), .text = &text});
  }
  bool binary(const std::vector<std::uint8_t>& /*value*/) { return true; }

  bool key(const std::string& text) {
    if (depth_ == 1) section_ = key_of(text);
    if (depth_ == 2) info_key_ = key_of(text);
    if (depth_ == 3) event_key_ = key_of(text);
    if (depth_ == 4) inner_key_ = key_of(text);
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    ++depth_;
    if (depth_ == 1) is_object_ = true;
    if (depth_ == 3 && in_events()) {
      event_ = {};
      in_event_ = true;
      event_key_ = Key::Other;
      ++event_number_;
    }
    if (depth_ == 4) {
      inner_key_ = Key::Other;
      if (in_groups()) trace_.groups.emplace_back();
    }
    return true;
  }
  bool end_object() {
    if (depth_ == 3 && in_event_) {
      finish_event();
      in_event_ = false;
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*size*/) {
    ++depth_;
    if (depth_ == 2 && section_ == Key::TraceEvents) has_events_ = true;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) {
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const std::size_t last = before.rfind('\n');
    throw UserError(
        SourceLocation{
            .file = trace_.file,
            .line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
            .column = before.size() - (last == std::string_view::npos ? 0 : last + 1)},
        position >= text_.size() ? "the trace is truncated: its JSON ends here"
                                 : "found no JSON here; expected a trace of PyTorch's profiler");
  }

  void finish() {
    if (is_object_ && has_events_) {
      trace_.texts = texts_.take();
      return;
    }
    throw UserError(SourceLocation{.file = trace_.file},
                    "it has no traceEvents; expected a trace of PyTorch's profiler");
  }

 private:
  [[nodiscard]] bool in_events() const { return is_object_ && section_ == Key::TraceEvents; }
  [[nodiscard]] bool in_groups() const {
    return is_object_ && section_ == Key::DistributedInfo && info_key_ == Key::PgConfig;
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw UserError(SourceLocation{.file = trace_.file},
                    fmt::format("event {} ({}): {}", event_number_, quoted(event_.name), reason));
  }

  bool number(std::int64_t value) {
    Scalar read{.integer = value};
    if (std::abs(static_cast<double>(value)) * 1e3 < kMostTimeNs) read.ns = value * 1000;
    return scalar(read);
  }

  bool scalar(const Scalar& value) {
    if (in_event_ && depth_ == 3) {
      event_scalar(value);
    } else if (in_event_ && depth_ == 4 && event_key_ == Key::Args) {
      argument(value);
    } else if (is_object_ && section_ == Key::DistributedInfo && depth_ == 2) {
      if (info_key_ == Key::Rank) trace_.rank = value.integer;
      if (info_key_ == Key::WorldSize) trace_.world_size = value.integer;
    } else if (in_groups() && !trace_.groups.empty() && (depth_ == 4 || depth_ == 5)) {
      group_scalar(value);
    }
    return true;
  }

  void group_scalar(const Scalar& value) {
    KinetoGroup& group = trace_.groups.back();
    if (depth_ == 4 && value.text != nullptr) {
      if (inner_key_ == Key::PgName) group.name = *value.text;
      if (inner_key_ == Key::Ranks) {
        group.ranks = parse_rank_list(*value.text).value_or(std::vector<std::int32_t>{});
      }
    } else if (depth_ == 5 && inner_key_ == Key::Ranks && value.integer) {
      const std::int64_t rank = std::clamp<std::int64_t>(*value.integer, -1, kMostTraceRanks);
      group.ranks.push_back(static_cast<std::int32_t>(rank));
    }
  }

  void event_scalar(const Scalar& value) {
    const auto set = [&](std::string& member) {
      if (value.text != nullptr) member = *value.text;
    };
    switch (event_key_) {
      case Key::Ph:
        return set(event_.ph);
      case Key::Cat:
        return set(event_.cat);
      case Key::Name:
        return set(event_.name);
      case Key::Ts:
        event_.ts = value.ns;
        return note_malformed(event_.malformed, value, value.ns, "time (ts)", "microseconds");
      case Key::Dur:
        event_.dur = value.ns;
        return note_malformed(event_.malformed, value, value.ns, "duration (dur)", "microseconds");
      case Key::Tid:
        event_.tid = value.integer;
        return;
      default:
        return;
    }
  }

  // Keeps a text for the note about the event, if it turns out to be one that is needed.
  static void note_malformed(std::string& malformed, const Scalar& value,
                             const std::optional<std::int64_t>& read, std::string_view what,
                             std::string_view expected) {
    if (read || value.text == nullptr || !malformed.empty()) return;
    malformed = fmt::format("its {} is {}; expected {}", what, quoted(*value.text), expected);
  }

  void argument(const Scalar& value) {
    KinetoCall& call = event_.call;
    const std::pair<Key, std::optional<std::int64_t>*> numbers[] = {
        {Key::Stream, &event_.stream},
        {Key::Device, &event_.device},
        {Key::Correlation, &event_.correlation},
        {Key::WaitOnStream, &event_.wait_on_stream},
        {Key::RecordCorrelation, &event_.record_correlation},
        {Key::InElements, &call.in_elements},
        {Key::OutElements, &call.out_elements},
        {Key::GroupSize, &call.group_size},
        {Key::Source, &call.source},
        {Key::Destination, &call.destination}};
    for (const auto& [key, member] : numbers) {
      if (key != inner_key_) continue;
      *member = value.integer;
      if (key == Key::InElements || key == Key::OutElements) {
        note_malformed(call.malformed, value, value.integer,
                       key == Key::InElements ? "\"In msg nelems\"" : "\"Out msg nelems\"",
                       "a number of elements");
      }
    }
    if (value.text == nullptr) return;
    const std::pair<Key, std::string*> texts[] = {{Key::SyncKind, &event_.sync_kind},
                                                  {Key::Collective, &call.collective},
                                                  {Key::Dtype, &call.dtype},
                                                  {Key::GroupName, &call.group},
                                                  {Key::GroupDescription, &call.description},
                                                  {Key::GroupRanks, &call.ranks}};
    for (const auto& [key, member] : texts) {
      if (key == inner_key_) *member = *value.text;
    }
  }

  void finish_event() {
    if (event_.ph != "X") return;
    const std::string& cat = event_.cat;
    constexpr std::string_view kOps[] = {"kernel", "gpu_memcpy", "gpu_memset",
                                         "Kernel", "Memcpy",     "Memset"};
    constexpr std::string_view kStep = "ProfilerStep#";
    if (std::find(std::begin(kOps), std::end(kOps), cat) != std::end(kOps)) {
      add_op();
    } else if (cat.ends_with("_runtime") || cat.ends_with("_driver") || cat == "Runtime") {
      if (event_.ts && event_.correlation) {
        trace_.launches.push_back({.correlation = *event_.correlation, .time_ns = *event_.ts});
      }
    } else if (cat == "cuda_sync") {
      if (event_.sync_kind == "Stream Wait Event" && event_.stream && event_.correlation &&
          event_.wait_on_stream && event_.record_correlation) {
        trace_.waits.push_back({.stream = *event_.stream,
                                .correlation = *event_.correlation,
                                .wait_on_stream = *event_.wait_on_stream,
                                .record_correlation = *event_.record_correlation});
      }
    } else if (cat != "gpu_user_annotation" && event_.name.starts_with(kStep)) {
      const auto number = whole(std::string_view(event_.name).substr(kStep.size()));
      if (number && event_.ts && event_.dur && *event_.dur >= 0) {
        trace_.steps.push_back(
            {.number = *number, .begin_ns = *event_.ts, .end_ns = *event_.ts + *event_.dur});
      }
    }
  }

  void add_op() {
    if (trace_.ops.size() >= kMostTraceOps) {
      refuse(fmt::format("the trace has more than {} operations on the GPU", kMostTraceOps));
    }
    if (!event_.stream) event_.stream = event_.tid;
    std::string reason = event_.malformed;
    if (reason.empty() && (!event_.ts || !event_.dur)) {
      reason = "it has no time (ts) or duration (dur)";
    }
    if (reason.empty() && *event_.dur < 0) reason = "its duration (dur) is negative";
    if (reason.empty() && !event_.stream) reason = "it has no stream";
    if (!reason.empty()) {
      if (trace_.unplaced_count++ == 0) {
        trace_.unplaced = {event_number_, event_.name, std::move(reason)};
      }
      return;
    }
    KinetoOp op{.start_ns = *event_.ts,
                .end_ns = *event_.ts + *event_.dur,
                .stream = *event_.stream,
                .device = event_.device.value_or(0),
                .correlation = event_.correlation.value_or(0),
                .event = event_number_,
                .name = texts_.index(event_.name)};
    const KinetoCall& call = event_.call;
    if (!call.collective.empty() || call.in_elements || call.out_elements || call.group_size ||
        !call.dtype.empty() || !call.group.empty() || !call.ranks.empty()) {
      op.call = static_cast<std::int32_t>(trace_.calls.size());
      trace_.calls.push_back(std::move(event_.call));
    }
    trace_.ops.push_back(op);
  }

  std::string_view text_;
  KinetoTrace& trace_;
  TextTable texts_;
  int depth_ = 0;
  Key section_ = Key::Other;    // key of the outermost object
  Key info_key_ = Key::Other;   // key in distributedInfo
  Key event_key_ = Key::Other;  // key in an event
  Key inner_key_ = Key::Other;  // key in an event's args, or in an entry of pg_config
  bool is_object_ = false;
  bool has_events_ = false;
  bool in_event_ = false;
  std::int64_t event_number_ = 0;
  Event event_;
};

}  // namespace

KinetoTrace parse_kineto(std::string_view text, const std::string& file) {
  KinetoTrace trace{.file = file};
  Handler handler(text, trace);
  nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
  handler.finish();
  return trace;
}

}  // namespace cclgym
