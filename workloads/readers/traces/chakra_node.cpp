#include "workloads/readers/traces/chakra_node.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/index.hpp"
#include "workloads/readers/traces/protobuf_fields.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym {

namespace {

using Json = nlohmann::json;

// The value of an attribute: a number, a text or a list of flags.
struct Attribute {
  std::string_view name{};
  std::optional<std::int64_t> integer{};
  std::optional<double> real{};
  std::optional<std::string_view> text{};
  bool flags = false;
  bool all_flags = true;
};

std::int64_t clamped(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, kMost));
}

// Values of a BoolList: packed, as proto3 writes them, or one by one.
void read_flags(const ProtobufField& list, const std::string& file, Attribute& attribute) {
  attribute.flags = true;
  ProtobufFields fields(list.bytes, list.offset, file);
  ProtobufField field;
  while (fields.next(field)) {
    if (field.number != 1) continue;
    if (field.type == WireType::Varint && field.value == 0) attribute.all_flags = false;
    if (field.type != WireType::Bytes) continue;
    PackedVarints values(field, file);
    for (std::uint64_t value = 0; values.next(value);) {
      if (value == 0) attribute.all_flags = false;
    }
  }
}

// Field numbers of AttributeProto: each type of number has its own.
Attribute read_attribute(const ProtobufField& message, const std::string& file) {
  Attribute attribute;
  ProtobufFields fields(message.bytes, message.offset, file);
  ProtobufField field;
  while (fields.next(field)) {
    switch (field.number) {
      case 1:
        attribute.name = field.bytes;
        break;
      case 3:  // double
        attribute.real = std::bit_cast<double>(field.value);
        break;
      case 5:  // float
        attribute.real = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        break;
      case 7:   // int32, as a varint of 64 bits
      case 9:   // int64
      case 25:  // sfixed64
        attribute.integer = static_cast<std::int64_t>(field.value);
        break;
      case 11:  // uint32
      case 13:  // uint64
      case 19:  // fixed32
      case 21:  // fixed64
      case 27:  // bool
        attribute.integer = clamped(field.value);
        break;
      case 15:  // sint32
      case 17:  // sint64
        attribute.integer = from_zigzag(field.value);
        break;
      case 23:  // sfixed32
        attribute.integer = static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value));
        break;
      case 28:
        read_flags(field, file, attribute);
        break;
      case 29:
        attribute.text = field.bytes;
        break;
      default:
        break;
    }
  }
  return attribute;
}

// Longest JSON of groups that is parsed, bytes: its tree needs some 20 times as much.
constexpr std::size_t kMostGroupBytes = std::size_t{16} << 20;

// A list of numbers of ranks; nullopt if the value is anything else.
std::optional<std::vector<std::int32_t>> ranks_of(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::int32_t> ranks;
  for (const Json& entry : list) {
    if (!entry.is_number_unsigned()) return std::nullopt;
    const auto rank = entry.get<std::uint64_t>();
    if (rank >= static_cast<std::uint64_t>(kMostTraceRanks)) return std::nullopt;
    ranks.push_back(static_cast<std::int32_t>(rank));
  }
  return ranks;
}

class NodeReader {
 public:
  NodeReader(ChakraTrace& trace, TextTable& texts) : trace_(trace), texts_(texts) {}

  void read(std::string_view message, std::size_t offset) {
    node_ = {};
    node_.dep_begin = static_cast<std::uint32_t>(trace_.deps.size());
    std::string_view inputs;
    std::vector<Attribute> attributes;
    std::uint64_t type = 0;
    ProtobufFields fields(message, offset, trace_.file);
    ProtobufField field;
    std::string_view name;
    while (fields.next(field)) {
      switch (field.number) {
        case 1:
          node_.id = field.value;
          break;
        case 2:
          name = field.bytes;
          break;
        case 3:
          type = field.value;
          break;
        case 5:  // data dependencies; control dependencies (4) only name the caller
          add_dependencies(field);
          break;
        case 7:
          node_.duration_s = static_cast<double>(field.value) * 1e-6;
          break;
        case 8:
          inputs = values_of(field);
          break;
        case 10:
          attributes.push_back(read_attribute(field, trace_.file));
          break;
        default:
          break;
      }
    }
    node_.dep_end = static_cast<std::uint32_t>(trace_.deps.size());
    node_.name = texts_.index(name);
    if (type == 0 || type > at(ChakraType::CommColl)) {
      refuse(fmt::format("its type is {}; expected 1 to 7", type));
    }
    node_.type = static_cast<ChakraType>(type);
    for (const Attribute& attribute : attributes) apply(attribute);
    if (node_.type == ChakraType::Metadata) read_groups(inputs);
    trace_.nodes.push_back(node_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw UserError(
        SourceLocation{.file = trace_.file},
        fmt::format("node {} ({}): {}", node_.id, quoted(texts_.text(node_.name)), reason));
  }

  void add_dependencies(const ProtobufField& field) {
    if (field.type == WireType::Varint) {
      trace_.deps.push_back(field.value);
    } else if (field.type == WireType::Bytes) {
      PackedVarints values(field, trace_.file);
      for (std::uint64_t value = 0; values.next(value);) trace_.deps.push_back(value);
    }
    if (trace_.deps.size() > kMostTraceDependencies) {
      throw UserError(SourceLocation{.file = trace_.file},
                      fmt::format("it has more than {} dependencies", kMostTraceDependencies));
    }
  }

  // Field `values` of an IOInfo.
  std::string_view values_of(const ProtobufField& message) {
    ProtobufFields fields(message.bytes, message.offset, trace_.file);
    ProtobufField field;
    std::string_view values;
    while (fields.next(field)) {
      if (field.number == 1) values = field.bytes;
    }
    return values;
  }

  double amount(const Attribute& attribute) const {
    const double value =
        attribute.real ? *attribute.real : static_cast<double>(attribute.integer.value_or(0));
    if (!std::isfinite(value) || value < 0) {
      refuse(fmt::format("its {} is {}; expected a number >= 0", attribute.name, value));
    }
    return value;
  }

  void apply(const Attribute& attribute) {
    const auto is = [&](std::string_view name) { return attribute.name == name; };
    const auto set = [&](std::optional<std::int64_t>& member) {
      if (!attribute.integer) refuse(fmt::format("its {} is no whole number", attribute.name));
      member = attribute.integer;
    };
    if (is("is_cpu_op")) {
      node_.is_cpu_op = attribute.integer.value_or(0) != 0;
    } else if (is("num_ops")) {
      node_.num_ops = amount(attribute);
    } else if (is("tensor_size")) {
      node_.tensor_size = amount(attribute);
    } else if (is("comm_type")) {
      set(node_.comm_type);
    } else if (is("comm_size")) {
      set(node_.comm_size);
    } else if (is("comm_src")) {
      set(node_.comm_src);
    } else if (is("comm_dst")) {
      set(node_.comm_dst);
    } else if (is("comm_tag")) {
      set(node_.comm_tag);
    } else if (is("root") || is("comm_root")) {
      set(node_.root);
    } else if (is("stream")) {
      set(node_.stream);
    } else if (is("pg_name")) {
      // Numbers occur, too: ASTRA-sim's own groups have numbers as names.
      if (attribute.text) node_.pg_name = texts_.index(*attribute.text);
      if (attribute.integer) node_.pg_name = texts_.index(std::to_string(*attribute.integer));
    } else if (is("involved_dim") && attribute.flags) {
      node_.involved_dims = attribute.all_flags ? InvolvedDims::All : InvolvedDims::Some;
    }
  }

  // A list of groups inside a text such as "['[{"pg_name": "0", "ranks": [0, 1]}]']".
  void read_groups(std::string_view inputs) {
    if (inputs.find("pg_name") == std::string_view::npos) return;
    const std::size_t begin = inputs.find("[{");
    const std::size_t end = inputs.rfind("}]");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return;
    if (end - begin > kMostGroupBytes) refuse("its list of process groups is too long");
    const Json list = Json::parse(inputs.substr(begin, end + 2 - begin), nullptr, false);
    if (!list.is_array()) refuse("its list of process groups is no JSON");
    for (const Json& entry : list) {
      if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks")) continue;
      const Json& name = entry["pg_name"];
      ChakraGroup group;
      if (entry.contains("pg_desc") && entry["pg_desc"].is_string()) {
        group.description = entry["pg_desc"].get<std::string>();
      }
      const auto ranks = ranks_of(entry["ranks"]);
      if (!ranks || (!name.is_string() && !name.is_number_integer())) {
        refuse("a process group has no name, or ranks that are no list of numbers >= 0");
      }
      group.ranks = *ranks;
      trace_.groups[name.is_string() ? name.get<std::string>() : name.dump()] = std::move(group);
    }
  }

  ChakraTrace& trace_;
  TextTable& texts_;
  ChakraNode node_;
};

// The first message of a file: a version and attributes, all of which are length-delimited. A node
// would begin with its number.
void check_global_metadata(std::string_view message, std::size_t offset, const std::string& file) {
  ProtobufFields fields(message, offset, file);
  ProtobufField field;
  while (fields.next(field)) {
    if (field.type == WireType::Bytes && (field.number == 1 || field.number == 2)) continue;
    throw UserError(SourceLocation{.file = file},
                    "it does not begin with the metadata of a Chakra execution trace");
  }
}

}  // namespace

ChakraTrace read_chakra_node_stream(std::string_view bytes, const std::string& file,
                                    std::size_t most_nodes) {
  ChakraTrace trace{.file = file, .nodes = {}, .deps = {}, .texts = {}, .groups = {}};
  DelimitedMessages messages(bytes, trace.file);
  std::string_view message;
  std::size_t offset = 0;
  if (!messages.next(message, offset)) {
    throw UserError(SourceLocation{.file = file}, "it is empty; expected a Chakra execution trace");
  }
  check_global_metadata(message, offset, trace.file);
  TextTable texts;
  NodeReader reader(trace, texts);
  while (messages.next(message, offset)) {
    if (trace.nodes.size() >= most_nodes) {
      throw UserError(SourceLocation{.file = file},
                      fmt::format("the traces of the job have more than {} nodes", kMostTraceOps));
    }
    reader.read(message, offset);
  }
  trace.texts = texts.take();
  return trace;
}

std::map<std::string, ChakraGroup, std::less<>> parse_chakra_groups(std::string_view text,
                                                                    const std::string& file) {
  const SourceLocation where{.file = file};
  const Json json = text.size() > kMostGroupBytes
                        ? Json()
                        : Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw UserError(where, "found no JSON object; expected groups, such as {\"1\": [0, 1]}");
  }
  std::map<std::string, ChakraGroup, std::less<>> groups;
  for (const auto& [name, list] : json.items()) {
    const auto ranks = ranks_of(list);
    if (!ranks || ranks->empty()) {
      throw UserError(
          where, fmt::format("group {} has no list of ranks; expected numbers >= 0", quoted(name)));
    }
    groups[name] = {.description = {}, .ranks = *ranks};
  }
  return groups;
}

}  // namespace cclgym
