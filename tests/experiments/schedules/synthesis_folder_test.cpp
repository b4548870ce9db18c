// Tests of the folder of a synthesis: what it keeps, removes and refuses.
#include "experiments/schedules/synthesis_folder.hpp"

#include <filesystem>
#include <string>

#include "core/hash.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;
using synthesis::StepTriple;

constexpr StepTriple kFound{6, 3, 7};
constexpr StepTriple kRefuted{5, 2, 6};

void write_some(SynthesisFolder& folder, const std::vector<std::string>& names) {
  folder.begin();
  folder.announce(names);
  for (const std::string& name : names) write_file(folder.path(name), name);
}

TEST_CASE("a folder keeps the answers of searches for the same input only",
          "[experiments][schedules]") {
  const TemporaryFolder place;
  {
    SynthesisFolder folder(place / "made", "one");
    CHECK(folder.before() == SynthesisFolder::Before::Empty);
    CHECK_FALSE(fs::exists(place / "made"));
    folder.begin();
    folder.memory().keep(CollectiveKind::AllGather, kFound,
                         {.status = synthesis::SatResult::Satisfiable,
                          .schedule = {.rounds = {2, 2, 3}, .sends = {{0, 1, 2}, {2, 11, 4}}}});
    folder.memory().keep(CollectiveKind::AllGather, kRefuted,
                         {.status = synthesis::SatResult::Unsatisfiable});
  }
  SynthesisFolder same(place / "made", "one");
  CHECK(same.before() == SynthesisFolder::Before::Same);
  const synthesis::StepAnswer found = same.memory().recall(CollectiveKind::AllGather, kFound);
  CHECK(found.status == synthesis::SatResult::Satisfiable);
  CHECK(found.schedule.rounds == std::vector<int>{2, 2, 3});
  CHECK(found.schedule.sends == std::vector<synthesis::StepSend>{{0, 1, 2}, {2, 11, 4}});
  CHECK(same.memory().recall(CollectiveKind::AllGather, kRefuted).status ==
        synthesis::SatResult::Unsatisfiable);
  CHECK(same.memory().recall(CollectiveKind::ReduceScatter, kRefuted).status ==
        synthesis::SatResult::Unknown);
  SynthesisFolder other(place / "made", "two");
  CHECK(other.before() == SynthesisFolder::Before::Different);
  CHECK(other.memory().decided.empty());
}

TEST_CASE("files of earlier syntheses go, those of others stay", "[experiments][schedules]") {
  const TemporaryFolder place;
  const std::string made = place / "made";
  {
    SynthesisFolder folder(made, "one");
    write_some(folder, {"report.html", "programs/a.xml", "programs/b.xml"});
  }
  write_file(made + "/programs/mine.xml", "mine");
  {
    SynthesisFolder folder(made, "one");
    folder.begin();
    CHECK_FALSE(fs::exists(made + "/report.html"));
    CHECK(fs::exists(made + "/programs/a.xml"));
    // A program of another origin must not be written over.
    CHECK(contains(thrown([&] {
                     folder.announce({"programs/mine.xml"});
                     return 0;
                   }),
                   "mine.xml': not written by cclgym synthesize"));
    folder.announce({"programs/b.xml", "programs/c.xml"});
    CHECK_FALSE(fs::exists(made + "/programs/a.xml"));
    CHECK(fs::exists(made + "/programs/b.xml"));
  }
  SynthesisFolder folder(made, "two");
  folder.begin();
  CHECK_FALSE(fs::exists(made + "/programs/b.xml"));
  CHECK(read_file(made + "/programs/mine.xml") == "mine");
}

TEST_CASE("every altered byte of synthesis.txt is found", "[experiments][schedules]") {
  const TemporaryFolder place;
  const std::string made = place / "made";
  {
    SynthesisFolder folder(made, "one");
    folder.begin();
    folder.memory().keep(CollectiveKind::AllGather, kRefuted,
                         {.status = synthesis::SatResult::Unsatisfiable});
  }
  const std::string file = made + "/synthesis.txt";
  const std::string text = read_file(file);
  for (std::size_t k = 0; k < text.size(); ++k) {
    std::string altered = text;
    altered[k] = static_cast<char>(altered[k] ^ 1);
    write_file(file, altered);
    INFO("byte " << k);
    CHECK(contains(thrown([&] { return SynthesisFolder(made, "one").before(); }), file));
  }
  // Names that lead out of the folder, with the right hash.
  std::string outside = "cclgym synthesize 0\ninput one\nfile ../mine.txt\n";
  outside += "hash " + hex_digits(fnv1a(outside)) + "\n";
  write_file(file, outside);
  CHECK(contains(thrown([&] { return SynthesisFolder(made, "one").before(); }),
                 "a file outside of the folder"));
  write_file(file, text.substr(0, text.size() / 2));
  CHECK(contains(thrown([&] { return SynthesisFolder(made, "one").before(); }), "damaged"));
}

TEST_CASE("the input of a synthesis has the fabric, the collective, the root and the group",
          "[experiments][schedules]") {
  FabricSpec spec;
  spec.name = "dgx1";
  const auto dgx1 = make_fabric(spec);
  spec.without = "gpu0:gpu4";
  const auto failed = make_fabric(spec);
  const SynthesisInput input{.collective = CollectiveKind::Broadcast, .root = 1};
  const std::string hash = input.hash(*dgx1);
  CHECK(SynthesisInput{.collective = CollectiveKind::Broadcast, .root = 1}.hash(*dgx1) == hash);
  CHECK(SynthesisInput{.collective = CollectiveKind::Broadcast, .root = 2}.hash(*dgx1) != hash);
  CHECK(SynthesisInput{.collective = CollectiveKind::Reduce, .root = 1}.hash(*dgx1) != hash);
  CHECK(SynthesisInput{CollectiveKind::Broadcast, 1, {0, 1}}.hash(*dgx1) != hash);
  CHECK(input.hash(*failed) != hash);
}

}  // namespace
}  // namespace cclgym::test
