// Writes Chakra execution traces for tests, field by field.
#pragma once

#include <cstdint>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym::test {

using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

/// A protobuf message that is being written.
class Message {
 public:
  Message& number(std::uint32_t field, std::uint64_t value) {
    return append([&](CodedOutputStream& out) {
      out.WriteTag(field << 3U);
      out.WriteVarint64(value);
    });
  }
  Message& text(std::uint32_t field, std::string_view value) {
    return append([&](CodedOutputStream& out) {
      out.WriteTag(field << 3U | 2U);
      out.WriteVarint32(static_cast<std::uint32_t>(value.size()));
      out.WriteRaw(value.data(), static_cast<int>(value.size()));
    });
  }
  Message& fixed64(std::uint32_t field, std::uint64_t value) {
    return append([&](CodedOutputStream& out) {
      out.WriteTag(field << 3U | 1U);
      out.WriteLittleEndian64(value);
    });
  }
  Message& fixed32(std::uint32_t field, std::uint32_t value) {
    return append([&](CodedOutputStream& out) {
      out.WriteTag(field << 3U | 5U);
      out.WriteLittleEndian32(value);
    });
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// The message after its length.
  [[nodiscard]] std::string delimited() const {
    Message framed;
    framed.append([&](CodedOutputStream& out) {
      out.WriteVarint32(static_cast<std::uint32_t>(bytes_.size()));
    });
    return framed.bytes_ + bytes_;
  }

 private:
  template <class Write>
  Message& append(const Write& write) {
    StringOutputStream stream(&bytes_);
    CodedOutputStream out(&stream);
    write(out);
    return *this;
  }
  std::string bytes_;
};

// Types of nodes.
inline constexpr std::uint64_t kMetadataNode = 1;
inline constexpr std::uint64_t kMemLoadNode = 2;
inline constexpr std::uint64_t kCompNode = 4;
inline constexpr std::uint64_t kSendNode = 5;
inline constexpr std::uint64_t kRecvNode = 6;
inline constexpr std::uint64_t kCollNode = 7;

/// A node of a trace.
class TraceNode {
 public:
  TraceNode(std::uint64_t id, std::string_view name, std::uint64_t type) {
    message_.number(1, id).text(2, name).number(3, type);
  }
  /// Data dependencies, packed as proto3 writes them.
  TraceNode& after(const std::vector<std::uint64_t>& ids) {
    std::string packed;
    {
      StringOutputStream stream(&packed);
      CodedOutputStream out(&stream);
      for (const std::uint64_t id : ids) out.WriteVarint64(id);
    }
    message_.text(5, packed);
    return *this;
  }
  /// A control dependency, not packed.
  TraceNode& after_control(std::uint64_t id) {
    return raw([&](Message& m) { m.number(4, id); });
  }
  TraceNode& lasts(std::uint64_t micros) {
    return raw([&](Message& m) { m.number(7, micros); });
  }
  /// An int64 attribute.
  TraceNode& with(std::string_view name, std::int64_t value) {
    return attribute(Message().text(1, name).number(9, static_cast<std::uint64_t>(value)));
  }
  TraceNode& with_text(std::string_view name, std::string_view value) {
    return attribute(Message().text(1, name).text(29, value));
  }
  TraceNode& with_flag(std::string_view name, bool value) {
    return attribute(Message().text(1, name).number(27, value ? 1 : 0));
  }
  TraceNode& with_flags(std::string_view name, std::string_view packed) {
    return attribute(Message().text(1, name).text(28, Message().text(1, packed).bytes()));
  }
  TraceNode& attribute(const Message& value) {
    return raw([&](Message& m) { m.text(10, value.bytes()); });
  }
  TraceNode& inputs(std::string_view values) {
    return raw([&](Message& m) { m.text(8, Message().text(1, values).bytes()); });
  }
  [[nodiscard]] std::string delimited() const { return message_.delimited(); }

 private:
  template <class Write>
  TraceNode& raw(const Write& write) {
    write(message_);
    return *this;
  }
  Message message_;
};

inline std::string chakra_header() { return Message().text(1, "0.0.4").delimited(); }

/// The bytes of a trace.
inline std::string chakra_bytes(const std::vector<TraceNode>& nodes) {
  std::string bytes = chakra_header();
  for (const TraceNode& node : nodes) bytes += node.delimited();
  return bytes;
}

}  // namespace cclgym::test
