#include "deploy/agreement/messages.hpp"

namespace cclgym {

namespace {

constexpr std::uint8_t kMark = 0xA7;  // first byte
constexpr std::uint8_t kHasAccepted = 1;
constexpr std::uint8_t kHasPrevious = 2;
constexpr std::uint8_t kPreviousCommit = 4;

class Writer {
 public:
  explicit Writer(AgreementBytes& bytes) : bytes_(bytes) {}
  template <class Number>
  void put(Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_[at_++] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xFFU);
    }
  }

 private:
  AgreementBytes& bytes_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class Number>
  Number get() {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      number |= static_cast<std::uint64_t>(bytes_[at_++]) << (8 * i);
    }
    return static_cast<Number>(number);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

AgreementBytes encode(const AgreementMessage& message) {
  AgreementBytes bytes{};
  Writer writer(bytes);
  std::uint8_t flags = 0;
  if (message.accepted) flags |= kHasAccepted;
  if (message.previous) flags |= kHasPrevious;
  if (message.previous == Verdict::Commit) flags |= kPreviousCommit;
  writer.put(kMark);
  writer.put(static_cast<std::uint8_t>(message.kind));
  writer.put(static_cast<std::uint8_t>(message.verdict));
  writer.put(flags);
  writer.put(message.source);
  writer.put(message.target);
  writer.put(message.ballot);
  writer.put(message.accepted.value_or(0));
  writer.put(message.change.table);
  writer.put(message.change.id);
  writer.put(message.change.from);
  return bytes;
}

std::optional<AgreementMessage> decode_agreement(std::span<const std::byte> bytes,
                                                 std::int32_t ranks) {
  if (bytes.size() != kAgreementBytes) return std::nullopt;
  Reader reader(bytes);
  if (reader.get<std::uint8_t>() != kMark) return std::nullopt;
  const auto kind = reader.get<std::uint8_t>();
  const auto verdict = reader.get<std::uint8_t>();
  const auto flags = reader.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(AgreementKind::Last) || verdict > 1) return std::nullopt;
  AgreementMessage message{.kind = static_cast<AgreementKind>(kind),
                           .verdict = static_cast<Verdict>(verdict),
                           .source = reader.get<std::int32_t>()};
  message.target = reader.get<std::int32_t>();
  message.ballot = reader.get<std::uint32_t>();
  const auto accepted = reader.get<std::uint32_t>();
  if ((flags & kHasAccepted) != 0) message.accepted = accepted;
  if ((flags & kHasPrevious) != 0) {
    message.previous = (flags & kPreviousCommit) != 0 ? Verdict::Commit : Verdict::Abort;
  }
  message.change.table = reader.get<std::uint32_t>();
  message.change.id = reader.get<std::uint64_t>();
  message.change.from = reader.get<std::uint64_t>();
  const auto is_rank = [ranks](std::int32_t rank) { return rank >= 0 && rank < ranks; };
  if (!is_rank(message.source) || !is_rank(message.target) || message.change.id == 0) {
    return std::nullopt;
  }
  // Unknown flags, and a number without its flag, are not what encode() makes.
  const AgreementBytes again = encode(message);
  for (std::size_t i = 0; i < kAgreementBytes; ++i) {
    if (again[i] != bytes[i]) return std::nullopt;
  }
  return message;
}

}  // namespace cclgym
