// Fabrics from the XML that NCCL and RCCL write to NCCL_TOPO_DUMP_FILE.
#include "topology_models/gpu_models.hpp"
#include "topology_models/imported/imported_files.hpp"

namespace cclgym {

namespace {

std::string xml_cpu(const std::string& inside, const std::string& of = "") {
  return "<cpu numaid=\"0\" " +
         (of.empty() ? R"(arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1")" : of) +
         ">" + inside + "</cpu>";
}

std::string xml_pci(
    const std::string& bus, const std::string& inside,
    const std::string& of = R"(class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16")") {
  return "<pci busid=\"0000:" + bus + ":00.0\" " + of + ">" + inside + "</pci>";
}

std::string xml_gpu(int rank, const std::string& inside, const std::string& of = "sm=\"90\"") {
  const std::string number = std::to_string(rank);
  return "<gpu dev=\"" + number + "\" " + of + " rank=\"" + number + "\" gdr=\"1\">" + inside +
         "</gpu>";
}

std::string nvlinks_to(const std::string& bus, int count, const std::string& kind = "0x030200") {
  return "<nvlink target=\"0000:" + bus + ":00.0\" count=\"" + std::to_string(count) +
         "\" tclass=\"" + kind + "\"/>";
}

std::string xml_net(int dev, int mbps, const std::string& more = "") {
  return "<net name=\"mlx5_" + std::to_string(dev) + "\" dev=\"" + std::to_string(dev) +
         "\" speed=\"" + std::to_string(mbps) + "\" port=\"1\" gdr=\"1\" " + more + "/>";
}

std::string xml_system(const std::string& inside) {
  return "<system version=\"1\">\n" + inside + "\n</system>\n";
}

// Two GPUs and a NIC at one switch.
std::string pair_of_gpus(const std::string& gpu = "sm=\"90\"", int back = 6) {
  return xml_system(
      xml_cpu(xml_pci("10", xml_pci("11", xml_gpu(0, nvlinks_to("12", 6), gpu)) +
                                xml_pci("12", xml_gpu(1, nvlinks_to("11", back), gpu)) +
                                xml_pci("13", "<nic>" + xml_net(0, 400000) + "</nic>"))));
}

// `count` GPUs, each at a host of its own, with links to NVSwitches.
std::string gpus_on_switches(int count, const std::string& of) {
  std::string cpus;
  for (int k = count; k-- > 0;) {
    cpus += xml_cpu(
        xml_pci(std::to_string(20 + k),
                xml_gpu(k, nvlinks_to("c0", 3, "0x068000") + nvlinks_to("c1", 4, "0x068000"), of)));
  }
  return xml_system(cpus);
}

}  // namespace

TEST_CASE("NCCL's topology: GPUs, NVLinks, a switch and a NIC", "[topology_models][imported]") {
  const FabricPtr fabric = imported(pair_of_gpus());
  CHECK(fabric->name() == "machine");
  CHECK(fabric->ranks() == 2);
  CHECK(fabric->servers() == 1);
  CHECK(fabric->gpu_model() == "H100");
  CHECK(fabric->host().cpu == HostCpu::Amd);
  CHECK_FALSE(fabric->host().nics_behind_host_bridge);
  CHECK(fabric->max_relays() == 1);
  CHECK(count_of(*fabric, NodeKind::PcieSwitch) == 1);
  CHECK(count_of(*fabric, NodeKind::Nic) == 1);
  CHECK(count_of(*fabric, NodeKind::Host) == 1);
  CHECK(rate_between(*fabric, "gpu0", "gpu1") == 6 * 25);
  CHECK(rate_between(*fabric, "gpu1", "pcie0") == 48);
  CHECK(rate_between(*fabric, "nic0", "pcie0") == 48);
  CHECK(rate_between(*fabric, "nic0", "network") == 50);
  for (const Link& link : fabric->links()) CHECK_FALSE(link.latency_stated);
  // Nothing in the file tells an H100 from an H200.
  REQUIRE(fabric->warnings().size() == 1);
  CHECK(
      warns(*fabric,
            "GPUs of compute capability 9.0 are taken for H100; for another one (H200, H800, H20), "
            "set"));
}

TEST_CASE("NCCL's topology: the same node several times", "[topology_models][imported]") {
  const FabricPtr fabric = imported(pair_of_gpus(), 3);
  CHECK(fabric->ranks() == 6);
  CHECK(fabric->servers() == 3);
  CHECK(fabric->ranks_per_server() == 2);
  CHECK(count_of(*fabric, NodeKind::NetworkSwitch) == 1);
  CHECK(rate_between(*fabric, "node2/gpu0", "node2/gpu1") == 150);
  CHECK(rate_between(*fabric, "network", "node2/nic0") == 50);
  CHECK(import_complaint(gpus_on_switches(3, "sm=\"80\""), 2) ==
        "NCCL's topology m has no NIC to join 2 nodes with; expected nodes = 1, or a description "
        "with NICs");
}

TEST_CASE("NCCL's topology: NVSwitches are one device of several chips",
          "[topology_models][imported]") {
  const FabricPtr fabric = imported(gpus_on_switches(3, "sm=\"80\""));
  CHECK(fabric->gpu_model() == "A100");
  CHECK(warns(*fabric, "are taken for A100; for another one (A800), set"));
  REQUIRE(count_of(*fabric, NodeKind::NvSwitch) == 1);
  const Node& nvswitch = node_at(*fabric, 3);
  CHECK(nvswitch.kind == NodeKind::NvSwitch);
  CHECK(nvswitch.multiplicity == 2);
  CHECK_FALSE(nvswitch.computes);
  CHECK(rate_between(*fabric, "gpu2", "nvswitch0") == 7 * 25);
  // Three sockets of AMD, each joined to the others.
  CHECK(rate_between(*fabric, "host0", "host2") == 16);
  // Ranks number the GPUs, whatever their order in the file.
  CHECK(rate_between(*fabric, "gpu0", "host2") == 48);
  const FabricPtr blackwell = imported(gpus_on_switches(3, "sm=\"100\""));
  CHECK(node_at(*blackwell, 3).computes);  // NVLink SHARP
  CHECK(rate_between(*blackwell, "gpu2", "nvswitch0") == 7 * 50);
}

TEST_CASE("NCCL's topology: the model is that of the device, else the nearest",
          "[topology_models][imported]") {
  const auto of = [](const std::string& sm, const std::string& device) {
    return imported(xml_system(xml_cpu(xml_pci(
        "11", xml_gpu(0, "", sm),
        "class=\"0x030200\" device=\"" + device + R"(" link_speed="16 GT/s" link_width="8")"))));
  };
  CHECK(of("sm=\"90\"", "0x2335")->gpu_model() == "H200");
  CHECK(of("sm=\"90\"", "0x2335")->warnings().empty());
  CHECK(rate_between(*of("sm=\"90\"", "0x2335"), "gpu0", "host0") == 12);
  CHECK(of("sm=\"80\"", "0x2335")->gpu_model() == "A100");  // the GPU itself knows better
  for (const auto& [sm, model] :
       std::map<std::string, std::string>{{"120", "B300"}, {"61", "V100"}}) {
    const FabricPtr fabric = of("sm=\"" + sm + "\"", "0x0001");
    CHECK(fabric->gpu_model() == model);
    CHECK(warns(*fabric,
                "the nearest, stands for them in links, memory, NCCL's choice and cost model: "));
  }
  CHECK(warns(*of("sm=\"120\"", "0"),
              "there is no model of GPUs of compute capability 12.0; B300 "
              "(compute capability 10.3), the nearest"));
}

TEST_CASE("NCCL's topology: files of RCCL", "[topology_models][imported]") {
  const auto of = [](const std::string& gcn) {
    std::string text = pair_of_gpus("sm=\"104\" gcn=\"" + gcn + "\"");
    for (std::size_t at = text.find("nvlink"); at != std::string::npos; at = text.find("nvlink")) {
      text.replace(at, 6, "xgmi");
    }
    text.replace(text.find("version=\"1\""), 11, "version=\"2\"");
    return imported("<!-- RCCL -->\n" + text);
  };
  CHECK(of("gfx942")->gpu_model() == "MI300X");
  CHECK(rate_between(*of("gfx942"), "gpu0", "gpu1") == 6 * 64);
  CHECK(of("gfx942")->max_relays() == 1000);  // xGMI routes by itself
  CHECK(of("910")->gpu_model() == "MI250X");
  CHECK(of("gfx90a:sramecc+:xnack-")->gpu_model() == "MI250X");
  CHECK(of("906")->gpu_model() == "MI50");
  CHECK(of("908")->gpu_model() == "MI50");
  CHECK(warns(*of("908"), "architecture gfx908"));
  CHECK(import_complaint(xml_system(xml_cpu(xml_pci("11", xml_gpu(0, "", "sm=\"1\" gcn=\"x\"")))))
            .find("gcn 'x'; expected an architecture such as gfx942") != std::string::npos);
}

TEST_CASE("NCCL's topology: what NCCL assumes is assumed, with a warning",
          "[topology_models][imported]") {
  const FabricPtr fabric = imported(xml_system(xml_cpu(
      xml_pci("11", xml_gpu(0, nvlinks_to("11", 12) + nvlinks_to("77", 4), "sm=\"80\""),
              R"(class="0x030200" link_speed="" link_width="0")") +
          xml_pci("12", xml_gpu(1, "", "sm=\"80\""), R"(class="0x030200")") +
          xml_pci("14",
                  "<nic>" + xml_net(0, 100000) + xml_net(1, -1) + "<net name=\"other\"/></nic>",
                  R"(class="0x020000" link_speed="8.0 GT/s PCIe" link_width="8")") +
          "<nic>" + xml_net(2, 25000) + "</nic>" + xml_pci("15", "", "class=\"0x010802\"") +
          xml_pci("16", "", "class=\"0x020000\"") + "<strange/>",
      "arch=\"ppc64\"")));
  CHECK(rate_between(*fabric, "gpu0", "host0") == 12);
  // The ports of a card share its link.
  CHECK(count_of(*fabric, NodeKind::Nic) == 3);
  CHECK(rate_between(*fabric, "nic0", "host0") == 3);
  CHECK(rate_between(*fabric, "nic1", "network") == 1.25);
  CHECK(rate_between(*fabric, "nic2", "host0") == 3.125);  // a virtual NIC
  CHECK(fabric->host().nics_behind_host_bridge);
  CHECK(warns(*fabric, "2 PCIe devices have no link_speed that NCCL knows: it takes 8 GT/s"));
  CHECK(warns(*fabric, "2 PCIe devices have no link_width: "));
  CHECK(warns(*fabric, "1 NICs have no speed: NCCL takes 10 Gb/s"));
  CHECK(warns(*fabric, "1 NVLinks lead from a GPU to itself"));
  CHECK(warns(*fabric, "1 NVLinks lead to GPUs that are not in the file"));
  CHECK(warns(*fabric, "1 network cards have no <net>"));
  CHECK(warns(*fabric, "taken for intel"));
  CHECK(warns(*fabric, "elements are not read: <strange>"));
}

TEST_CASE("NCCL's topology: rates between sockets are those of NCCL",
          "[topology_models][imported]") {
  const auto rate = [](const std::string& of) {
    return rate_between(
        *imported(xml_system(xml_cpu(xml_pci("11", xml_gpu(0, ""))) + xml_cpu("", of))), "host0",
        "host1");
  };
  const std::string intel = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid=)";
  CHECK(rate(intel + "\"79\"") == 6);
  CHECK(rate(intel + "\"85\"") == 10);
  CHECK(rate(intel + "\"143\"") == 22);
  CHECK(rate(intel + "\"207\"") == 40);
  CHECK(rate("arch=\"arm64\"") == 6);
  CHECK(rate("arch=\"ppc64\"") == 32);
}

TEST_CASE("NCCL's topology: CPUs at NVLink, and several hosts at one NVSwitch",
          "[topology_models][imported]") {
  const std::string gpu = R"(sm="90")";
  const std::string links = nvlinks_to("c0", 18, "0x068000") + R"(<c2c bw="44712" count="10"/>)";
  const FabricPtr fabric = imported(xml_system(
      xml_cpu(xml_pci("11", xml_gpu(0, links, gpu)), "arch=\"arm64\" host_hash=\"0x1\"") +
      xml_cpu(xml_pci("11", xml_gpu(1, links, gpu)), "arch=\"arm64\" host_hash=\"0x2\"")));
  CHECK(fabric->ranks() == 2);
  CHECK(fabric->gpu_model() == "GH200");
  CHECK(fabric->host().cpu == HostCpu::Arm);
  CHECK(rate_between(*fabric, "host0", "host1") == 0);
  double c2c_GBps = 0;
  for (const Link& link : fabric->links()) {
    if (link.kind == LinkKind::Generic) c2c_GBps = link.capacity_Bps() / 1e9;
  }
  CHECK(std::abs(c2c_GBps - 447.12) < 1e-9);
}

TEST_CASE("NCCL's topology: files that are none, or leave out too much",
          "[topology_models][imported]") {
  const auto refused = [](const std::string& text, const std::string& words) {
    INFO(text);
    const std::string message = import_complaint(text);
    INFO(message);
    CHECK(message.starts_with("m:"));
    CHECK(message.find(words) != std::string::npos);
  };
  refused("<graphs version=\"1\"></graphs>",
          "expected <system>, its topology (NCCL_TOPO_DUMP_FILE)");
  refused("<algo name=\"a\"></algo>", "a program in MSCCL XML (for --program); expected <system>");
  refused("<topology version=\"2.0\"/>", "element 'topology'; expected <system>");
  refused("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology/>",
          "a DOCTYPE; expected NCCL's topology, which begins with <system");
  refused("<system version=\"1\">", "the XML is ill-formed or ends too early");
  refused("<system version=\"3\"/>", "version '3'; expected a whole number from 1 to 2");
  refused(xml_system(xml_cpu("")), "no <gpu>; expected NCCL's topology");
  refused(xml_system(xml_cpu(xml_pci("10", xml_pci("11", "", "class=\"0x030200\"") +
                                               xml_pci("12", "", "class=\"0x020700\"")))),
          "2 PCI devices, of them 1 GPUs and 1 network cards by their class, but no <gpu>: a "
          "template for NCCL_TOPO_FILE");
  refused(pair_of_gpus("sm=\"90\"", 5), "6 links to a GPU that has 5 back; expected as many");
  refused(pair_of_gpus(""), "<gpu> has no attribute 'sm'");
  refused(pair_of_gpus("sm=\"x\""), "sm 'x'; expected a whole number from 10 to 999");
  refused(xml_system(
              xml_cpu(xml_pci("11", xml_gpu(0, "")) + xml_pci("12", xml_gpu(1, "", "sm=\"80\"")))),
          "a GPU of another architecture than the first one");
  refused(xml_system(xml_cpu(xml_pci("11", xml_gpu(0, "")) + xml_pci("11", xml_gpu(1, "")))),
          "a second device with busid '0000:11:00.0'");
  refused(xml_system(xml_cpu(xml_pci("11", xml_gpu(0, "")) + xml_pci("12", xml_gpu(0, "")))),
          "a second GPU has rank 0");
  refused(xml_system(xml_cpu(xml_pci("11", xml_gpu(0, "") + xml_gpu(1, "")))),
          "a second <gpu> of one device");
  refused(xml_system(xml_cpu(xml_pci("zz", xml_gpu(0, "")))),
          "busid '0000:zz:00.0'; expected a PCI address");
  std::string deep = xml_gpu(0, "");
  for (int k = 0; k < 40; ++k) deep = xml_pci("11", deep);
  refused(xml_system(xml_cpu(deep)), "<pci> on level 33; expected at most 32");
}

TEST_CASE("GPU models: the nearest by architecture", "[topology_models][gpu-models]") {
  const auto nearest = [](GpuVendor vendor, int architecture) {
    std::string names;
    for (const GpuModel* gpu :
         nearest_gpu_models({.vendor = vendor, .architecture = architecture})) {
      names += std::string(gpu->name) + " ";
    }
    return names;
  };
  CHECK(nearest(GpuVendor::Nvidia, 80) == "A100 A800 ");
  CHECK(nearest(GpuVendor::Nvidia, 89) == "L4 L40S 4090 ");
  CHECK(nearest(GpuVendor::Nvidia, 90) == "H100 H200 H800 H20 GH200 ");
  CHECK(nearest(GpuVendor::Nvidia, 100) == "B200 GB200 ");
  CHECK(nearest(GpuVendor::Amd, 0x942) == "MI300X MI325X ");
  CHECK(nearest(GpuVendor::Amd, 0x951) == "MI350X MI355X ");
  const auto arm = nearest_gpu_models({.architecture = 90, .with_arm_cpu = true});
  CHECK(arm.front()->name == "GH200");
  const auto older = nearest_gpu_models(
      {.architecture = 100}, [](const GpuModel& gpu) { return gpu.compute_capability < 90; });
  REQUIRE(older.size() == 3);
  CHECK(older.front()->name == "L4");
  CHECK(gpu_model_of_device(0x2329)->name == "H20");
  CHECK(gpu_model_of_device(0x1) == nullptr);
  for (const GpuModel& gpu : gpu_models()) CHECK(gpu.link_Bps > 0);
}

}  // namespace cclgym
