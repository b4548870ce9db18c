#include "deploy/runtime/policy_file.hpp"

#include <algorithm>
#include <bit>
#include <boost/crc.hpp>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "core/utf8.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kMagic = "CCLGYMPO";
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kChecksumEnd = 16;  // the checksum covers all bytes from here on
constexpr std::size_t kAlignment = 8;

// Kinds of records.
constexpr std::uint32_t kText = 1;
constexpr std::uint32_t kTable = 2;
constexpr std::uint32_t kTensor = 3;

std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class ByteWriter {
 public:
  void u32(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes_ += static_cast<char>((value >> shift) & 0xffU);
    }
  }
  void u64(std::uint64_t value) {
    u32(static_cast<std::uint32_t>(value & 0xffffffffU));
    u32(static_cast<std::uint32_t>(value >> 32U));
  }
  void text(std::string_view text) { bytes_ += text; }
  void pad() { bytes_.resize(padded(bytes_.size()), '\0'); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

std::uint32_t load_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

std::uint64_t load_u64(std::string_view bytes, std::size_t at) {
  return load_u32(bytes, at) | (std::uint64_t{load_u32(bytes, at + 4)} << 32U);
}

class ByteReader {
 public:
  ByteReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw UserError(name_ + ": byte " + std::to_string(at) + ": " + what);
  }
  std::uint32_t u32() {
    need(4, "a number");
    const std::uint32_t value = load_u32(bytes_, position_);
    position_ += 4;
    return value;
  }
  std::uint64_t u64() {
    need(8, "a number");
    const std::uint64_t value = load_u64(bytes_, position_);
    position_ += 8;
    return value;
  }
  std::string_view take(std::uint64_t size, const char* what) {
    need(size, what);
    const std::string_view taken = bytes_.substr(position_, static_cast<std::size_t>(size));
    position_ += taken.size();
    return taken;
  }
  void pad() {
    const std::size_t at = position_;
    for (const char c : take(padded(position_) - position_, "padding")) {
      if (c != '\0') fail(at, "expected zeros up to a multiple of 8 bytes");
    }
  }

 private:
  void need(std::uint64_t size, const char* what) const {
    if (size <= left()) return;
    fail(position_, std::string(what) + " of " + std::to_string(size) +
                        " bytes expected, but the file has only " + std::to_string(left()) +
                        " more");
  }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t position_ = 0;
};

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostPolicyNameBytes &&
         std::ranges::all_of(name, [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void begin_record(ByteWriter& out, std::uint32_t kind, std::string_view name, std::size_t payload) {
  out.u32(kind);
  out.u32(static_cast<std::uint32_t>(name.size()));
  out.u64(payload);
  out.text(name);
  out.pad();
}

void read_text(ByteReader& in, std::string name, std::uint64_t payload, PolicyFile& file) {
  const std::size_t at = in.position();
  const std::string_view text = in.take(payload, "a text");
  if (!is_utf8(text)) in.fail(at, "text '" + name + "' is not UTF-8");
  file.texts.push_back({std::move(name), std::string(text)});
}

void read_table(ByteReader& in, std::string name, std::uint64_t payload, PolicyFile& file) {
  const std::size_t at = in.position();
  if (payload % 4 != 0) in.fail(at, "table '" + name + "' ends within a value");
  const std::string_view bytes = in.take(payload, "a table");
  std::vector<std::uint32_t> values(bytes.size() / 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_u32(bytes, 4 * i);
  file.tables.push_back({std::move(name), std::move(values)});
}

void read_tensor(ByteReader& in, std::string name, std::uint64_t payload, PolicyFile& file) {
  const std::size_t at = in.position();
  const std::uint32_t dimensions = in.u32();
  if (dimensions > kMostPolicyDimensions) {
    in.fail(at, "tensor '" + name + "' has " + std::to_string(dimensions) +
                    " dimensions; expected at most " + std::to_string(kMostPolicyDimensions));
  }
  PolicyFileTensor tensor{.name = std::move(name), .shape = {}, .values = {}};
  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const std::uint32_t size = in.u32();
    // The count was at most kMostPolicyBytes, so that the product cannot overflow.
    count *= size;
    tensor.shape.push_back(size);
    if (size == 0 || count > kMostPolicyBytes) {
      in.fail(at, "tensor '" + tensor.name + "' has an impossible shape");
    }
  }
  if (4 + 4 * std::uint64_t{dimensions} + 4 * count != payload) {
    in.fail(at, "tensor '" + tensor.name + "': its shape needs " + std::to_string(count) +
                    " values, but its record has another size");
  }
  const std::size_t values_at = in.position();
  const std::string_view bytes = in.take(4 * count, "weights");
  tensor.values.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const auto value = std::bit_cast<float>(load_u32(bytes, 4 * i));
    if (!std::isfinite(value)) {
      in.fail(values_at + 4 * i, "value " + std::to_string(i) + " of tensor '" + tensor.name +
                                     "' is not a finite number");
    }
    tensor.values[i] = value;
  }
  file.tensors.push_back(std::move(tensor));
}

template <class Record>
const Record* find_record(const std::vector<Record>& records, std::string_view name) {
  const auto found = std::ranges::find(records, name, &Record::name);
  return found == records.end() ? nullptr : &*found;
}

}  // namespace

std::uint32_t crc32_of(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

const PolicyFileText* PolicyFile::text(std::string_view name) const {
  return find_record(texts, name);
}
const PolicyFileTable* PolicyFile::table(std::string_view name) const {
  return find_record(tables, name);
}
const PolicyFileTensor* PolicyFile::tensor(std::string_view name) const {
  return find_record(tensors, name);
}

std::string format_policy(const PolicyFile& file) {
  ByteWriter records;
  for (const PolicyFileText& text : file.texts) {
    begin_record(records, kText, text.name, text.text.size());
    records.text(text.text);
    records.pad();
  }
  for (const PolicyFileTable& table : file.tables) {
    begin_record(records, kTable, table.name, 4 * table.values.size());
    for (const std::uint32_t value : table.values) records.u32(value);
    records.pad();
  }
  for (const PolicyFileTensor& tensor : file.tensors) {
    begin_record(records, kTensor, tensor.name,
                 4 + 4 * tensor.shape.size() + 4 * tensor.values.size());
    records.u32(static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint32_t size : tensor.shape) records.u32(size);
    for (const float value : tensor.values) records.u32(std::bit_cast<std::uint32_t>(value));
    records.pad();
  }
  const std::string body = records.take();
  ByteWriter rest;
  rest.u64(kHeaderBytes + body.size());
  rest.u64(file.texts.size() + file.tables.size() + file.tensors.size());
  rest.text(body);
  const std::string checked = rest.take();
  ByteWriter out;
  out.text(kMagic);
  out.u32(kPolicyVersion);
  out.u32(crc32_of(checked));
  out.text(checked);
  std::string bytes = out.take();
  try {
    if (parse_policy(bytes, "policy") != file) throw std::logic_error("policy: not read back");
  } catch (const UserError& error) {
    throw std::logic_error(error.what());
  }
  return bytes;
}

PolicyFile parse_policy(std::string_view bytes, const std::string& name) {
  ByteReader in(bytes, name);
  if (bytes.size() > kMostPolicyBytes) in.fail(0, "larger than 64 MiB: not a policy file");
  if (!bytes.starts_with(kMagic)) in.fail(0, "not a policy file: it does not begin with CCLGYMPO");
  (void)in.take(kMagic.size(), "the magic number");
  const std::uint32_t version = in.u32();
  if (version != kPolicyVersion) {
    in.fail(8, "version " + std::to_string(version) + " of the format; expected version " +
                   std::to_string(kPolicyVersion));
  }
  const std::uint32_t checksum = in.u32();
  const std::uint64_t size = in.u64();
  if (size != bytes.size()) {
    in.fail(16, "the header states " + std::to_string(size) + " bytes, but the file has " +
                    std::to_string(bytes.size()) +
                    (size > bytes.size() ? ": truncated" : ": more was appended"));
  }
  if (crc32_of(bytes.substr(kChecksumEnd)) != checksum) {
    in.fail(12, "the checksum (CRC-32) does not match the contents: the file is corrupt");
  }
  const std::uint64_t records = in.u64();
  PolicyFile file;
  std::set<std::pair<std::uint32_t, std::string>> names;
  std::uint32_t last_kind = kText;
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::size_t at = in.position();
    const std::uint32_t kind = in.u32();
    if (kind < kText || kind > kTensor) in.fail(at, "unknown kind of record");
    if (kind < last_kind) in.fail(at, "texts come before tables, and these before tensors");
    last_kind = kind;
    const std::uint32_t name_bytes = in.u32();
    const std::uint64_t payload = in.u64();
    std::string record(in.take(name_bytes, "a name"));
    if (!is_name(record)) {
      in.fail(at + 16, "a record's name must be 1 to 200 printable ASCII characters");
    }
    if (!names.emplace(kind, record).second) in.fail(at, "a second record '" + record + "'");
    in.pad();
    // Checked before memory of this size is allocated.
    if (payload > in.left()) {
      in.fail(at + 8, "record '" + record + "' of " + std::to_string(payload) +
                          " bytes, but the file has only " + std::to_string(in.left()) + " more");
    }
    if (kind == kText) {
      read_text(in, std::move(record), payload, file);
    } else if (kind == kTable) {
      read_table(in, std::move(record), payload, file);
    } else {
      read_tensor(in, std::move(record), payload, file);
    }
    in.pad();
  }
  if (in.left() != 0) in.fail(in.position(), "bytes after the last record");
  return file;
}

}  // namespace cclgym
