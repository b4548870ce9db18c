#include "workloads/readers/traces/protobuf_fields.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

using google::protobuf::io::CodedInputStream;

CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
}

[[noreturn]] void refuse_bytes(const std::string& file, std::size_t offset,
                               std::string_view reason) {
  throw UserError(SourceLocation{.file = file}, fmt::format("byte {}: {}", offset, reason));
}

}  // namespace

bool ProtobufFields::next(ProtobufField& field) {
  if (message_.empty()) return false;
  CodedInputStream input = stream_of(message_);
  const auto here = [&] { return offset_ + at(input.CurrentPosition()); };
  const std::uint32_t tag = input.ReadTag();
  field = {.number = tag >> 3U};
  if (field.number == 0) refuse_bytes(file_, offset_, "found no field of a protobuf message");
  bool complete = false;
  std::uint32_t word = 0;
  switch (tag & 7U) {
    case 0:
      complete = input.ReadVarint64(&field.value);
      break;
    case 1:
      field.type = WireType::Fixed64;
      complete = input.ReadLittleEndian64(&field.value);
      break;
    case 2: {
      field.type = WireType::Bytes;
      std::uint64_t size = 0;
      if (!input.ReadVarint64(&size)) break;
      const std::size_t begin = at(input.CurrentPosition());
      if (size > message_.size() - begin) {
        refuse_bytes(file_, here(),
                     fmt::format("field {} has {} bytes, but its message ends after {}",
                                 field.number, size, message_.size() - begin));
      }
      field.bytes = message_.substr(begin, size);
      field.offset = offset_ + begin;
      offset_ += begin + size;
      message_.remove_prefix(begin + size);
      return true;
    }
    case 5:
      field.type = WireType::Fixed32;
      complete = input.ReadLittleEndian32(&word);
      field.value = word;
      break;
    default:
      refuse_bytes(
          file_, offset_,
          fmt::format("field {} has wire type {}; expected 0, 1, 2 or 5", field.number, tag & 7U));
  }
  if (!complete) {
    refuse_bytes(file_, here(), fmt::format("field {} is truncated or no number", field.number));
  }
  field.offset = offset_;
  const std::size_t used = at(input.CurrentPosition());
  offset_ += used;
  message_.remove_prefix(used);
  return true;
}

bool PackedVarints::next(std::uint64_t& value) {
  if (rest_.empty()) return false;
  CodedInputStream input = stream_of(rest_);
  if (!input.ReadVarint64(&value)) refuse_bytes(file_, offset_, "a packed number is truncated");
  const std::size_t used = at(input.CurrentPosition());
  offset_ += used;
  rest_.remove_prefix(used);
  return true;
}

bool DelimitedMessages::next(std::string_view& message, std::size_t& offset) {
  if (rest_.empty()) return false;
  CodedInputStream input = stream_of(rest_);
  std::uint64_t size = 0;
  if (!input.ReadVarint64(&size)) {
    refuse_bytes(file_, offset_, "found no length of a message; the file is truncated or no trace");
  }
  const std::size_t begin = at(input.CurrentPosition());
  if (size > rest_.size() - begin) {
    refuse_bytes(file_, offset_,
                 fmt::format("a message of {} bytes begins here, but the file ends after {}; it is "
                             "truncated or no trace",
                             size, rest_.size() - begin));
  }
  message = rest_.substr(begin, size);
  offset = offset_ + begin;
  offset_ = offset + size;
  rest_.remove_prefix(begin + size);
  return true;
}

}  // namespace cclgym
