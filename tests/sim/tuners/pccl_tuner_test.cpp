// Tests of the backends of PCCL as tuners: its own two, RCCL, Cray MPICH, and the dispatcher.
#include "sim/tuners/pccl_tuner.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "cost_models/rccl/rccl_default.hpp"
#include "sim/dispatchers/dispatcher.hpp"
#include "sim/tuners/cray_mpich_tuner.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TunerSite pccl_site(const char* name, int nodes) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = nodes;
  return {.fabric = make_fabric(spec), .where = {"e.yaml", 3, 7}};
}

std::string pccl_refusal(const std::string& name, const TunerSite& at) {
  try {
    (void)make_tuner(name, at);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

// A dispatcher that takes pccl:ring below 8 MiB and pccl:rec from there on.
Dispatcher sample_dispatcher() {
  CollectiveDispatcher part;
  part.collective = CollectiveKind::AllGather;
  part.svm = {.mean = {23, 5},
              .gamma = .125,
              .classes = {0, 1},
              .class_sizes = {1, 1},
              .vectors = {{-1, 0}, {1, 0}},
              .coefficients = {{1}, {-1}},
              .offsets = {0}};
  part.cells = {{.gpus = 16, .bytes = kMiB, .time_us = {1, 2}}};
  return {.fabric = "frontier",
          .gpus_per_node = 8,
          .cost_model = "frontier",
          .experiment = "e (0)",
          .backends = {"pccl:ring", "pccl:rec"},
          .collectives = {part}};
}

class File {
 public:
  explicit File(const Dispatcher& dispatcher)
      : path_(std::filesystem::temp_directory_path() / "cclgym-pccl-tuner-test.yaml") {
    write_text_file(path_.string(), to_yaml(dispatcher));
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] std::string tuner() const { return "pccl:" + path_.string(); }

 private:
  std::filesystem::path path_;
};

// Message of a choice that fails.
std::string no_choice(const Tuner& tuner, const Call& call) {
  try {
    (void)tuner.choose(call);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("pccl:ring and pccl:rec take the channels of the library inside a node",
          "[sim][tuners][pccl]") {
  const TunerSite frontier = pccl_site("frontier", 16);
  const Call call{.collective = CollectiveKind::AllGather, .bytes = 64 * kMiB};
  const NcclChoice inside =
      rccl_choice(rccl_comm_for(*frontier.fabric, 1), NcclCollective::AllGather, call.bytes);
  for (const auto& [name, algorithm] :
       {std::pair{"pccl:ring", "pccl-ring"}, std::pair{"pccl:rec", "pccl-rec"}}) {
    const auto tuner = make_tuner(name, frontier);
    CHECK(tuner->choose(call) == Config{.algorithm = algorithm,
                                        .protocol = inside.protocol,
                                        .channels = inside.channels,
                                        .threads = inside.threads});
    CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllToAll));
    CHECK_THROWS_AS(tuner->choose({.collective = CollectiveKind::AllToAll, .bytes = kMiB}),
                    UserError);
  }
  const Config on_nvidia = make_tuner("pccl:rec", pccl_site("perlmutter", 16))->choose(call);
  CHECK(on_nvidia.algorithm == "pccl-rec");
  CHECK(on_nvidia.channels > 1);
  CHECK(pccl_refusal("pccl", frontier).starts_with("e.yaml:3:7: 'pccl' needs a backend"));
}

TEST_CASE("rccl-default runs on AMD's GPUs alone", "[sim][tuners][rccl]") {
  const TunerSite frontier = pccl_site("frontier", 16);
  const auto tuner = make_tuner("rccl-default", frontier);
  const Config config =
      tuner->choose({.collective = CollectiveKind::ReduceScatter, .bytes = 1024 * kMiB});
  CHECK(config.algorithm == "ring");
  CHECK(config.protocol == Protocol::Simple);
  CHECK(config.channels == 16);
  CHECK(config.tile_bytes == 2 * kMiB);
  CHECK(tuner->choose({.collective = CollectiveKind::AllToAll, .bytes = kMiB}).algorithm ==
        "naive");
  CHECK(tuner->choose({.collective = CollectiveKind::Reduce, .bytes = kMiB}).algorithm == "ring");
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::Custom));
  CHECK(make_tuner("rccl-default:2.20.5", frontier)
            ->choose({.collective = CollectiveKind::AllGather, .bytes = kMiB})
            .algorithm == "ring");
  CHECK(pccl_refusal("rccl-default:2.18", frontier)
            .starts_with("e.yaml:3:7: RCCL release '2.18'; expected 2.20.5 or 2.21.5"));
  CHECK(pccl_refusal("rccl-default", pccl_site("ndv4", 2))
            .starts_with("e.yaml:3:7: RCCL runs on AMD's GPUs; fabric 'ndv4' has A100"));
}

TEST_CASE("cray-mpich follows the limits of MPICH", "[sim][tuners][cray-mpich]") {
  const std::string end = ":avoided:reduce=host:nic=single-nic";
  const auto algorithm = [&](CollectiveKind kind, int ranks, std::uint64_t bytes) {
    const std::string name = cray_mpich_algorithm(kind, ranks, bytes);
    const std::string begin = "hierarchical:nodes:";
    REQUIRE(name.starts_with(begin));
    REQUIRE(name.ends_with(end));
    return name.substr(begin.size(), name.size() - begin.size() - end.size());
  };
  using enum CollectiveKind;
  CHECK(algorithm(AllGather, 64, 524287) == "recursive");
  CHECK(algorithm(AllGather, 64, 524288) == "ring");
  CHECK(algorithm(AllGather, 48, 81919) == "bruck");
  CHECK(algorithm(AllGather, 48, 81920) == "ring");
  CHECK(algorithm(ReduceScatter, 64, 524287) == "recursive");
  CHECK(algorithm(ReduceScatter, 64, 524288) == "ring");
  CHECK(algorithm(AllReduce, 2048, kMiB) == "recursive");
  CHECK(pccl_refusal("cray-mpich:8.1", pccl_site("frontier", 2))
            .starts_with("e.yaml:3:7: 'cray-mpich:8.1'; expected 'cray-mpich' alone"));
}

TEST_CASE("a dispatcher chooses by size, and for its machine and collectives alone",
          "[sim][tuners][pccl]") {
  const File file(sample_dispatcher());
  const auto tuner = make_tuner(file.tuner(), pccl_site("frontier", 4));
  CHECK(tuner->choose({.collective = CollectiveKind::AllGather, .bytes = 4 * kMiB}).algorithm ==
        "pccl-ring");
  CHECK(tuner->choose({.collective = CollectiveKind::AllGather, .bytes = 16 * kMiB}).algorithm ==
        "pccl-rec");
  CHECK(tuner->chooses_for(CollectiveKind::AllGather));
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllReduce));
  CHECK(contains(no_choice(*tuner, {.collective = CollectiveKind::AllReduce, .bytes = kMiB}),
                 "has no allreduce; it has allgather"));
  CHECK(pccl_refusal(file.tuner(), pccl_site("perlmutter", 4))
            .starts_with("e.yaml:3:7: dispatcher "));
  CHECK(contains(pccl_refusal(file.tuner(), pccl_site("perlmutter", 4)),
                 "is for 'frontier' with 8 GPUs a node; the fabric is "
                 "'perlmutter' with 4 GPUs a node"));
  TunerSite other = pccl_site("frontier", 4);
  other.collectives = {CollectiveKind::AllReduce};
  CHECK(pccl_refusal(file.tuner(), other).starts_with("e.yaml:3:7: "));
  CHECK(contains(pccl_refusal(file.tuner(), other), "has no allreduce"));
  CHECK(pccl_refusal("pccl:missing.yaml", pccl_site("frontier", 4))
            .starts_with("e.yaml:3:7: dispatcher 'missing.yaml' does not exist"));
  // A part of a node may be used alone.
  FabricSpec half;
  half.name = "frontier";
  half.servers = 1;
  half.gpus_per_server = 4;
  CHECK(pccl_refusal(file.tuner(), {.fabric = make_fabric(half)}) == "none");
}

}  // namespace cclgym::test
