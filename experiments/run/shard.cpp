#include "experiments/run/shard.hpp"

#include <charconv>
#include <fmt/format.h>

namespace cclgym {

namespace {

constexpr std::string_view kBegin = "shard-";
constexpr std::string_view kBetween = "-of-";
constexpr std::string_view kEnd = ".csv";

// A number without sign and leading zeros.
std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (text.front() == '0') return std::nullopt;
  return value;
}

std::optional<Shard> shard_of(std::string_view text, std::string_view between) {
  const std::size_t at = text.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<std::size_t> number = number_in(text.substr(0, at));
  const std::optional<std::size_t> count = number_in(text.substr(at + between.size()));
  if (!number || !count || *number > *count || *count > kMaxShards) return std::nullopt;
  return Shard{*number, *count};
}

}  // namespace

Shard read_shard(std::string_view text, const SourceLocation& where) {
  if (const std::optional<Shard> shard = shard_of(text, "/")) return *shard;
  throw UserError(where, fmt::format("found {}; expected NUMBER/COUNT with 1 <= NUMBER <= COUNT <= "
                                     "{}, such as 3/16",
                                     quoted(text), kMaxShards));
}

std::string shard_file_name(const Shard& shard) {
  if (shard.whole()) return "results.csv";
  return fmt::format("{}{}{}{}{}", kBegin, shard.number, kBetween, shard.count, kEnd);
}

std::optional<Shard> shard_of_file_name(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(kEnd.size());
  const std::optional<Shard> shard = shard_of(name, kBetween);
  return shard && !shard->whole() ? shard : std::nullopt;
}

}  // namespace cclgym
