#include "core/xml/xml_document.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "core/utf8.hpp"

namespace cclgym {

XmlDocument::XmlDocument(std::string_view text, std::string file, std::string expected)
    : text_(text), file_(std::move(file)), expected_(std::move(expected)) {
  check_beginning();
  check_bytes();
  // Escapes are left as written, so that check_element sees them; parsing a fragment keeps text
  // beside the only element.
  const pugi::xml_parse_result result = document_.load_buffer(
      text_.data(), text_.size(),
      pugi::parse_minimal | pugi::parse_doctype | pugi::parse_cdata | pugi::parse_fragment,
      pugi::encoding_utf8);
  if (!result) {
    std::string why = result.description();
    std::transform(why.begin(), why.begin() + 1, why.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    throw UserError(location(result.offset),
                    fmt::format("the XML is ill-formed or ends too early: {}", why));
  }
  check_elements();
}

// Without this check, a file of another kind would be called XML with a fault somewhere in it.
void XmlDocument::check_beginning() const {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t mark = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t begin = text_.find_first_not_of(" \t\r\n", mark);
  if (begin == std::string_view::npos || text_[begin] == '<') return;
  const std::string_view line = text_.substr(begin, text_.find_first_of("\r\n", begin) - begin);
  throw UserError(
      location(static_cast<std::ptrdiff_t>(begin)),
      fmt::format("not an XML file: it begins with {}; expected {}", quoted(line, 40), expected_));
}

void XmlDocument::check_bytes() const {
  for (std::size_t i = 0; i < text_.size();) {
    const std::size_t length = utf8_length(text_, i);
    if (length == 0) {
      throw UserError(location(static_cast<std::ptrdiff_t>(i)),
                      fmt::format("byte 0x{:02x} is not UTF-8; expected XML text",
                                  static_cast<unsigned char>(text_[i])));
    }
    i += length;
  }
}

void XmlDocument::check_elements() const {
  // Nodes in the order of the text, without recursion: files may nest to any depth.
  for (pugi::xml_node node = document_.first_child(); node;) {
    check_node(node);
    pugi::xml_node next = node.first_child();
    while (!next && node) {
      next = node.next_sibling();
      if (!next) node = node.parent();
    }
    node = next;
  }
}

void XmlDocument::check_node(const pugi::xml_node& node) const {
  if (node.type() == pugi::node_doctype) {
    throw UserError(location(static_cast<std::ptrdiff_t>(text_.find("<!"))),
                    fmt::format("a DOCTYPE; expected {}, without a DOCTYPE", expected_));
  }
  if (node.type() != pugi::node_element) {
    const std::string_view value = node.value();
    const std::size_t start = std::min(value.find_first_not_of(" \t\r\n"), value.size());
    throw UserError(
        location(node.offset_debug() + static_cast<std::ptrdiff_t>(start)),
        fmt::format("text {}; expected nothing but elements", quoted(value.substr(start))));
  }
  for (pugi::xml_attribute one = node.first_attribute(); one; one = one.next_attribute()) {
    for (pugi::xml_attribute other = node.first_attribute(); other != one;
         other = other.next_attribute()) {
      if (std::string_view(one.name()) == other.name()) {
        fail(node, fmt::format("<{}> has attribute '{}' twice", node.name(), one.name()));
      }
    }
    const std::string_view value = one.value();
    for (std::size_t i = value.find('&'); i != std::string_view::npos; i = value.find('&', i + 1)) {
      const std::string_view rest = value.substr(i + 1);
      const auto is = [&](std::string_view entity) { return rest.starts_with(entity); };
      if (is("amp;") || is("lt;") || is("gt;") || is("quot;") || is("apos;") || is("#")) continue;
      fail(node, fmt::format("{} {}: unknown entity after &; expected one that XML defines",
                             one.name(), quoted(value)));
    }
  }
}

SourceLocation XmlDocument::location(std::ptrdiff_t offset) const {
  const std::size_t end =
      std::min(text_.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
  const std::string_view before = text_.substr(0, end);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {file_, static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          end - line_start + 1};
}

pugi::xml_node XmlDocument::root(const char* name) const {
  const pugi::xml_node root = document_.first_child();
  if (!root) throw UserError(location(0), fmt::format("no XML element; expected <{}>", name));
  if (root.name() != std::string_view(name)) {
    fail(root, fmt::format("element {}; expected <{}>", quoted(root.name()), name));
  }
  if (root.next_sibling()) fail(root.next_sibling(), "another element at the top; expected one");
  return root;
}

void XmlDocument::fail(const pugi::xml_node& node, const std::string& message) const {
  // pugixml's offset of an element points to its name; the message gives the position of the '<'.
  throw UserError(location(node.offset_debug() - 1), message);
}

std::string_view XmlDocument::text(const pugi::xml_node& node, const char* attribute) const {
  const pugi::xml_attribute found = node.attribute(attribute);
  if (!found) {
    fail(node, fmt::format("<{}> has no attribute '{}'", node.name(), attribute));
  }
  return found.value();
}

std::int64_t XmlDocument::number(const pugi::xml_node& node, const char* attribute,
                                 XmlRange range) const {
  const std::string_view found = text(node, attribute);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
  const bool whole = error == std::errc() && end == found.data() + found.size();
  if (!whole || value < range.least || value > range.most) {
    fail(node, fmt::format("{} {}; expected a whole number from {} to {}", attribute, quoted(found),
                           range.least, range.most));
  }
  return value;
}

}  // namespace cclgym
