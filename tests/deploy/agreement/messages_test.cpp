// Tests of the messages as bytes.
#include "deploy/agreement/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/random.hpp"
#include "deploy/agreement/member.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

AgreementMessage random_message(Random& random, std::int32_t ranks) {
  const auto rank = [&] {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(ranks));
  };
  AgreementMessage message{.kind = static_cast<AgreementKind>(
                               random() % (static_cast<std::uint64_t>(AgreementKind::Last) + 1)),
                           .verdict = random() % 2 == 0 ? Verdict::Abort : Verdict::Commit,
                           .source = rank(),
                           .target = rank(),
                           .ballot = static_cast<std::uint32_t>(random())};
  if (random() % 2 == 0) message.accepted = static_cast<std::uint32_t>(random());
  if (random() % 2 == 0) message.previous = random() % 2 == 0 ? Verdict::Abort : Verdict::Commit;
  message.change = {
      .id = random() % 5 + 1, .from = random() % 8, .table = static_cast<std::uint32_t>(random())};
  return message;
}

}  // namespace

TEST_CASE("agreement messages: bytes give the message again", "[agreement]") {
  Random random = Random::stream(3, {});
  for (int i = 0; i < 2000; ++i) {
    const AgreementMessage message = random_message(random, 5);
    const AgreementBytes bytes = encode(message);
    CHECK(decode_agreement(bytes, 5) == message);
    CHECK_FALSE(decode_agreement(std::span(bytes).first(kAgreementBytes - 1), 5));
  }
}

TEST_CASE("agreement messages: other bytes are refused", "[agreement]") {
  Random random = Random::stream(4, {});
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    AgreementBytes bytes = encode(random_message(random, 5));
    bytes[random() % kAgreementBytes] ^= static_cast<std::byte>(1U << random() % 8);
    const auto message = decode_agreement(bytes, 5);
    if (!message) continue;
    ++read;
    REQUIRE(message->source >= 0);
    REQUIRE(message->source < 5);
    REQUIRE(message->change.id > 0);
    REQUIRE((encode(*message) == bytes));
  }
  CHECK(read > 1000);  // a message with another number is a message
}

// No message makes a member fail, whatever it says.
TEST_CASE("agreement messages: members take any message", "[agreement]") {
  Random random = Random::stream(5, {});
  for (int run = 0; run < 200; ++run) {
    AgreementMember member(run % 3, 3, 0);
    std::vector<AgreementMessage> out;
    std::uint32_t table = 0;
    for (int i = 0; i < 500; ++i) {
      member.receive(random_message(random, 3), out);
      if (random() % 4 == 0 && !member.pass(table)) (void)member.advance();
      if (random() % 50 == 0) member.overdue(out);
      if (random() % 50 == 0) (void)member.propose(1, member.calls() + random() % 3, out);
      if (random() % 50 == 0) member.remind(out);
    }
    for (const AgreementMessage& message : out) REQUIRE(message.source == run % 3);
  }
}

}  // namespace cclgym::test
