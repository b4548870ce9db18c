#include "core/error.hpp"

#include <algorithm>
#include <cctype>

namespace cclgym {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Damerau-Levenshtein distance (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// The message as one line: a name in it may have bytes that control terminals.
std::string printable(const std::string& message) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else {
      line += "\\x";
      line += kHex[byte >> 4U];
      line += kHex[byte & 0xfU];
    }
  }
  return line;
}

}  // namespace

std::string SourceLocation::to_string() const {
  std::string text = file;
  if (line > 0) {
    text += (text.empty() ? "line " : ":") + std::to_string(line);
    if (column > 0) text += ":" + std::to_string(column);
  }
  return text;
}

UserError::UserError(const SourceLocation& where, const std::string& message)
    : std::runtime_error(
          printable(where.to_string().empty() ? message : where.to_string() + ": " + message)) {}

std::string Quoted::operator()(std::string_view text, std::size_t longest) const {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool cut = text.size() > longest;
  if (cut) {
    std::size_t end = longest;
    // Step back over the continuation bytes of a character that would be cut.
    for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U;
         ++i) {
      --end;
    }
    text = text.substr(0, end);
  }
  std::string result = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      result += "\\x";
      result += kHex[byte >> 4U];
      result += kHex[byte & 0xFU];
    } else {
      result += c;
    }
  }
  return result + (cut ? "…'" : "'");
}

std::string nearest_name(std::string_view found, const std::vector<std::string>& candidates) {
  // Bounds the quadratic table: a garbage "name" may be megabytes long.
  if (found.size() > 64) return {};
  const std::string wanted = lower(found);
  std::string best;
  std::size_t best_distance = 2 + wanted.size() / 3;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view what, std::string_view found,
                                 const std::vector<std::string>& candidates) {
  std::string message = "unknown " + std::string(what) + " " + quoted(found) + "; expected one of ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    message += (i == 0 ? "" : ", ") + candidates[i];
  }
  if (const std::string near = nearest_name(found, candidates); !near.empty()) {
    message += " (did you mean '" + near + "'?)";
  }
  return message;
}

}  // namespace cclgym
