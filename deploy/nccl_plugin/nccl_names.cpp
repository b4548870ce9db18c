#include "deploy/nccl_plugin/nccl_names.hpp"

#include <algorithm>
#include <cctype>

namespace cclgym {

namespace {

template <class Names, class Same>
std::optional<int> place_of(const Names& names, const Same& same) {
  const auto found = std::ranges::find_if(names, same);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::optional<int> nccl_collective_of(std::string_view name) {
  return place_of(kNcclCollectiveNames, [&](std::string_view own) { return own == name; });
}

std::optional<int> nccl_algorithm_of_ours(std::string_view name) {
  return place_of(kNcclAlgorithmNames, [&](const NcclAlgorithmNames& own) {
    return !own.ours.empty() && own.ours == name;
  });
}

std::optional<int> nccl_algorithm_of_csv(std::string_view name) {
  return place_of(kNcclAlgorithmNames,
                  [&](const NcclAlgorithmNames& own) { return own.csv == name; });
}

std::optional<int> nccl_protocol_of(std::string_view name) {
  const std::string wanted = lower_case(name);
  return place_of(kNcclProtocolNames,
                  [&](std::string_view own) { return lower_case(own) == wanted; });
}

}  // namespace cclgym
