// Contents of a YamlValue. Private to core.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/yaml/yaml.hpp"

namespace cclgym {

struct YamlValue::Node {
  YamlKind kind = YamlKind::Null;
  std::shared_ptr<const std::string> file;  ///< one copy for the entire document
  std::size_t line = 0;
  std::size_t column = 0;
  std::string text;                ///< text of a scalar
  std::vector<YamlValue> items;    ///< items of a sequence
  std::vector<YamlEntry> entries;  ///< entries of a mapping
  std::size_t expanded = 1;        ///< nodes in this tree, aliases counted as copies
  std::size_t height = 1;          ///< levels of nesting in this tree
};

}  // namespace cclgym
