// What makes a program in MSCCL XML one that can run, beyond its single elements. Internal to this
// layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pugixml.hpp>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/msccl/xml_document.hpp"

namespace cclgym::msccl {

/// A program that was read, and the element that each of its steps came from.
struct ImportedSteps {
  const XmlDocument& document;
  const ThreadBlockProgram& program;
  const std::vector<std::vector<std::vector<pugi::xml_node>>>& nodes;  ///< by rank, block, step

  [[nodiscard]] const pugi::xml_node& node(int rank, std::int32_t block, std::int32_t step) const {
    return nodes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)]
                [static_cast<std::size_t>(step)];
  }
};

// Each throws UserError with the place of the first step that is at fault.

/// Steps of a GPU wait for steps that exist and say when they are done.
void check_dependencies(const ImportedSteps& steps, int rank);
/// What is sent is received, in the same numbers of chunks.
void check_messages(const ImportedSteps& steps);
/// No cycle among steps, connections of unlimited room.
void check_order(const ImportedSteps& steps);

}  // namespace cclgym::msccl
