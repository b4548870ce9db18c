#include "core/yaml/yaml_scalar.hpp"

#include <fmt/format.h>

#include "core/utf8.hpp"

namespace cclgym {

std::string yaml_scalar(std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
    } else if (const std::size_t place = kEscaped.find(text[i]); place != std::string_view::npos) {
      result += {'\\', kLetters[place]};
    } else if (static_cast<unsigned char>(text[i]) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(text[i]));
    } else {
      result += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return result + '"';
}

}  // namespace cclgym
