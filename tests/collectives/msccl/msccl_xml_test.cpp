#include "collectives/msccl/msccl_xml.hpp"

#include <functional>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

namespace {

AlgorithmRequest xml_request(CollectiveKind kind, int ranks, int channels, int per_server = 0) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = ranks;
  request.channels = channels;
  request.ranks_per_server = per_server;
  request.compile = {};
  return request;
}

std::string xml_of(std::string_view name, const AlgorithmRequest& request,
                   const XmlSettings& settings = {}) {
  return to_msccl_xml(*build_algorithm(name, request), settings);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string import_error(const std::string& text) {
  return error_of([&] { (void)parse_msccl_xml(text, "t.xml"); });
}

std::string export_error(const ThreadBlockProgram& program, const XmlSettings& settings = {}) {
  return error_of([&] { (void)to_msccl_xml(program, settings); });
}

/// AllGather on two GPUs, in place, as msccl-tools writes it; one line per step.
const std::string kAllGather =
    R"(<algo name="two" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1">
  <gpu id="0" i_chunks="0" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="0" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t found = text.find(from);
  REQUIRE(found != std::string::npos);
  return text.replace(found, from.size(), to);
}

bool same_program(const ThreadBlockProgram& a, const ThreadBlockProgram& b) {
  return to_msccl_xml(a) == to_msccl_xml(b) && a.channels == b.channels &&
         a.contract.kind() == b.contract.kind() && a.contract.root() == b.contract.root() &&
         a.contract.in_place() == b.contract.in_place();
}

}  // namespace

TEST_CASE("msccl xml: every shipped program that the dialect supports survives a round trip",
          "[collectives][msccl-xml]") {
  int files = 0;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    for (const CollectiveKind kind : algorithm.collectives) {
      if (kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter) continue;
      for (const int ranks : {2, 3, 8, 16}) {
        if (check_ranks(algorithm.name, ranks)) continue;
        const auto request = xml_request(kind, ranks, 2, ranks % 2 == 0 ? ranks / 2 : 0);
        if (check_request(algorithm, request)) continue;  // needs all ranks on one node
        const auto program = build_algorithm(algorithm.name, request);
        if (program->kernels() > 1) continue;  // refused, see kernels_test.cpp
        if (program->uses_switches()) {
          CHECK(export_error(*program).find("switches that copy or add") != std::string::npos);
          continue;
        }
        for (const auto dialect : {XmlDialect::Microsoft, XmlDialect::Azure}) {
          if (kind == CollectiveKind::AllToNext && dialect == XmlDialect::Azure) continue;
          INFO(algorithm.name << " " << to_string(kind) << " " << ranks << " "
                              << to_string(dialect));
          const XmlSettings settings{.dialect = dialect, .protocol = "LL128", .min_bytes = 1024};
          const std::string text = to_msccl_xml(*program, settings);
          const XmlProgram read = parse_msccl_xml(text, "t.xml");
          CHECK(read.settings.dialect == dialect);
          CHECK(read.settings.protocol == "LL128");
          CHECK(read.settings.min_bytes == 1024);
          CHECK(read.program.name == algorithm.name);
          REQUIRE(to_msccl_xml(read.program, read.settings) == text);
          const VerifyReport report = verify(read.program, {.slots = 2});
          INFO(report.to_string());
          REQUIRE(report.ok);
          if (kind != CollectiveKind::AllToNext) CHECK(read.program.contract.kind() == kind);
          ++files;
        }
      }
    }
  }
  CHECK(files > 80);
}

TEST_CASE("msccl xml: the written file", "[collectives][msccl-xml]") {
  const std::string text = xml_of("ring", xml_request(CollectiveKind::AllReduce, 2, 1));
  CHECK(
      text.starts_with("<algo name=\"ring\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" "
                       "ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">\n"
                       "  <gpu id=\"0\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\">\n"));
  CHECK(text.find("type=\"rrcs\"") != std::string::npos);
  const std::string azure = xml_of("ring", xml_request(CollectiveKind::ReduceScatter, 3, 1),
                                   {.dialect = XmlDialect::Azure});
  CHECK(azure.find("coll=\"reducescatter\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" "
                   "maxBytes=\"134217727\">") != std::string::npos);
}

TEST_CASE("msccl xml: extra dependencies become nops before the step", "[collectives][msccl-xml]") {
  // Rank 0 receives from three blocks, then sends all three chunks at once.
  ProgramBuilder p("nops",
                   Contract::custom("gather", 5, {0, 1, 1, 1, 0}, {0, 0, 0, 0, 3}, nullptr));
  for (int rank = 1; rank <= 3; ++rank) {
    (void)p.chunk(rank, Buffer::Input, 0).copy(0, Buffer::Scratch, rank - 1);
  }
  (void)p.chunk(0, Buffer::Scratch, 0, 3).copy(4, Buffer::Output, 0);
  const ThreadBlockProgram program = compile(p.finish());
  CHECK(program.instructions() == 8);
  CHECK(msccl_steps(program) == 9);  // the send shares a block with one of the receives
  const std::string text = to_msccl_xml(program);
  const XmlProgram read = parse_msccl_xml(text, "t.xml");
  CHECK(read.program.instructions() == 9);
  CHECK(verify(read.program).ok);
  CHECK(to_msccl_xml(read.program, read.settings) == text);
}

TEST_CASE("msccl xml: roots are recovered", "[collectives][msccl-xml]") {
  for (const auto kind : {CollectiveKind::Broadcast, CollectiveKind::Reduce}) {
    auto request = xml_request(kind, 5, 1);
    request.root = 3;
    for (const char* name : {"tree", "naive"}) {
      const XmlProgram read = parse_msccl_xml(xml_of(name, request), "t.xml");
      CHECK(read.program.contract.root() == 3);
      CHECK(verify(read.program).ok);
    }
  }
}

TEST_CASE("msccl xml: files of other tools", "[collectives][msccl-xml]") {
  const XmlProgram plain = parse_msccl_xml(kAllGather, "t.xml");
  CHECK(verify(plain.program).ok);
  CHECK(plain.settings.protocol == "LL");
  CHECK(to_msccl_xml(plain.program, plain.settings) == kAllGather);
  // The file may have GPUs and thread blocks in any order, comments, a declaration, copies and
  // unknown attributes.
  std::string other = changed(kAllGather, "inplace=\"1\">",
                              "inplace=\"1\" redop=\"nop\" nthreads=\"256\"><!-- note -->");
  other = "<?xml version=\"1.0\"?>\n" + changed(other, "    <tb id=\"0\" send=\"1\"",
                                                "    <copy i_off=\"0\" o_off=\"0\"/>\n"
                                                "    <tb id=\"0\" send=\"1\"");
  CHECK(same_program(parse_msccl_xml(other, "t.xml").program, plain.program));
  CHECK(parse_msccl_xml(changed(kAllGather, "inplace=\"1\"",
                                "inplace=\"1\" outofplace=\"0\" "
                                "minBytes=\"0\" maxBytes=\"64\""),
                        "t.xml")
            .settings.dialect == XmlDialect::Azure);
  // A program that does not compute its declared collective is legal, but wrong.
  const std::string wrong = changed(kAllGather, "srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\"",
                                    "srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\"");
  const VerifyReport report = verify(parse_msccl_xml(wrong, "t.xml").program);
  CHECK_FALSE(report.ok);
}

TEST_CASE("msccl xml: one clear error per fault", "[collectives][msccl-xml]") {
  const auto with = [](const std::string& from, const std::string& to) {
    return import_error(changed(kAllGather, from, to));
  };
  CHECK(import_error("") == "t.xml:1:1: no XML element; expected <algo>");
  CHECK(import_error(kAllGather.substr(0, 300)) ==
        "t.xml:4:103: the XML is ill-formed or ends too early: error parsing element attribute");
  CHECK(import_error(kAllGather.substr(0, kAllGather.size() - 9)).find("ends too early") !=
        std::string::npos);
  CHECK(import_error("<!DOCTYPE a [<!ENTITY b \"bbbb\">]>\n" + kAllGather) ==
        "t.xml:1:1: a DOCTYPE; expected a program in MSCCL XML, which begins with <algo, without "
        "a DOCTYPE");
  CHECK(import_error("<agol/>") == "t.xml:1:1: element 'agol'; expected <algo>");
  CHECK(import_error(kAllGather + kAllGather) ==
        "t.xml:15:1: another element at the top; expected one");
  CHECK(with("coll=\"allgather\"", "coll=\"algather\"") ==
        "t.xml:1:1: unknown coll 'algather'; expected one of allreduce, allgather, reduce, "
        "broadcast, alltoall, reduce_scatter, reducescatter, custom (did you mean 'allgather'?)");
  CHECK(with("proto=\"LL\"", "proto=\"LL64\"").find("unknown proto 'LL64'") != std::string::npos);
  CHECK(with("nchannels=\"1\"", "nchannels=\"34\"") ==
        "t.xml:1:1: nchannels '34'; expected a whole number from 1 to 32");
  CHECK(with("ngpus=\"2\"", "ngpus=\"3\"") == "t.xml:1:1: 2 <gpu> elements; ngpus says 3");
  CHECK(with("nchunksperloop=\"2\"", "nchunksperloop=\"3\"").find("expected a multiple") !=
        std::string::npos);
  CHECK(with(" coll=\"allgather\"", "") == "t.xml:1:1: <algo> has no attribute 'coll'");
  CHECK(with("inplace=\"1\"", "inplace=\"1\" minBytes=\"9\" maxBytes=\"8\"") ==
        "t.xml:1:1: minBytes 9 is more than maxBytes 8");
  CHECK(with("<gpu id=\"1\"", "<gpu id=\"0\"") == "t.xml:8:3: another <gpu> has id 0 already");
  CHECK(with("o_chunks=\"2\"", "o_chunks=\"4\"") ==
        "t.xml:2:3: o_chunks 4; allgather with 2 chunks per loop has 2");
  CHECK(with("send=\"1\"", "send=\"0\"") == "t.xml:3:5: send peer 0 is the GPU itself");
  CHECK(with("send=\"1\"", "send=\"2\"") ==
        "t.xml:3:5: send '2'; expected a whole number from -1 to 1");
  CHECK(with("chan=\"0\"", "chan=\"1\"").find("chan '1'") != std::string::npos);
  CHECK(with("    </tb>\n", "    </tb>\n<tb id=\"1\" send=\"1\" recv=\"-1\" chan=\"0\"></tb>\n") ==
        "t.xml:7:1: duplicate connection: another thread block of GPU 0 has send peer 1 on channel "
        "0 already");
  CHECK(with("<step s=\"0\"", "<stop s=\"0\"") ==
        "t.xml:4:7: element 'stop' in <tb>; expected <step>");
  CHECK(with("<step s=\"1\"", "<step s=\"2\"") == "t.xml:5:7: s 2; expected 1, the steps in order");
  CHECK(with("type=\"s\"", "type=\"rr\"").starts_with("t.xml:4:7: unknown type 'rr'; expected"));
  CHECK(with("type=\"s\"", "type=\"ra\"") ==
        "t.xml:4:7: type 'ra' (microsoft's res_add) is not supported");
  CHECK(with("srcbuf=\"o\"", "srcbuf=\"x\"") == "t.xml:4:7: srcbuf 'x'; expected i, o or s");
  CHECK(with("srcoff=\"0\"", "srcoff=\"2\"") ==
        "t.xml:4:7: srcoff 2 with cnt 1 is out of the output buffer of 2 chunks");
  CHECK(with("dstoff=\"1\" cnt=\"1\"", "dstoff=\"1\" cnt=\"2\"") ==
        "t.xml:5:7: dstoff 1 with cnt 2 is out of the output buffer of 2 chunks");
  CHECK(with("srcoff=\"0\"", "srcoff=\"0x\"").find("srcoff '0x'") != std::string::npos);
  CHECK(with("cnt=\"1\"", "cnt=\"72\"").find("cnt '72'") != std::string::npos);
  CHECK(with("send=\"1\" recv=\"1\"", "send=\"1\" recv=\"-1\"") ==
        "t.xml:5:7: type 'r' in a <tb> with recv -1");
  CHECK(with("depid=\"-1\"", "depid=\"0\"") ==
        "t.xml:4:7: depid and deps must both be -1 or both name a step");
  CHECK(with("depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"") ==
        "t.xml:4:7: waits for thread block 3, step 0, which does not exist");
  CHECK(with("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"1\"") ==
        "t.xml:4:7: waits for thread block 0, step 1, whose hasdep is 0: it never publishes its "
        "completion");
  CHECK(with("type=\"s\"", "type=\"r\"") ==
        "t.xml:11:7: unmatched receive: message 0 from GPU 0 to GPU 1 on channel 0, of which 0 are "
        "sent");
  CHECK(with("type=\"r\"", "type=\"s\"").find("unmatched send") != std::string::npos);
  // A step waits for a later step of its own thread block.
  std::string cycle = changed(kAllGather, "depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"1\"");
  cycle = changed(cycle, "dstoff=\"1\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"",
                  "dstoff=\"1\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"");
  CHECK(import_error(cycle) == "t.xml:4:7: deadlock: this step is part of a cycle of waits");
  CHECK(import_error(std::string(kMostXmlBytes + 1, ' ')) ==
        "t.xml: 67108865 bytes; expected at most 67108864");
}

TEST_CASE("msccl xml: invalid XML that parsers accept is refused", "[collectives][msccl-xml]") {
  const auto with = [](const std::string& from, const std::string& to) {
    return import_error(changed(kAllGather, from, to));
  };
  CHECK(with("coll=\"allgather\"", "coll=\"allgather\" coll=\"reduce\"") ==
        "t.xml:1:1: <algo> has attribute 'coll' twice");
  CHECK(import_error(kAllGather + "more") ==
        "t.xml:15:1: text 'more'; expected nothing but elements");
  CHECK(with("  <gpu id=\"0\"", "text<gpu id=\"0\"") ==
        "t.xml:2:1: text 'text'; expected nothing but elements");
  CHECK(with("  <gpu id=\"0\"", "<![CDATA[x]]><gpu id=\"0\"").find("text 'x'; expected") !=
        std::string::npos);
  const std::string expected = "; expected a program in MSCCL XML, which begins with <algo";
  CHECK(import_error("name: e\nx: 1\n") ==
        "t.xml:1:1: not an XML file: it begins with 'name: e'" + expected);
  CHECK(import_error("\n  {\"a\": \"<algo>\"}") ==
        "t.xml:2:3: not an XML file: it begins with '{\"a\": \"<algo>\"}'" + expected);
  CHECK(import_error("\x7f"
                     "ELF\x02") ==
        "t.xml:1:1: not an XML file: it begins with '\\x7fELF\\x02'" + expected);
  CHECK(with("name=\"two\"", "name=\"a&b;\"") ==
        "t.xml:1:1: name 'a&b;': unknown entity after &; expected one that XML defines");
  CHECK(with("name=\"two\"", "name=\"\xFF\"") ==
        "t.xml:1:13: byte 0xff is not UTF-8; expected XML text");
}

TEST_CASE("msccl xml: a buffer declared empty has no chunks", "[collectives][msccl-xml]") {
  std::string text = changed(kAllGather, "inplace=\"1\"", "inplace=\"0\"");
  text = changed(text, "srcbuf=\"o\"", "srcbuf=\"i\"");
  CHECK(import_error(text) ==
        "t.xml:4:7: srcoff 0 with cnt 1 is out of the input buffer of 0 chunks");
}

TEST_CASE("msccl xml: a file for both forms is checked in both", "[collectives][msccl-xml]") {
  const std::string both = "inplace=\"1\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"4096\"";
  // The program is correct in place; with separate buffers the GPU's own part is never written.
  const XmlProgram lacking = parse_msccl_xml(changed(kAllGather, "inplace=\"1\"", both), "t.xml");
  CHECK(lacking.settings.also_in_place);
  CHECK_FALSE(lacking.program.contract.in_place());
  CHECK_FALSE(verify(lacking.program).ok);
  CHECK(verify(in_place_form(lacking.program)).ok);
  // Export writes the same file again.
  const std::string written = to_msccl_xml(lacking.program, lacking.settings);
  CHECK(written.find(both) != std::string::npos);
  const XmlProgram again = parse_msccl_xml(written, "t.xml");
  CHECK(to_msccl_xml(again.program, again.settings) == written);
  CHECK(import_error(changed(kAllGather, "inplace=\"1\"",
                             "inplace=\"0\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"1\"")) ==
        "t.xml:1:1: inplace and outofplace are both 0; expected 1 for one of them, or both");
  CHECK(import_error(changed(kAllGather, "inplace=\"1\"", "inplace=\"1\" outofplace=\"0\"")) ==
        "t.xml:1:1: <algo> has no attribute 'minBytes'");
  XmlSettings microsoft = lacking.settings;
  microsoft.dialect = XmlDialect::Microsoft;
  CHECK(export_error(lacking.program, microsoft).find("only the azure dialect") !=
        std::string::npos);
}

TEST_CASE("msccl xml: maxBytes is translated between the dialects", "[collectives][msccl-xml]") {
  const auto read = [](const std::string& form, const std::string& sizes) {
    return parse_msccl_xml(changed(kAllGather, "inplace=\"1\"", "inplace=\"1\"" + form + sizes),
                           "t.xml");
  };
  const std::string azure = " outofplace=\"0\"";
  const auto written = [](XmlProgram program, XmlDialect dialect) {
    program.settings.dialect = dialect;
    const std::string text = to_msccl_xml(program.program, program.settings);
    const std::size_t from = text.find(" minBytes");
    return from == std::string::npos ? "" : text.substr(from, text.find('>') - from);
  };
  const auto both = [&](const XmlProgram& program) {
    return std::pair(written(program, XmlDialect::Azure), written(program, XmlDialect::Microsoft));
  };
  using Both = std::pair<std::string, std::string>;
  const auto sizes = [](const std::string& min, const std::string& max) {
    return " minBytes=\"" + min + "\" maxBytes=\"" + max + "\"";
  };
  const std::string most = "9223372036854775807";
  // Azure uses a program up to maxBytes, and 0 is no limit; Microsoft only below maxBytes.
  CHECK(both(read(azure, sizes("1024", "2097151"))) ==
        Both(sizes("1024", "2097151"), sizes("1024", "2097152")));
  CHECK(both(read("", sizes("1024", "2097152"))) ==
        Both(sizes("1024", "2097151"), sizes("1024", "2097152")));
  const XmlProgram unlimited = read(azure, sizes("393216", "0"));
  CHECK(unlimited.settings.used_for(std::uint64_t{1} << 50));
  CHECK_FALSE(unlimited.settings.used_for(393215));
  CHECK(both(unlimited) == Both(sizes("393216", "0"), sizes("393216", most)));
  CHECK(both(read("", sizes("0", most))) == Both(sizes("0", "0"), sizes("0", most)));
  CHECK(both(read(azure, sizes("0", most))) == Both(sizes("0", "0"), sizes("0", most)));
  CHECK(both(read("", "")) == Both(sizes("0", "134217727"), ""));
  CHECK(both(read(azure, sizes("8", "8"))) == Both(sizes("8", "8"), sizes("8", "9")));
  // Microsoft loads such a file, and never uses it.
  const XmlProgram never = read("", sizes("8", "8"));
  CHECK_FALSE(never.settings.used_for(8));
  CHECK(export_error(never.program, never.settings).find("no call would use it") !=
        std::string::npos);
  CHECK_FALSE(read("", sizes("0", "0")).settings.used_for(0));
  CHECK(
      import_error(changed(kAllGather, "inplace=\"1\"", "inplace=\"1\" minBytes=\"134217729\"")) ==
      "t.xml:1:1: minBytes 134217729 is more than maxBytes 134217728");
}

TEST_CASE("msccl xml: threads of a block, and ambiguous roots", "[collectives][msccl-xml]") {
  const XmlProgram read =
      parse_msccl_xml(changed(kAllGather, "inplace=\"1\"", "inplace=\"1\" nthreads=\"256\""), "t");
  CHECK(read.settings.threads == 256);
  CHECK(to_msccl_xml(read.program, read.settings).find(" nthreads=\"256\"") != std::string::npos);
  for (const char* bad : {"33", "0"}) {
    CHECK(import_error(changed(kAllGather, "inplace=\"1\"",
                               "inplace=\"1\" nthreads=\"" + std::string(bad) + "\"")) ==
          "t.xml:1:1: nthreads " + std::string(bad) + "; expected a multiple of 32, at most 1024");
  }
  CHECK(export_error(read.program, {.dialect = XmlDialect::Azure, .threads = 256})
            .find("its executor has no nthreads") != std::string::npos);
  // A ring AllReduce also performs a Reduce, but its root cannot be determined.
  const std::string ring = xml_of("ring", xml_request(CollectiveKind::AllReduce, 3, 1));
  CHECK_FALSE(parse_msccl_xml(ring, "t.xml").root_assumed);
  CHECK(parse_msccl_xml(changed(ring, "coll=\"allreduce\"", "coll=\"reduce\""), "t.xml")
            .root_assumed);
}

TEST_CASE("msccl xml: programs that executors cannot load are refused with the reason",
          "[collectives][msccl-xml]") {
  const auto ring = [](int ranks, int channels) {
    return build_algorithm("ring", xml_request(CollectiveKind::AllReduce, ranks, channels));
  };
  CHECK(export_error(*ring(2, 33)) ==
        "program 'ring' cannot be written as MSCCL XML (microsoft): 33 channels; at most 32");
  CHECK(export_error(*ring(66, 4)).find("steps of thread block 0 on rank 0; at most 256") ==
        std::string::npos);
  CHECK(export_error(*ring(130, 1)).find("259 steps of thread block 0 on rank 0; at most 256") !=
        std::string::npos);
  // This is like msccl-tools' hier_allreduce_8x16 (34 channels).
  const auto wide =
      build_algorithm("hierarchical", xml_request(CollectiveKind::AllReduce, 128, 16, 8));
  CHECK(wide->channels == 33);
  CHECK(export_error(*wide).find("33 channels; at most 32") != std::string::npos);
  const auto halving =
      build_algorithm("halving-doubling", xml_request(CollectiveKind::AllReduce, 256, 1));
  CHECK(export_error(*halving).find("128 chunks in one step on rank 0; at most 71") !=
        std::string::npos);
  const auto pairs = build_algorithm("naive", xml_request(CollectiveKind::AllToAll, 40, 1));
  CHECK(export_error(*pairs).find("39 peers on channel 0 of rank 0; at most 32") !=
        std::string::npos);
  const auto next = build_algorithm("naive", xml_request(CollectiveKind::AllToNext, 4, 1));
  CHECK(export_error(*next, {.dialect = XmlDialect::Azure}).find("no custom collectives") !=
        std::string::npos);
  const auto gather = build_algorithm("naive", xml_request(CollectiveKind::Gather, 4, 1));
  CHECK(export_error(*gather).find("its executor has no gather") != std::string::npos);
  ThreadBlockProgram renamed = *ring(2, 1);
  renamed.name = std::string(64, 'x');
  CHECK(export_error(renamed).find("its name has 64 characters; at most 63") != std::string::npos);
  renamed.name = "a<b";
  CHECK(export_error(renamed).find("characters that XML escapes") != std::string::npos);
  CHECK(export_error(*ring(2, 1), {.protocol = "LL65"}).find("unknown protocol") !=
        std::string::npos);
}
