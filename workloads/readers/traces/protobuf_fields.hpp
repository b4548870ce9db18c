// Protobuf messages on the wire, read by field numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cclgym {

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message.
struct ProtobufField {
  std::uint32_t number = 0;
  WireType type = WireType::Varint;
  std::uint64_t value = 0;   ///< Varint, Fixed64, Fixed32
  std::string_view bytes{};  ///< Bytes: strings, messages, packed numbers
  std::size_t offset = 0;    ///< place of the value in the file, bytes
};

/// Bytes of one message, which outlive the reader, in the order of its fields.
class ProtobufFields {
 public:
  /// `offset` is the place of the message in the file, for messages of errors.
  ProtobufFields(std::string_view message, std::size_t offset, const std::string& file)
      : message_(message), offset_(offset), file_(file) {}

  /// Reads the next field; false at the end. Throws UserError "byte N: …" if the field is truncated
  /// or has an unknown wire type.
  bool next(ProtobufField& field);

 private:
  std::string_view message_;
  std::size_t offset_;
  const std::string& file_;
};

/// Numbers of a packed repeated field of varints.
class PackedVarints {
 public:
  PackedVarints(const ProtobufField& field, const std::string& file)
      : rest_(field.bytes), offset_(field.offset), file_(file) {}
  bool next(std::uint64_t& value);

 private:
  std::string_view rest_;
  std::size_t offset_;
  const std::string& file_;
};

/// Messages of a file that are preceded by their lengths, as varints.
class DelimitedMessages {
 public:
  DelimitedMessages(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}

  /// Next message and its place in the file; false at the end. Throws UserError if the file ends
  /// inside a message.
  bool next(std::string_view& message, std::size_t& offset);

 private:
  std::string_view rest_;
  std::size_t offset_ = 0;
  const std::string& file_;
};

/// sint32 and sint64: small negative numbers as small varints.
[[nodiscard]] constexpr std::int64_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

}  // namespace cclgym
