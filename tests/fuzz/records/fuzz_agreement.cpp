// Feeds arbitrary bytes to what ranks of a job read from each other: frames, messages of the
// agreement, tables, questions and answers of the rendezvous. Nothing of it may throw.
#include <chrono>

#include "deploy/agreement/messages.hpp"
#include "deploy/loop/frames.hpp"
#include "deploy/loop/loop_controller.hpp"
#include "deploy/loop/rendezvous.hpp"
#include "deploy/loop/rendezvous_book.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(agreement) {
  using namespace cclgym;
  constexpr std::int32_t kRanks = 8;
  const std::string_view bytes = fuzz::text_of(data, size);
  FrameReader frames(kRanks);
  frames.inbox().append(bytes);
  while (const auto frame = frames.next()) {
    std::string written;
    put_frame(written, *frame);
    FrameReader again(kRanks);
    again.inbox().append(written);
    if (again.next() != frame) std::abort();
    if (frame->source < 0 || frame->source >= kRanks || frame->target >= kRanks) std::abort();
  }
  const auto message = decode_agreement(std::as_bytes(std::span(bytes)), kRanks);
  if (message && decode_agreement(encode(*message), kRanks) != message) std::abort();
  const auto table = read_table(std::string(bytes), size / 2);
  if (!table.empty() && table_text(table) != bytes) std::abort();
  bool broken = false;
  const auto answer = read_answer(bytes, kRanks, broken);
  if (answer && !answer->places.empty() && answer->places.size() != kRanks) std::abort();
  static RendezvousBook book;
  (void)book.answer(bytes, std::chrono::steady_clock::now());
  if (book.groups() > 100'000) std::abort();
  fuzz::guarded([&] { (void)parse_rendezvous(bytes, "CCLGYM_RENDEZVOUS"); });
  return 0;
}
