#include "deploy/loop/frames.hpp"

#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

constexpr std::uint32_t kFrameMark = 0x4C474343;  // "CCGL"

struct FrameHead {
  std::uint32_t mark = kFrameMark;
  FrameKind kind = FrameKind::Hello;
  std::uint8_t hops = 0;
  std::uint16_t unused = 0;
  std::int32_t source = 0;
  std::int32_t target = 0;
  std::uint32_t bytes = 0;
};

}  // namespace

void put_frame(std::string& bytes, const Frame& frame) {
  FrameHead head{.kind = frame.kind, .hops = frame.hops};
  head.source = frame.source;
  head.target = frame.target;
  head.bytes = static_cast<std::uint32_t>(frame.payload.size());
  put(bytes, head);
  bytes += frame.payload;
}

std::optional<Frame> FrameReader::next() {
  if (broken_) return std::nullopt;
  std::string_view rest = inbox_;
  const auto head = get<FrameHead>(rest);
  if (!head) return std::nullopt;
  const auto is_rank = [this](std::int32_t rank) { return rank >= 0 && rank < ranks_; };
  // The bytes of an enumerator may be any.
  const auto kind = static_cast<std::uint8_t>(inbox_[offsetof(FrameHead, kind)]);
  if (head->mark != kFrameMark || kind > static_cast<std::uint8_t>(FrameKind::Last) ||
      head->unused != 0 || !is_rank(head->source) || !is_rank(head->target) ||
      head->bytes > kMostFrameBytes) {
    broken_ = true;
    return std::nullopt;
  }
  if (rest.size() < head->bytes) return std::nullopt;
  Frame frame{.kind = head->kind,
              .hops = head->hops,
              .source = head->source,
              .target = head->target,
              .payload = std::string(rest.substr(0, head->bytes))};
  inbox_.erase(0, sizeof(FrameHead) + head->bytes);
  return frame;
}

}  // namespace cclgym
