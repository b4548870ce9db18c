// Tests of the meaning of names in measured files.
#include "calibration/measure/systems.hpp"

#include "cost_models/nccl/nccl_version.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/thrown.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym::test {
namespace {

Measurement row_on(int ranks, int nodes, const std::string& config = "") {
  Measurement row;
  row.ranks = ranks;
  row.nodes = nodes;
  row.config = config;
  row.bytes = 64;
  row.time_s = 1;
  return row;
}

TEST_CASE("every system has a fabric that can be built and a release that is modelled",
          "[calibration][systems]") {
  for (const MeasuredSystem& system : measured_systems()) {
    INFO(system.name);
    const auto fabric = make_fabric({.name = system.fabric});
    CHECK(fabric->ranks() >= 4);
    if (!system.nccl_version.empty()) CHECK_NOTHROW(parse_nccl_version(system.nccl_version));
  }
}

TEST_CASE("a row's fabric has its servers and its GPUs", "[calibration][systems]") {
  const FabricSpec slice = fabric_of_row(measured_system("H100-SXM-slice"), row_on(4, 1));
  CHECK(slice.gpus_per_server == 4);
  CHECK(slice.nvls == false);
  CHECK(make_fabric(slice)->ranks() == 4);
  const FabricSpec cluster = fabric_of_row(measured_system("H100-cluster"), row_on(10, 10));
  CHECK(make_fabric(cluster)->ranks() == 10);
  CHECK(make_fabric(cluster)->servers() == 10);
  CHECK_FALSE(cluster.nvls);  // as in the fabric
  const FabricSpec alps = fabric_of_row(measured_system("Alps-GH200"), row_on(32, 8));
  CHECK(!alps.gpus_per_server);
  CHECK(make_fabric(alps)->ranks() == 32);
  Measurement row = row_on(32, 8);
  CHECK(!fabric_of_row(measured_system("Polaris"), row).nic_binding);
  row.collective = CollectiveKind::AllToAll;
  CHECK(fabric_of_row(measured_system("Polaris"), row).nic_binding == NicBinding::SingleNic);
}

TEST_CASE("trays of one NVLink domain are one node", "[calibration][systems]") {
  const MeasuredSystem racks = own_system("", "gb200-nvl72");
  const auto domains = [&](int ranks, int hosts) {
    const auto fabric = make_fabric(fabric_of_row(racks, row_on(ranks, hosts)));
    CHECK(fabric->ranks() == ranks);
    return fabric->servers();
  };
  CHECK(domains(72, 18) == 1);
  CHECK(domains(8, 2) == 1);
  CHECK(domains(64, 16) == 1);
  CHECK(domains(72, 1) == 1);
  CHECK(domains(144, 36) == 2);
  CHECK(domains(80, 20) == 2);
  CHECK(run_plan(racks, row_on(80, 20)).refusal.empty());
  CHECK(run_plan(racks, row_on(76, 19)).refusal.empty());
  CHECK(run_plan(racks, row_on(77, 19)).refusal ==
        "77 ranks on 19 hosts are not the same number in each of 2 racks");
  // The fabric has as many nodes of a file as the row states, or all.
  const std::string path = source_path("experiments/fabrics/two-islands.yaml");
  Measurement row = row_on(8, 1);
  CHECK_FALSE(fabric_of_row(own_system("", path), row).servers);
  row.nodes_stated = true;
  CHECK(fabric_of_row(own_system("", path), row).servers == 1);
  // Hosts of other machines are nodes.
  CHECK(make_fabric(fabric_of_row(own_system("", "hgx-h100"), row_on(8, 2)))->servers() == 2);
}

TEST_CASE("the fabrics of a row's GPUs", "[calibration][systems]") {
  Measurement row = row_on(8, 1);
  CHECK(fabrics_like(row).empty());
  row.gpu = "NVIDIA H100 80GB HBM3";
  CHECK(fabrics_like(row) == std::vector<std::string>{"hgx-h100"});
  row.gpu = "Tesla V100-SXM2-32GB";
  row.ranks = 16;
  CHECK(fabrics_like(row) == std::vector<std::string>{"dgx2"});
  // A DGX-1 is a fabric of all of its GPUs.
  row.ranks = 2;
  CHECK(fabrics_like(row) == std::vector<std::string>{"abci-v", "ndv2", "dgx2"});
  row.ranks = 6;
  CHECK(fabrics_like(row) == std::vector<std::string>{"ndv2", "dgx2"});
  row.gpu = "NVIDIA H100 80GB HBM3";
  row.ranks = 16;
  row.nodes = 2;
  CHECK(fabrics_like(row) == std::vector<std::string>{"hgx-h100"});
  row.network = NetworkKind::Efa;
  CHECK(fabrics_like(row) == std::vector<std::string>{"aws-p5"});
  row.network = NetworkKind::Tcp;
  CHECK(fabrics_like(row) == std::vector<std::string>{"hgx-h100"});
  row.network.reset();
  row.nodes = 1;
  row.gpu = "NVIDIA GH200 480GB";
  CHECK(fabrics_like(row).empty());  // 16 on one node
  row.nodes = 4;
  CHECK(fabrics_like(row) == std::vector<std::string>{"alps"});
  for (const char* card : {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100-PCIE-40GB",
                           "NVIDIA H100 80GB HBM3 MIG 1g.10gb"}) {
    row.gpu = card;
    CHECK(fabrics_like(row).empty());
    CHECK_FALSE(is_gpu(card, "H100"));
  }
  row.gpu = "NVIDIA GeForce RTX 4090";
  CHECK(fabrics_like(row).empty());
}

TEST_CASE("the fabric of a log that names GPUs, and what else it may be",
          "[calibration][systems]") {
  Measurement row = row_on(16, 2);
  row.gpu = "NVIDIA H100 80GB HBM3";
  const auto note = [&] { return guess_fabric(std::span(&row, 1), "run.txt").note; };
  CHECK(note() ==
        "run.txt names 8 GPUs per node of NVIDIA H100 80GB HBM3: simulated on --fabric hgx-h100 "
        "(also "
        "possible: aws-p5, gcp-a3-high, gcp-a3-mega, ndv5, oci-h100)");
  row.nodes = 1;
  row.ranks = 8;
  CHECK(note().ends_with("simulated on --fabric hgx-h100"));
  row.gpu = "NVIDIA L4";
  CHECK(thrown(note).find("; l4-pcie have such GPUs, but may be other machines") !=
        std::string::npos);
  row.gpu = "NVIDIA Z9";
  CHECK(thrown(note).find("no shipped fabric has 8 of NVIDIA Z9 per node") != std::string::npos);
}

TEST_CASE("configs give a call's configuration, or mark it as unknown", "[calibration][systems]") {
  Measurement row = row_on(8, 1, "ag_ring_ll_8_2");
  const MeasuredSystem& mi300x = measured_system("MI300Xx8");
  REQUIRE(run_plan(mi300x, row).named);
  CHECK(run_plan(mi300x, row).named->protocol == Protocol::LL);
  row.bytes = 512 << 10;
  CHECK(run_plan(mi300x, row).named->protocol == Protocol::Simple);
  CHECK(!run_plan(measured_system("Azure-NDv4"), row_on(8, 1, "msccl")).refusal.empty());
  CHECK(run_plan(measured_system("Azure-NDv4"), row_on(8, 1, "nccl")).refusal.empty());
  for (const char* name : {"Polaris", "Sirius"}) {
    const MeasuredSystem& alcf = measured_system(name);
    CHECK(run_plan(alcf, row_on(8, 2, "envset4")).cost_model == "auto");
    CHECK(run_plan(alcf, row_on(8, 2, "envset5")).cost_model == "a100-slingshot-software");
    CHECK(run_plan(alcf, row_on(8, 2)).refusal.empty());
    CHECK_FALSE(run_plan(alcf, row_on(8, 2, "envset1")).refusal.empty());  // over TCP
    CHECK_FALSE(run_plan(alcf, row_on(8, 2, "envset9")).refusal.empty());  // unknown
  }
}

}  // namespace
}  // namespace cclgym::test
