// Descriptions of machines in files of tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "support/temporary_folder.hpp"
#include "topology_models/fabrics.hpp"
#include "topology_models/imported/fabric_source.hpp"

namespace cclgym {

/// The fabric of a file called `name` with this text.
inline FabricPtr imported(const std::string& text, int nodes = 1,
                          const std::string& name = "machine.txt") {
  const test::TemporaryFolder folder;
  const std::string path = folder / name;
  test::write_file(path, text);
  FabricSpec spec{.name = path};
  if (nodes != 1) spec.servers = nodes;
  FabricPtr fabric = make_fabric(spec);
  // The fabric file that `describe --yaml` writes is the same fabric.
  test::write_file(folder / "machine.yaml", fabric_file_text(path, nodes));
  CHECK(make_fabric({.name = folder / "machine.yaml"})->canonical_text() ==
        fabric->canonical_text());
  return fabric;
}

/// The complaint about a file called `name` with this text, with the name alone for its path.
inline std::string import_complaint(const std::string& text, int nodes = 1,
                                    const std::string& name = "m") {
  const test::TemporaryFolder folder;
  const std::string path = folder / name;
  test::write_file(path, text);
  FabricSpec spec{.name = path};
  if (nodes != 1) spec.servers = nodes;
  std::string message = complaint([&] { (void)make_fabric(spec); });
  for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path)) {
    message.replace(at, path.size(), name);
  }
  return message;
}

/// Number of devices of a kind.
inline int count_of(const Fabric& fabric, NodeKind kind) {
  return static_cast<int>(std::ranges::count(fabric.nodes(), kind, &Node::kind));
}

/// GB/s from one device to another over one link; 0 without a link.
inline double rate_between(const Fabric& fabric, const std::string& from, const std::string& to) {
  for (const Link& link : fabric.links()) {
    if (node_at(fabric, link.source).name == from && node_at(fabric, link.target).name == to) {
      return link.capacity_Bps() / 1e9;
    }
  }
  return 0;
}

/// True if some warning of the fabric contains these words.
inline bool warns(const Fabric& fabric, const std::string& words) {
  return std::ranges::any_of(fabric.warnings(), [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

}  // namespace cclgym
