// Frames on the connections between the ranks of a group (docs/closed-loop.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cclgym {

enum class FrameKind : std::uint8_t {
  Hello,      ///< first on a connection: who speaks, and the token of the group
  Agreement,  ///< bytes of an AgreementMessage; with Propose, a CallMark follows
  Table,      ///< the number of a table, and its content
  Report,     ///< measured calls, for the leader
  Off,        ///< the mechanism is switched off; the payload says why
  Last = Off
};

struct Frame {
  FrameKind kind = FrameKind::Hello;
  std::uint8_t hops = 0;  ///< number of ranks that have passed it on
  std::int32_t source = 0;
  std::int32_t target = 0;
  std::string payload{};
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// Maximum size of a payload, B.
inline constexpr std::size_t kMostFrameBytes = std::size_t{1} << 20;

/// Appends the frame's bytes, in the byte order of the machine: all ranks of a job have the same.
void put_frame(std::string& bytes, const Frame& frame);

/// Cuts a stream of bytes into frames.
class FrameReader {
 public:
  /// `ranks`: sources and targets are below it.
  explicit FrameReader(std::int32_t ranks) : ranks_(ranks) {}

  /// Bytes that were received, to append to.
  [[nodiscard]] std::string& inbox() { return inbox_; }
  /// The next complete frame; nullopt if there is none, or if the stream is broken.
  [[nodiscard]] std::optional<Frame> next();
  /// True if the bytes are not frames between ranks of the group. It stays so.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::int32_t ranks_;
  std::string inbox_;
  bool broken_ = false;
};

}  // namespace cclgym
