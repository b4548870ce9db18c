#include "cli/support/help_layout.hpp"

#include <algorithm>
#include <string_view>

namespace cclgym {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;  // between a name and its explanation
constexpr std::size_t kLeastName = 20;
constexpr std::size_t kMostName = 26;

// Number of UTF-8 characters: all bytes except continuation bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char byte) { return (byte & 0xC0U) != 0x80; }));
}

// True for a word that must not end a line.
bool binds(std::string_view word) {
  return word.ends_with(">=") || word.ends_with("<=") || word.ends_with("default:");
}

// Words of a text; words that must not be separated are joined.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    if (!words.empty() && binds(words.back())) {
      words.back() += ' ' + word;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

}  // namespace

std::size_t help_column(const std::vector<HelpEntry>& entries) {
  std::size_t widest = kLeastName;
  for (const HelpEntry& entry : entries) {
    const std::size_t width = characters(entry.name);
    if (width <= kMostName) widest = std::max(widest, width);
  }
  return kIndent + widest + kGap;
}

std::string help_lines(const std::vector<HelpEntry>& entries, std::size_t column) {
  std::string text;
  for (const HelpEntry& entry : entries) {
    std::string line = std::string(kIndent, ' ') + entry.name;
    if (characters(line) + kGap > column) {
      text += line + '\n';
      line.clear();
    }
    std::size_t width = characters(line);
    for (const std::string& word : words_of(entry.text)) {
      const std::size_t size = characters(word);
      if (width > column && width + 1 + size > kHelpColumns) {
        text += line + '\n';
        line.clear();
        width = 0;
      }
      const std::size_t blanks = width < column ? column - width : 1;
      line += std::string(blanks, ' ') + word;
      width += blanks + size;
    }
    text += line + '\n';
  }
  return text;
}

}  // namespace cclgym
