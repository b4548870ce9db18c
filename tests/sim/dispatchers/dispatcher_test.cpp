// Tests of dispatchers: their decisions, scores and files.
#include "sim/dispatchers/dispatcher.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"

namespace cclgym::test {
namespace {

// A machine that takes backend 1 from 2^23 bytes on: two vectors with opposite coefficients.
CollectiveDispatcher half_and_half() {
  CollectiveDispatcher part;
  part.collective = CollectiveKind::AllGather;
  part.svm = {.mean = {23, 5},
              .scale = {1, 1},
              .cost = 2,
              .gamma = .125,
              .classes = {0, 1},
              .class_sizes = {1, 1},
              .vectors = {{-1, 0}, {1, 0}},
              .coefficients = {{1}, {-1}},
              .offsets = {0}};
  part.cross_validation = .75;
  for (const int gpus : {16, 64}) {
    for (int log2 = 21; log2 <= 26; ++log2) {
      const double turn = log2 < 24 ? 2 : .5;  // the best backend changes at 2^24
      part.cells.push_back({.gpus = gpus,
                            .bytes = std::uint64_t{1} << log2,
                            .held_out = log2 >= 23 && log2 <= 24,
                            .time_us = {10, 10 * turn, 80}});
    }
  }
  return part;
}

Dispatcher sample() {
  return {.fabric = "frontier",
          .gpus_per_node = 8,
          .cost_model = "frontier",
          .experiment = "pccl-frontier (0123456789abcdef)",
          .backends = {"rccl-default", "pccl:ring", "pccl:rec"},
          .trials = 10,
          .sigma = .02,
          .seed = 1,
          .collectives = {half_and_half()}};
}

std::string dispatcher_refusal(const std::string& text) {
  try {
    (void)parse_dispatcher(text, "d.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

std::string with(std::string text, const std::string& old, const std::string& changed) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), changed);
}

}  // namespace

TEST_CASE("svm model: a decision is the sum of kernels", "[sim][dispatchers]") {
  const SvmModel svm = half_and_half().svm;
  CHECK(svm.predict({22, 5}) == 0);
  CHECK(svm.predict({23.01, 9}) == 1);
  CHECK(svm.predict({23, 5}) == 1);  // a sum of zero belongs to the second class, as in libsvm
  SvmModel moved = svm;
  moved.offsets = {-.1};
  CHECK(moved.predict({23, 5}) == 0);
  CHECK(is_consistent(svm));
  moved.offsets.clear();
  CHECK_FALSE(is_consistent(moved));
  // One class needs no vectors.
  CHECK(SvmModel{.classes = {4}, .class_sizes = {0}}.predict({1, 1}) == 4);
  CHECK_THROWS_AS(SvmModel{}.predict({1, 1}), std::logic_error);
}

TEST_CASE("dispatcher: scores are those of the held-out cells, beside three null models",
          "[sim][dispatchers]") {
  const Dispatcher dispatcher = sample();
  const auto scores = dispatcher_scores(dispatcher, dispatcher.collectives.front());
  REQUIRE(scores.size() == 4);
  // At 2^23 it takes backend 1, which needs twice the time; at 2^24 it is right.
  CHECK(scores[0].rule == "svm");
  CHECK(scores[0].accuracy == .5);
  CHECK(scores[0].regret == Approx(std::sqrt(2.0)));
  CHECK(scores[0].worst_regret == 2);
  CHECK(scores[1].rule == "majority (rccl-default)");
  CHECK(scores[1].accuracy == .5);
  CHECK(scores[2].rule == "always pccl:rec");
  CHECK(scores[2].accuracy == 0);
  CHECK(scores[2].worst_regret == 16);
  CHECK(scores[3].rule == "nearest cell");
  CHECK(scores[3].accuracy == 1);
  CHECK(published_svm_accuracy("frontier", CollectiveKind::ReduceScatter) == .9);
  CHECK_FALSE(published_svm_accuracy("alps", CollectiveKind::AllGather));
}

TEST_CASE("dispatcher: among backends that the trials do not tell apart, the first is the label",
          "[sim][dispatchers]") {
  Dispatcher dispatcher;
  dispatcher.trials = 8;
  dispatcher.sigma = .02;
  CHECK(dispatcher.tie() == Approx(.02));  // two standard errors of a difference: 2 sigma / 2
  const DispatcherCell cell{.time_us = {103, 101.5, 100, 101}};
  CHECK(cell.best(dispatcher.tie()) == 1);
  CHECK(cell.best(0) == 2);
  CHECK(cell.best(.05) == 0);
  CHECK(cell.regret(1) == Approx(1.015));
}

TEST_CASE("dispatcher: a file reads back to the same text", "[sim][dispatchers]") {
  const std::string text = to_yaml(sample(), "one\ntwo");
  CHECK(text.starts_with("# one\n# two\nformat: 1\n"));
  const Dispatcher read = parse_dispatcher(text, "d.yaml");
  CHECK(read.collectives.front().svm == sample().collectives.front().svm);
  CHECK(to_yaml(read, "one\ntwo") == text);
}

TEST_CASE("dispatcher: damaged files are refused at the damage", "[sim][dispatchers]") {
  const std::string text = to_yaml(sample());
  CHECK(dispatcher_refusal("tables: []").starts_with("d.yaml:1:1: this is no dispatcher"));
  CHECK(dispatcher_refusal(with(text, "format: 1", "format: 2"))
            .starts_with("d.yaml:1:9: format 2 is not known; expected 1"));
  CHECK(contains(dispatcher_refusal(with(text, "test_accuracy: 0.5", "test_accuracy: 0.9")),
                 "test_accuracy is 0.9, but the vectors and the grid give 0.5"));
  CHECK(contains(dispatcher_refusal(with(text, "class_sizes: [1, 1]", "class_sizes: [1, 2]")),
                 "do not fit together"));
  CHECK(contains(dispatcher_refusal(with(text, "[-1, 0, 1]", "[-1, 0]")),
                 "a vector has 2 numbers; expected 3"));
  CHECK(contains(
      dispatcher_refusal(with(text, R"(classes: ["rccl-default",)", R"(classes: ["rccl-defaul",)")),
      "did you mean 'rccl-default'"));
  CHECK(contains(dispatcher_refusal(with(text, "us: [10, 20, 80]", "us: [10, 20]")),
                 "us has 2 numbers; expected 3"));
  CHECK(contains(dispatcher_refusal(with(text, "us: [10, 20, 80]", "us: [10, -20, 80]")),
                 "a time is not positive"));
  CHECK(contains(dispatcher_refusal(with(text, "collective: allgather", "collective: allgathr")),
                 "did you mean 'allgather'"));
  CHECK(contains(dispatcher_refusal(with(text, "seed: 1", "sed: 1")), "seed"));
  // A file cut after a line has no end.
  for (std::size_t end = text.rfind('\n', text.size() - 2); end > 400;
       end = text.rfind('\n', end - 1)) {
    CHECK(dispatcher_refusal(text.substr(0, end + 1)) != "none");
  }
}

}  // namespace cclgym::test
