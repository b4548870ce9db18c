#include "cost_models/parameters/cost_parameters.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/core.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// A number without limit is not written.
std::optional<double> limited(double value) {
  return value < ProtocolCost::kUnlimited ? std::optional<double>(value) : std::nullopt;
}

class Table {
 public:
  void time(std::string name, double CostModel::*member, double typical, bool fitted) {
    add({.name = std::move(name),
         .kind = OptionKind::Time,
         .least = kLeast_s,
         .most = kMost_s,
         .typical = typical,
         .fitted = fitted,
         .get = [member](const CostModel& model) { return model.*member; },
         .set = [member](CostModel& model, double value) { model.*member = value; }});
  }
  void rate(std::string name, double CostModel::*member, double typical, bool fitted) {
    add({.name = std::move(name),
         .kind = OptionKind::Rate,
         .least = kLeast_Bps,
         .most = kMost_Bps,
         .typical = typical,
         .fitted = fitted,
         .get = [member](const CostModel& model) { return limited(model.*member); },
         .set = [member](CostModel& model, double value) { model.*member = value; }});
  }
  void real(std::string name, double CostModel::*member) {
    add({.name = std::move(name),
         .kind = OptionKind::Real,
         .least = 0.1,
         .most = 1,
         .typical = 0.8,
         .get = [member](const CostModel& model) { return model.*member; },
         .set = [member](CostModel& model, double value) { model.*member = value; }});
  }
  void count(std::string name, int CostModel::*member) {
    add({.name = std::move(name),
         .kind = OptionKind::Integer,
         .get = [member](const CostModel& model) { return model.*member; },
         .set = [member](CostModel& model,
                         double value) { model.*member = static_cast<int>(value); }});
  }
  void size(std::string name, std::uint64_t CostModel::*member) {
    add({.name = std::move(name),
         .kind = OptionKind::Bytes,
         .get = [member](const CostModel& model) { return static_cast<double>(model.*member); },
         .set = [member](CostModel& model,
                         double value) { model.*member = static_cast<std::uint64_t>(value); }});
  }
  void alpha(LinkKind kind, double typical) {
    const auto index = static_cast<std::size_t>(kind);
    add({.name = fmt::format("alpha.{}", to_string(kind)),
         .kind = OptionKind::Time,
         .least = kLeast_s,
         .most = kMost_s,
         .typical = typical,
         .get = [index](const CostModel& model) { return model.alpha_s[index]; },
         .set = [index](CostModel& model, double value) { model.alpha_s[index] = value; }});
  }
  void link_efficiency(LinkKind kind, bool fitted) {
    const auto index = static_cast<std::size_t>(kind);
    add({.name = fmt::format("link_efficiency.{}", to_string(kind)),
         .kind = OptionKind::Real,
         .least = 0.02,
         .most = 1,
         .typical = 0.9,
         .fitted = fitted,
         .get = [index](const CostModel& model) { return model.link_efficiency[index]; },
         .set = [index](CostModel& model, double value) { model.link_efficiency[index] = value; }});
  }
  void of_protocol(Protocol protocol, const std::string& name, double ProtocolCost::*member,
                   OptionKind kind, double typical, bool fitted) {
    const auto index = static_cast<std::size_t>(protocol);
    const bool time = kind == OptionKind::Time;
    const bool rate = kind == OptionKind::Rate;
    add({.name = fmt::format("protocols.{}.{}", to_string(protocol), name),
         .kind = kind,
         .least = time   ? kLeast_s
                  : rate ? kLeast_Bps
                         : 0.1,
         .most = time   ? kMost_s
                 : rate ? kMost_Bps
                        : 1,
         .typical = typical,
         .fitted = fitted,
         .get = [index, member](
                    const CostModel& model) { return limited(model.protocols[index].*member); },
         .set = [index, member](CostModel& model,
                                double value) { model.protocols[index].*member = value; }});
  }
  template <class Number>
  void of_protocol(Protocol protocol, const std::string& name, Number ProtocolCost::*member,
                   OptionKind kind) {
    const auto index = static_cast<std::size_t>(protocol);
    add({.name = fmt::format("protocols.{}.{}", to_string(protocol), name),
         .kind = kind,
         .get =
             [index, member](const CostModel& model) {
               return static_cast<double>(model.protocols[index].*member);
             },
         .set =
             [index, member](CostModel& model, double value) {
               model.protocols[index].*member = static_cast<Number>(value);
             }});
  }

  std::vector<CostParameter> take() { return std::move(parameters_); }

 private:
  static constexpr double kLeast_s = 1e-9;
  static constexpr double kMost_s = 1e-3;
  static constexpr double kLeast_Bps = 1e7;
  static constexpr double kMost_Bps = 1e12;

  void add(CostParameter parameter) { parameters_.push_back(std::move(parameter)); }

  std::vector<CostParameter> parameters_;
};

std::vector<CostParameter> make_table() {
  Table table;
  table.time("kernel_launch", &CostModel::kernel_launch_s, 6e-6, true);
  table.time("channel_overhead", &CostModel::channel_overhead_s, 1e-6, true);
  table.time("interpreter_launch", &CostModel::interpreter_launch_s, 5e-6, true);
  table.time("interpreter_block", &CostModel::interpreter_block_s, 0.05e-6, true);
  table.time("interpreter_step", &CostModel::interpreter_step_s, 0.05e-6, true);
  table.time("kernel_gap", &CostModel::kernel_gap_s, 2e-6, false);
  table.time("start_skew", &CostModel::start_skew_s, 1e-6, false);
  table.count("max_thread_blocks", &CostModel::max_thread_blocks);
  table.count("resident_threads", &CostModel::resident_threads);
  table.time("instruction_overhead", &CostModel::instruction_overhead_s, 0.05e-6, false);
  table.count("full_threads", &CostModel::full_threads);
  table.count("half_rate_threads", &CostModel::half_rate_threads);
  table.rate("local_copy_rate", &CostModel::local_copy_rate_Bps, 20e9, false);
  table.rate("local_reduce_rate", &CostModel::local_reduce_rate_Bps, 20e9, true);
  table.time("proxy_message", &CostModel::proxy_message_s, 1e-6, false);
  table.size("inline_limit", &CostModel::inline_limit_bytes);
  table.size("copy_limit", &CostModel::copy_limit_bytes);
  table.time("copy_latency", &CostModel::copy_latency_s, 1e-6, false);
  table.size("eager_limit", &CostModel::eager_limit_bytes);
  table.time("rendezvous_latency", &CostModel::rendezvous_latency_s, 5e-6, false);
  table.time("proxy_rendezvous", &CostModel::proxy_rendezvous_s, 5e-6, false);
  table.size("network_burst", &CostModel::network_burst_bytes);
  table.rate("connection_rate", &CostModel::connection_rate_Bps, 1e9, false);
  table.real("switch_efficiency", &CostModel::switch_efficiency);
  table.time("switch_latency", &CostModel::switch_latency_s, 10e-6, false);
  table.alpha(LinkKind::NvLink, 0.15e-6);
  table.alpha(LinkKind::Pcie, 0.35e-6);
  table.alpha(LinkKind::Network, 0.8e-6);
  table.alpha(LinkKind::Generic, 0.5e-6);
  table.link_efficiency(LinkKind::NvLink, true);
  table.link_efficiency(LinkKind::Pcie, false);
  table.link_efficiency(LinkKind::Network, true);
  table.link_efficiency(LinkKind::Generic, false);
  for (const Protocol protocol : all_protocols()) {
    using Cost = ProtocolCost;
    table.of_protocol(protocol, "step_latency", &Cost::step_latency_s, OptionKind::Time, 0.5e-6,
                      true);
    table.of_protocol(protocol, "network_latency", &Cost::network_latency_s, OptionKind::Time, 1e-6,
                      true);
    table.of_protocol(protocol, "tree_latency", &Cost::tree_latency_s, OptionKind::Time, 1e-6,
                      false);
    table.of_protocol(protocol, "efficiency", &Cost::efficiency, OptionKind::Real, 0.9, false);
    table.of_protocol(protocol, "thread_block_rate", &Cost::thread_block_rate_Bps, OptionKind::Rate,
                      15e9, true);
    table.of_protocol(protocol, "reduce_rate", &Cost::reduce_rate_Bps, OptionKind::Rate, 10e9,
                      true);
    table.of_protocol(protocol, "network_rate", &Cost::network_rate_Bps, OptionKind::Rate, 10e9,
                      true);
    table.of_protocol(protocol, "proxy_message", &Cost::proxy_message_s, OptionKind::Time, 1e-6,
                      false);
    table.of_protocol(protocol, "proxy_inline", &Cost::proxy_inline_s, OptionKind::Time, 10e-6,
                      false);
    table.of_protocol(protocol, "proxy_copy", &Cost::proxy_copy_s, OptionKind::Time, 1e-6, false);
    table.of_protocol(protocol, "proxy_rate", &Cost::proxy_rate_Bps, OptionKind::Rate, 5e9, false);
    table.of_protocol(protocol, "slot_data", &Cost::slot_bytes, OptionKind::Bytes);
    table.of_protocol(protocol, "slots", &Cost::slots, OptionKind::Integer);
    table.of_protocol(protocol, "message_slots", &Cost::message_slots, OptionKind::Integer);
  }
  return table.take();
}

// The shortest text of the value to four significant digits.
std::string four_digits(double value) {
  return format_double(std::stod(fmt::format("{:.3e}", value)));
}

}  // namespace

const std::vector<CostParameter>& cost_parameters() {
  static const std::vector<CostParameter> table = make_table();
  return table;
}

const CostParameter& cost_parameter(std::string_view name) {
  std::vector<std::string> names;
  for (const CostParameter& parameter : cost_parameters()) {
    if (parameter.name == name) return parameter;
    names.push_back(parameter.name);
  }
  throw UserError(unknown_name_message("parameter", name, names));
}

std::string parameter_text(const CostParameter& parameter, double value) {
  switch (parameter.kind) {
    case OptionKind::Time:
      return four_digits(value * 1e6) + "us";
    case OptionKind::Rate:
      return four_digits(value / 1e9) + " GB/s";
    case OptionKind::Bytes:
      return format_bytes(static_cast<std::uint64_t>(value));
    case OptionKind::Integer:
      return fmt::format("{}", static_cast<std::int64_t>(value));
    default:
      return four_digits(value);
  }
}

double rounded_parameter(const CostParameter& parameter, double value) {
  const std::string text = parameter_text(parameter, value);
  switch (parameter.kind) {
    case OptionKind::Time:
      return parse_time_s(text);
    case OptionKind::Rate:
      return parse_rate_Bps(text);
    case OptionKind::Bytes:
      return static_cast<double>(parse_bytes(text));
    case OptionKind::Integer:
      return static_cast<double>(parse_integer(text));
    default:
      return parse_real(text);
  }
}

}  // namespace cclgym
