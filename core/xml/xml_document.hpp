// An XML text with the line and column of each of its elements.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

/// The numbers that are valid in an attribute.
struct XmlRange {
  std::int64_t least;
  std::int64_t most;
};

class XmlDocument {
 public:
  /// Throws UserError on ill-formed XML, text beside or between elements, a repeated attribute,
  /// entities that XML does not define, bytes that are not UTF-8, and any DOCTYPE (entities are
  /// never expanded). The text must outlive the document. `expected` is what messages about other
  /// files expect: "a program in MSCCL XML, which begins with <algo".
  XmlDocument(std::string_view text, std::string file, std::string expected);

  /// Name of the first element; empty if there is none.
  [[nodiscard]] std::string_view top() const { return document_.first_child().name(); }
  /// The only top-level element, which must have this name.
  [[nodiscard]] pugi::xml_node root(const char* name) const;

  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& message) const;
  /// A required attribute.
  [[nodiscard]] std::string_view text(const pugi::xml_node& node, const char* attribute) const;
  /// A whole number within the range.
  [[nodiscard]] std::int64_t number(const pugi::xml_node& node, const char* attribute,
                                    XmlRange range) const;
  [[nodiscard]] std::int32_t small(const pugi::xml_node& node, const char* attribute,
                                   XmlRange range) const {
    return static_cast<std::int32_t>(number(node, attribute, range));
  }
  [[nodiscard]] bool flag(const pugi::xml_node& node, const char* attribute) const {
    return number(node, attribute, {0, 1}) == 1;
  }

 private:
  void check_beginning() const;
  void check_bytes() const;
  void check_elements() const;
  void check_node(const pugi::xml_node& node) const;
  [[nodiscard]] SourceLocation location(std::ptrdiff_t offset) const;

  std::string_view text_;
  std::string file_;
  std::string expected_;
  pugi::xml_document document_;
};

}  // namespace cclgym
