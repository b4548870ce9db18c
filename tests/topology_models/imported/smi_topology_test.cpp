// Fabrics from the output of nvidia-smi topo -m, and files of no known format.
#include "topology_models/imported/imported_files.hpp"

namespace cclgym {

namespace {

const std::string kPair =
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV12\tPXB\t0-31\t0\n"
    "GPU1\tNV12\t X \tSYS\t32-63\t1\n"
    "NIC0\tPXB\tSYS\t X \n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_0\n";

// `gpus` GPUs with the same code between every two, and the same CPUs.
std::string equal_gpus(int gpus, const std::string& code) {
  std::string header;
  std::string rows;
  for (int a = 0; a < gpus; ++a) {
    header += "\tGPU" + std::to_string(a);
    rows += "GPU" + std::to_string(a);
    for (int b = 0; b < gpus; ++b) rows += "\t" + (a == b ? " X " : code);
    rows += "\t0-47\t0\t\tN/A\n";
  }
  return header + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n" + rows;
}

}  // namespace

TEST_CASE("nvidia-smi topo -m: GPUs, NVLinks, a switch and a NIC", "[topology_models][imported]") {
  const FabricPtr fabric = imported(kPair);
  CHECK(fabric->ranks() == 2);
  CHECK(fabric->gpu_model() == "A100");
  CHECK(rate_between(*fabric, "gpu0", "gpu1") == 12 * 25);
  CHECK(count_of(*fabric, NodeKind::NvSwitch) == 0);
  CHECK(count_of(*fabric, NodeKind::Host) == 2);
  CHECK(rate_between(*fabric, "host0", "host1") == 16);
  // PXB: a switch with GPU 0 and the NIC.
  CHECK(count_of(*fabric, NodeKind::PcieSwitch) == 1);
  CHECK(rate_between(*fabric, "gpu0", "pcie0") == 24);
  CHECK(rate_between(*fabric, "nic0", "pcie0") == 24);
  CHECK(rate_between(*fabric, "pcie0", "host0") == 24);
  CHECK(rate_between(*fabric, "gpu1", "host1") == 24);
  CHECK(rate_between(*fabric, "nic0", "network") == 25);
  CHECK_FALSE(fabric->host().nics_behind_host_bridge);
  CHECK(warns(*fabric,
              "the text does not name the GPUs, so the GPUs are taken for A100, by 12 NVLinks"));
  CHECK(
      warns(*fabric,
            "states no rates: PCIe is taken for Gen4 with 16 lanes (24 GB/s), a NIC for 200 Gb/s, "
            "a link between CPUs for 16 GB/s, and CPUs for intel"));
  CHECK(imported(kPair, 4)->ranks() == 8);
}

TEST_CASE("nvidia-smi topo -m: more NVLinks than a GPU has lead to NVSwitches",
          "[topology_models][imported]") {
  const FabricPtr eight = imported(equal_gpus(8, "NV18"));
  CHECK(count_of(*eight, NodeKind::NvSwitch) == 1);
  CHECK(rate_between(*eight, "gpu7", "nvswitch0") == 18 * 25);
  CHECK(count_of(*eight, NodeKind::Host) == 1);  // by the equal CPU affinity
  CHECK(eight->gpu_model() == "H100");
  const FabricPtr mesh = imported(equal_gpus(4, "NV4"));
  CHECK(count_of(*mesh, NodeKind::NvSwitch) == 0);
  CHECK(rate_between(*mesh, "gpu0", "gpu3") == 100);
  CHECK(mesh->gpu_model() == "A100");
  // The status of the NVLinks says how many a GPU has.
  std::string text = equal_gpus(3, "NV6");
  CHECK(imported(text)->gpu_model() == "A100");
  text += "GPU 0: Tesla V100-SXM3-32GB (UUID: GPU-1)\n";
  for (int link = 0; link < 6; ++link)
    text += "\t Link " + std::to_string(link) + ": 25.781 GB/s\n";
  text += "\t Link 6: <inactive>\n";
  const FabricPtr dgx2 = imported(text);
  CHECK(dgx2->gpu_model() == "V100");
  CHECK(rate_between(*dgx2, "gpu0", "nvswitch0") == 150);
  CHECK(rate_between(*dgx2, "gpu0", "host0") == 12);
  CHECK(
      import_complaint("\tGPU0\tGPU1\tGPU2\nGPU0 X NV12 NV8\nGPU1 NV12 X NV8\nGPU2 NV8 NV8 X\n") ==
      "m: GPU0 has NV12 and NV8, more NVLinks than a GPU has; expected one number to all GPUs on "
      "NVSwitches, or at most 18 in all");
}

TEST_CASE("nvidia-smi topo -m: names of GPUs", "[topology_models][imported]") {
  const auto named = [](const std::string& name) {
    return imported("GPU 0: " + name + " (UUID: GPU-1)\nGPU 1: " + name + " (UUID: GPU-2)\n" +
                    equal_gpus(2, "SYS"));
  };
  CHECK(named("NVIDIA H100 80GB HBM3")->gpu_model() == "H100");
  CHECK(named("NVIDIA H20")->gpu_model() == "H20");
  CHECK(named("NVIDIA GH200 480GB")->gpu_model() == "GH200");
  CHECK(named("NVIDIA A10G")->gpu_model() == "A10G");
  CHECK(named("NVIDIA H100 80GB HBM3")->warnings().size() == 1);  // rates
  CHECK(rate_between(*named("NVIDIA H200"), "gpu0", "host0") == 48);
  CHECK(named("NVIDIA L40S")->gpu_model() == "L40S");
  const FabricPtr ampere = named("NVIDIA A40");
  CHECK(ampere->gpu_model() == "A10G");
  CHECK(warns(*ampere, "there is no model of the GPU 'NVIDIA A40'"));
  const FabricPtr unknown = named("NVIDIA X1");
  CHECK(unknown->gpu_model().empty());
  CHECK(warns(*unknown, "the GPU 'NVIDIA X1' is not known; name a cost model, or set gpu_model"));
}

TEST_CASE("nvidia-smi topo -m: switches below a switch, and hosts", "[topology_models][imported]") {
  // Old drivers: NICs by their own names, SOC for SYS.
  const FabricPtr fabric = imported(
      "\tGPU0\tGPU1\tGPU2\tmlx5_0\tmlx5_1\tCPU Affinity\n"
      "GPU0\t X \tPIX\tPXB\tPXB\tSOC\t0-13\n"
      "GPU1\tPIX\t X \tPXB\tPXB\tSOC\t0-13\n"
      "GPU2\tPXB\tPXB\t X \tPIX\tSOC\t0-13\n"
      "mlx5_0\tPXB\tPXB\tPIX\t X \tSOC\n"
      "mlx5_1\tSOC\tSOC\tSOC\tSOC\t X\n");
  CHECK(fabric->ranks() == 3);
  CHECK(count_of(*fabric, NodeKind::PcieSwitch) == 3);
  CHECK(count_of(*fabric, NodeKind::Host) == 2);
  CHECK(rate_between(*fabric, "gpu0", "pcie1") == 24);
  CHECK(rate_between(*fabric, "pcie1", "pcie0") == 24);
  CHECK(rate_between(*fabric, "nic0", "pcie2") == 24);
  CHECK(rate_between(*fabric, "nic1", "host1") == 24);
  // PHB and NODE: the same host, no switch.
  const FabricPtr host = imported(
      "\tGPU0\tGPU1\tNIC0\nGPU0\t X\tNODE\tPHB\nGPU1\tNODE\t X\tNODE\nNIC0\tPHB\tNODE\t X\n");
  CHECK(count_of(*host, NodeKind::PcieSwitch) == 0);
  CHECK(count_of(*host, NodeKind::Host) == 1);
  CHECK(host->host().nics_behind_host_bridge);
  // The same CPUs, but SYS: not one host. In virtual machines, both occur.
  CHECK(count_of(*imported(equal_gpus(2, "SYS")), NodeKind::Host) == 2);
}

TEST_CASE("nvidia-smi topo -m: as terminals and editors leave it", "[topology_models][imported]") {
  const FabricPtr plain = imported(equal_gpus(3, "NODE"));
  const auto same = [&](const std::string& text) {
    INFO(text);
    CHECK(imported(text)->canonical_text() == plain->canonical_text());
  };
  std::string text = equal_gpus(3, "NODE");
  same("$ nvidia-smi topo -m\n\x1b[4m" + text.substr(0, text.find('\n')) + "\x1b[0m" +
       text.substr(text.find('\n')));
  std::string spaces;
  for (const char c : text) spaces += c == '\t' ? std::string(4, ' ') : std::string(1, c);
  same("```\n    " + spaces + "```\n");
  std::string windows;
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  same(windows);
  const std::size_t touching = text.find("NODE\tNODE");
  text.erase(touching + 4, 1);
  same(text);
}

TEST_CASE("nvidia-smi topo -m: a matrix with a fault has its place",
          "[topology_models][imported]") {
  const std::string header = "\tGPU0\tGPU1\n";
  CHECK(import_complaint(header + "GPU0 X PIX\n") ==
        "m:3:1: the matrix ends here; expected 2 rows, one for each device of the header");
  CHECK(import_complaint(header + "GPU0 X PIX\nGPU2 PIX X\n") ==
        "m:3:5: row 'GPU2'; expected 2 rows, one for each device of the header");
  CHECK(import_complaint(header + "GPU0 X PIX\nGPU1 PIP X\n") ==
        "m:3:6: 'PIP X'; expected 2 of X, NV1 to NV1000, PIX, PXB, PHB, NODE, SYS in the row of "
        "GPU1");
  CHECK(import_complaint(header + "GPU0 X PIX\nGPU1 PIX\n") ==
        "m:3:9: the row ends here; expected 2 of X, NV1 to NV1000, PIX, PXB, PHB, NODE, SYS in the "
        "row of GPU1");
  CHECK(import_complaint(header + "GPU0 X PIX\nGPU1 PXB X\n")
            .starts_with("m: the matrix differs between GPU0 and GPU1 in its two halves"));
  CHECK(import_complaint("GPU0 X PIX\n").starts_with("m:1:1: no header above the matrix"));
}

TEST_CASE("nvidia-smi topo -m: GPUs that the rest of the text contradicts",
          "[topology_models][imported]") {
  const std::string status = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: a)\n\t Link 0: 25 GB/s\n";
  CHECK(
      import_complaint(equal_gpus(2, "SYS") + status) ==
      "m: the GPUs have 1 NVLinks, but the matrix has none; expected the output of nvidia-smi topo "
      "-m (not -mp)");
  CHECK(import_complaint(equal_gpus(2, "NV12") + "GPU 0: Tesla T4\nGPU 1: Tesla V100\n")
            .ends_with("GPU 'Tesla V100', and 'Tesla T4' before; expected GPUs of one model"));
}

TEST_CASE("files that describe no fabric say which formats do", "[topology_models][imported]") {
  const std::string formats =
      "; expected a fabric file (YAML; docs/fabrics.md), NCCL's topology (XML; "
      "NCCL_TOPO_DUMP_FILE=system.xml writes it) or the output of nvidia-smi topo -m";
  CHECK(import_complaint("host:12:12 [0] NCCL INFO Bootstrap\n") ==
        "m: not a description of a fabric: it begins with 'host:12:12 [0] NCCL INFO Bootstrap'" +
            formats);
  CHECK(import_complaint("") == "m: not a description of a fabric: it is empty" + formats);
  CHECK(import_complaint("{\"nodse\": 1}", 1, "m.json")
            .starts_with("m.json:1:2: unknown key of fabric 'nodse'"));
  CHECK(import_complaint("nodes: [{name: a}]\n", 3) ==
        "fabric 'm' has 1 node in its file; found nodes = 3");
  CHECK(is_fabric_file("./topo"));
  CHECK(is_fabric_file("topo.txt"));
  CHECK_FALSE(is_fabric_file("ndv4"));
}

}  // namespace cclgym
