// Checks of an imported MSCCL XML program across elements. Internal to this layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pugixml.hpp>
#include <vector>

#include "collectives/ir.hpp"
#include "core/xml/xml_document.hpp"

namespace cclgym::msccl {

/// An imported program, and the element of each of its steps.
struct ImportedSteps {
  const XmlDocument& document;
  const ThreadBlockProgram& program;
  const std::vector<std::vector<std::vector<pugi::xml_node>>>& nodes;  ///< by rank, block, step

  [[nodiscard]] const pugi::xml_node& node(int rank, std::int32_t block, std::int32_t step) const {
    return nodes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)]
                [static_cast<std::size_t>(step)];
  }
};

// Each of these throws UserError with the place of the first faulty step.

/// Checks that every step that a step of this GPU waits for exists and publishes its completion.
void check_dependencies(const ImportedSteps& steps, int rank);
/// Checks that every message sent is received, with the same number of chunks, and vice versa.
void check_messages(const ImportedSteps& steps);
/// Checks that there are no cyclic waits, given connections of unlimited capacity.
void check_order(const ImportedSteps& steps);

}  // namespace cclgym::msccl
