// YAML with a place for every value, so that every error can name file, line and column.
//
// An immutable tree on top of yaml-cpp's event interface. Input is not trusted: limits on size,
// nesting and alias expansion are checked during parsing. Merge keys (`<<`) are supported; tags
// other than YAML's own are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/options/option.hpp"

namespace cclgym {

enum class YamlKind : std::uint8_t { Null, Scalar, Sequence, Mapping };

/// Words for messages: "nothing", "a value", "a list", "a mapping".
[[nodiscard]] std::string_view to_string(YamlKind kind);

struct YamlEntry;

/// A value of a YAML document. Cheap to copy: copies share the (immutable) contents, and so do the
/// aliases of an anchor. A default-constructed value is null without a place.
class YamlValue {
 public:
  YamlValue() = default;

  [[nodiscard]] YamlKind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == YamlKind::Null; }
  [[nodiscard]] bool is_scalar() const { return kind() == YamlKind::Scalar; }
  [[nodiscard]] bool is_sequence() const { return kind() == YamlKind::Sequence; }
  [[nodiscard]] bool is_mapping() const { return kind() == YamlKind::Mapping; }

  /// Start of the value; for an alias, of the anchored value; for a null, of its key.
  [[nodiscard]] SourceLocation location() const;

  // Each throws UserError at the value's place if the value is of another kind.
  [[nodiscard]] const std::string& as_text() const;           ///< text of a scalar
  [[nodiscard]] const std::vector<YamlValue>& items() const;  ///< items of a sequence
  [[nodiscard]] const std::vector<YamlEntry>& entries()
      const;  ///< entries of a mapping, in file order
  /// The value under `key` of a mapping; nullptr if there is none.
  [[nodiscard]] const YamlValue* find(std::string_view key) const;

  struct Node;
  explicit YamlValue(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  /// Contents that copies and aliases share. For use inside core only.
  [[nodiscard]] const std::shared_ptr<const Node>& node() const { return node_; }

 private:
  std::shared_ptr<const Node> node_;
};

struct YamlEntry {
  std::string key;
  SourceLocation key_location;
  YamlValue value;
};

/// Limits of a document; beyond them parsing throws UserError.
struct YamlLimits {
  /// yaml-cpp keeps every token of an open flow list in memory, in the worst case 150 times this
  /// size.
  std::size_t bytes = std::size_t{4} << 20;
  std::size_t nodes = 1'000'000;  ///< number of values, with aliases counted as copies
  std::size_t depth = 64;         ///< levels of nesting, with aliases counted as copies
};

/// Parses a text with a single document. `file_name` is used only in messages. Throws UserError.
[[nodiscard]] YamlValue parse_yaml(std::string_view text, const std::string& file_name,
                                   const YamlLimits& limits = {});
/// Reads and parses a file. Throws UserError as parse_yaml does, and if the file cannot
/// be read.
[[nodiscard]] YamlValue load_yaml_file(const std::string& path, const YamlLimits& limits = {});

/// Throws UserError unless the value is a mapping that has all required keys of `specs`, no key
/// under two of its names, and no other keys (the message suggests the nearest one). `what` names
/// the mapping: "experiment", "link 3".
void check_keys(const YamlValue& mapping, const std::vector<OptionSpec>& specs,
                std::string_view what);

/// The value under the record's name or one of its aliases; nullptr if there is none.
[[nodiscard]] const YamlValue* find_value(const YamlValue& mapping, const OptionSpec& spec);
/// The value of the record's key in a mapping; if it is missing or null, the record's default
/// (located at the mapping); null if there is none.
[[nodiscard]] YamlValue option_value(const YamlValue& mapping, const OptionSpec& spec);

// Typed, range-checked reads of a scalar. Throw UserError at the value's place.
[[nodiscard]] bool read_flag(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] std::int64_t read_integer(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] double read_real(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] std::uint64_t read_bytes(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] double read_time_s(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] double read_rate_Bps(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] std::string read_text(const YamlValue& value, const OptionSpec& spec);
[[nodiscard]] std::size_t read_choice(const YamlValue& value, const OptionSpec& spec);
/// Reads a value with the function of the record's kind.
[[nodiscard]] OptionValue read_option(const YamlValue& value, const OptionSpec& spec);

// Lists, by the record's shape: List takes a sequence, OneOrList a sequence or a single value.
// Empty lists are refused. Bytes and integers may be ranges ("1KiB..1GiB x2"), which are expanded.
[[nodiscard]] std::vector<std::int64_t> read_integers(const YamlValue& value,
                                                      const OptionSpec& spec);
[[nodiscard]] std::vector<std::uint64_t> read_byte_sizes(const YamlValue& value,
                                                         const OptionSpec& spec);
[[nodiscard]] std::vector<std::string> read_texts(const YamlValue& value, const OptionSpec& spec);
/// Indices into spec.choices.
[[nodiscard]] std::vector<std::size_t> read_choices(const YamlValue& value, const OptionSpec& spec);
/// The values of a list of any kind, including mappings, without reading them: for lists whose
/// items have their own records.
[[nodiscard]] std::vector<YamlValue> read_items(const YamlValue& value, const OptionSpec& spec);

}  // namespace cclgym
