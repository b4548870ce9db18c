#include "workloads/readers/traces/chakra_order.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace cclgym {

namespace {

[[noreturn]] void refuse_node(const ChakraTrace& trace, std::size_t node,
                              const std::string& reason) {
  const ChakraNode& refused = trace.nodes[node];
  throw UserError(
      SourceLocation{.file = trace.file},
      fmt::format("node {} ({}): {}", refused.id, quoted(trace.texts[at(refused.name)]), reason));
}

// (id, index), sorted by id.
std::vector<std::pair<std::uint64_t, std::int32_t>> sorted_ids(const ChakraTrace& trace) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> ids;
  ids.reserve(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    ids.emplace_back(trace.nodes[i].id, static_cast<std::int32_t>(i));
  }
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i].first == ids[i - 1].first) {
      refuse_node(trace, at(ids[i].second), "a node before it has the same id");
    }
  }
  return ids;
}

}  // namespace

ChakraOrder order_nodes(const ChakraTrace& trace) {
  const auto ids = sorted_ids(trace);
  const std::size_t count = trace.nodes.size();
  ChakraOrder order;
  order.dep_begin.assign(1, 0);
  order.deps.reserve(trace.deps.size());
  std::vector<std::uint32_t> next_begin(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const ChakraNode& node = trace.nodes[i];
    for (std::uint32_t d = node.dep_begin; d < node.dep_end; ++d) {
      const std::uint64_t id = trace.deps[d];
      const auto found = std::lower_bound(ids.begin(), ids.end(), std::make_pair(id, 0));
      if (found == ids.end() || found->first != id) {
        if (order.missing++ == 0) {
          order.missing_of = static_cast<std::int32_t>(i);
          order.missing_id = id;
        }
        continue;
      }
      order.deps.push_back(found->second);
      ++next_begin[at(found->second) + 1];
    }
    order.dep_begin.push_back(static_cast<std::uint32_t>(order.deps.size()));
  }
  for (std::size_t i = 0; i < count; ++i) next_begin[i + 1] += next_begin[i];
  std::vector<std::int32_t> next(order.deps.size());
  std::vector<std::uint32_t> fill(next_begin.begin(), next_begin.end() - 1);
  std::vector<std::uint32_t> waits(count, 0);
  using Ready = std::pair<std::uint64_t, std::int32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    const auto own = order.dependencies(static_cast<std::int32_t>(i));
    for (const std::int32_t dependency : own) {
      next[fill[at(dependency)]++] = static_cast<std::int32_t>(i);
    }
    waits[i] = static_cast<std::uint32_t>(own.size());
    if (own.empty()) ready.emplace(trace.nodes[i].id, static_cast<std::int32_t>(i));
  }
  order.nodes.reserve(count);
  while (!ready.empty()) {
    const std::int32_t node = ready.top().second;
    ready.pop();
    order.nodes.push_back(node);
    for (std::uint32_t n = next_begin[at(node)]; n < next_begin[at(node) + 1]; ++n) {
      const std::size_t waiting = at(next[n]);
      if (--waits[waiting] == 0) {
        ready.emplace(trace.nodes[waiting].id, static_cast<std::int32_t>(waiting));
      }
    }
  }
  if (order.nodes.size() < count) {
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](auto w) { return w > 0; });
    refuse_node(trace, static_cast<std::size_t>(stuck - waits.begin()),
                "it waits for itself, or for nodes that wait for themselves");
  }
  return order;
}

}  // namespace cclgym
