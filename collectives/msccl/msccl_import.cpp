#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

#include "collectives/msccl/msccl_import_checks.hpp"
#include "collectives/msccl/msccl_limits.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/index.hpp"
#include "core/xml/xml_document.hpp"

namespace cclgym {

namespace {

using pugi::xml_node;

struct CollectiveName {
  std::string_view name;
  CollectiveKind kind;
  bool microsoft;  // dialects that have the name
  bool azure;
};
constexpr CollectiveName kCollectives[] = {
    {"allreduce", CollectiveKind::AllReduce, true, true},
    {"allgather", CollectiveKind::AllGather, true, true},
    {"reduce", CollectiveKind::Reduce, true, true},
    {"broadcast", CollectiveKind::Broadcast, true, true},
    {"alltoall", CollectiveKind::AllToAll, true, true},
    {"reduce_scatter", CollectiveKind::ReduceScatter, true, false},
    {"reducescatter", CollectiveKind::ReduceScatter, false, true},
    {"custom", CollectiveKind::Custom, true, false}};

class Importer {
 public:
  Importer(std::string_view text, const std::string& file)
      : document_(text, file, "a program in MSCCL XML, which begins with <algo") {}

  XmlProgram run();

 private:
  void read_settings();
  void read_sizes();
  void read_forms();
  void read_threads();
  void find_gpus();
  void make_contract();
  [[nodiscard]] int find_root();
  void read_gpu(int rank);
  void check_declared_chunks(int rank);
  void read_peers(int rank, ThreadBlock& block, const xml_node& node);
  void read_step(int rank, ThreadBlock& block, const xml_node& node);
  BufferSlice read_slice(const xml_node& node, const char* buffer, const char* offset, int rank,
                         std::int32_t count, bool used) const;
  /// Number of chunks that the file declares.
  [[nodiscard]] std::int32_t chunks(int rank, Buffer buffer) const;
  /// Children called `name` in the order of their ids, which must run from 0 without a gap;
  /// `skipped` elements are ignored.
  [[nodiscard]] std::vector<xml_node> numbered(const xml_node& parent, const char* name,
                                               std::string_view skipped, int most) const;

  XmlDocument document_;
  xml_node algo_;
  CollectiveKind kind_ = CollectiveKind::Custom;
  bool in_place_ = false;
  std::int32_t chunks_per_loop_ = 0;
  std::vector<xml_node> gpus_;  ///< by rank
  XmlProgram result_;
  ThreadBlockProgram& program_ = result_.program;
  std::vector<std::vector<std::vector<xml_node>>> step_nodes_;  ///< by rank, block and step
  std::set<std::tuple<std::int32_t, std::int32_t, bool>>
      ends_;  ///< for the current GPU: channel, peer, sends
};

XmlProgram Importer::run() {
  algo_ = document_.root("algo");
  read_settings();
  find_gpus();
  make_contract();
  for (int rank = 0; rank < std::ssize(gpus_); ++rank) read_gpu(rank);
  const msccl::ImportedSteps steps{document_, program_, step_nodes_};
  check_messages(steps);
  check_order(steps);
  return std::move(result_);
}

void Importer::read_settings() {
  program_.name = document_.text(algo_, "name");
  if (program_.name.size() > msccl::kLongestName) {
    document_.fail(algo_, fmt::format("name has {} characters; expected at most {}",
                                      program_.name.size(), msccl::kLongestName));
  }
  XmlSettings& settings = result_.settings;
  settings.protocol = document_.text(algo_, "proto");
  const std::vector<std::string> protocols{"Simple", "LL", "LL128"};
  if (std::ranges::find(protocols, settings.protocol) == protocols.end()) {
    document_.fail(algo_, unknown_name_message("proto", settings.protocol, protocols));
  }
  program_.channels = document_.small(algo_, "nchannels", {1, msccl::kMostChannels});
  chunks_per_loop_ = document_.small(algo_, "nchunksperloop", {1, msccl::kMostChunks});
  in_place_ = document_.flag(algo_, "inplace");
  const std::string_view name = document_.text(algo_, "coll");
  const auto found = std::ranges::find(kCollectives, name, &CollectiveName::name);
  if (found == std::end(kCollectives)) {
    std::vector<std::string> names;
    for (const CollectiveName& each : kCollectives) names.emplace_back(each.name);
    document_.fail(algo_, unknown_name_message("coll", name, names));
  }
  kind_ = found->kind;
  const bool azure = !found->microsoft || (found->azure && algo_.attribute("outofplace"));
  if (azure) {
    settings.dialect = XmlDialect::Azure;
    read_forms();
  } else {
    read_threads();
  }
  read_sizes();
}

void Importer::read_sizes() {
  XmlSettings& settings = result_.settings;
  const auto bytes = [&](const char* name, std::uint64_t otherwise) {
    if (!algo_.attribute(name)) return otherwise;
    return static_cast<std::uint64_t>(document_.number(algo_, name, {0, msccl::kMostBytes}));
  };
  settings.min_bytes = bytes("minBytes", settings.min_bytes);
  const std::uint64_t max = bytes("maxBytes", settings.end_bytes);
  const bool azure = settings.dialect == XmlDialect::Azure;
  const bool unlimited =
      max == static_cast<std::uint64_t>(msccl::kMostBytes) || (azure && max == 0);
  if (!unlimited && settings.min_bytes > max) {
    document_.fail(algo_,
                   fmt::format("minBytes {} is more than maxBytes {}", settings.min_bytes, max));
  }
  settings.end_bytes = unlimited ? XmlSettings::kNoEnd : azure ? max + 1 : max;
}

void Importer::read_forms() {
  for (const char* required : {"minBytes", "maxBytes"}) {
    static_cast<void>(document_.text(algo_, required));
  }
  const bool out_of_place = document_.flag(algo_, "outofplace");
  if (!in_place_ && !out_of_place) {
    document_.fail(algo_, "inplace and outofplace are both 0; expected 1 for one of them, or both");
  }
  result_.settings.also_in_place = in_place_ && out_of_place;
  if (out_of_place) in_place_ = false;
}

void Importer::read_threads() {
  if (!algo_.attribute("nthreads")) return;
  const std::int32_t threads = document_.small(algo_, "nthreads", {0, msccl::kMostThreads});
  if (threads == 0 || threads % msccl::kWarp != 0) {
    document_.fail(algo_, fmt::format("nthreads {}; expected a multiple of {}, at most {}", threads,
                                      msccl::kWarp, msccl::kMostThreads));
  }
  result_.settings.threads = threads;
}

std::vector<xml_node> Importer::numbered(const xml_node& parent, const char* name,
                                         std::string_view skipped, int most) const {
  std::vector<xml_node> nodes;
  for (const xml_node& node : parent.children()) {
    if (!skipped.empty() && node.name() == skipped) continue;
    if (node.name() != std::string_view(name)) {
      document_.fail(node, fmt::format("element {} in <{}>; expected <{}>", quoted(node.name()),
                                       parent.name(), name));
    }
    nodes.push_back(node);
    if (std::ssize(nodes) > most) {
      document_.fail(node, fmt::format("more than {} <{}> in <{}>", most, name, parent.name()));
    }
  }
  std::vector<xml_node> by_id(nodes.size());
  const auto last = static_cast<std::int64_t>(nodes.size()) - 1;
  for (const xml_node& node : nodes) {
    xml_node& place = by_id[at(document_.small(node, "id", {0, last}))];
    if (place)
      document_.fail(
          node, fmt::format("another <{}> has id {} already", name, node.attribute("id").value()));
    place = node;
  }
  return by_id;
}

void Importer::find_gpus() {
  const std::int32_t ranks = document_.small(algo_, "ngpus", {1, msccl::kMostRanks});
  gpus_ = numbered(algo_, "gpu", "", msccl::kMostRanks);
  if (std::ssize(gpus_) != ranks) {
    document_.fail(algo_, fmt::format("{} <gpu> elements; ngpus says {}", gpus_.size(), ranks));
  }
}

int Importer::find_root() {
  const bool from_root = kind_ == CollectiveKind::Broadcast;
  if (!from_root && kind_ != CollectiveKind::Reduce) return 0;
  int root = 0;
  int candidates = 0;
  for (int rank = 0; rank < std::ssize(gpus_); ++rank) {
    const auto blocks = gpus_[at(rank)].children("tb");
    const bool busy = std::any_of(blocks.begin(), blocks.end(), [&](const xml_node& block) {
      return std::string_view(block.attribute(from_root ? "recv" : "send").value()) != "-1";
    });
    if (busy) continue;
    root = rank;
    ++candidates;
  }
  result_.root_assumed = candidates != 1;
  return candidates == 1 ? root : 0;
}

void Importer::make_contract() {
  const int ranks = static_cast<int>(gpus_.size());
  if (kind_ == CollectiveKind::Custom) {
    std::vector<int> inputs;
    std::vector<int> outputs;
    for (const xml_node& gpu : gpus_) {
      inputs.push_back(document_.small(gpu, "i_chunks", {0, msccl::kMostChunks}));
      outputs.push_back(document_.small(gpu, "o_chunks", {0, msccl::kMostChunks}));
    }
    program_.contract = Contract::custom("custom", ranks, inputs, outputs, nullptr);
    return;
  }
  const int slices = size_granularity(kind_, ranks);
  if (chunks_per_loop_ % slices != 0) {
    document_.fail(algo_, fmt::format("nchunksperloop {} of {} over {} GPUs; expected a multiple",
                                      chunks_per_loop_, to_string(kind_), ranks));
  }
  try {
    program_.contract =
        Contract::make(kind_, ranks, chunks_per_loop_ / slices, in_place_, find_root());
    if (result_.settings.also_in_place) static_cast<void>(in_place_form(program_));
  } catch (const UserError& error) {
    document_.fail(algo_, error.what());
  }
}

std::int32_t Importer::chunks(int rank, Buffer buffer) const {
  const char* name = buffer == Buffer::Input    ? "i_chunks"
                     : buffer == Buffer::Output ? "o_chunks"
                                                : "s_chunks";
  return document_.small(gpus_[at(rank)], name, {0, msccl::kMostChunks});
}

void Importer::check_declared_chunks(int rank) {
  for (const bool input : {true, false}) {
    const std::int32_t expected =
        input ? program_.contract.input_chunks(rank) : program_.contract.output_chunks(rank);
    const std::int32_t found = chunks(rank, input ? Buffer::Input : Buffer::Output);
    // A buffer that the program does not use may be declared empty.
    if (found == expected || found == 0) continue;
    document_.fail(gpus_[at(rank)], fmt::format("{} {}; {} with {} chunks per loop has {}",
                                                input ? "i_chunks" : "o_chunks", found,
                                                to_string(kind_), chunks_per_loop_, expected));
  }
}

void Importer::read_gpu(int rank) {
  const xml_node& node = gpus_[at(rank)];
  GpuProgram& gpu = program_.gpus.emplace_back();
  gpu.input_chunks = program_.contract.input_chunks(rank);
  gpu.output_chunks = program_.contract.output_chunks(rank);
  gpu.scratch_chunks = chunks(rank, Buffer::Scratch);
  check_declared_chunks(rank);
  const int most = result_.settings.dialect == XmlDialect::Azure ? msccl::kMostBlocksAzure
                                                                 : msccl::kMostBlocksMicrosoft;
  const std::vector<xml_node> blocks = numbered(node, "tb", "copy", most);
  step_nodes_.emplace_back(blocks.size());
  ends_.clear();
  std::size_t elements = 1;
  for (std::int32_t id = 0; id < std::ssize(blocks); ++id) {
    ThreadBlock& block = gpu.thread_blocks.emplace_back();
    read_peers(rank, block, blocks[at(id)]);
    for (const xml_node& step : blocks[at(id)].children()) read_step(rank, block, step);
    elements += 1 + block.steps.size();
    if (elements > static_cast<std::size_t>(msccl::kMostNodes)) {
      document_.fail(blocks[at(id)],
                     fmt::format("more than {} elements in one <gpu>", msccl::kMostNodes));
    }
  }
  msccl::check_dependencies({document_, program_, step_nodes_}, rank);
}

void Importer::read_peers(int rank, ThreadBlock& block, const xml_node& node) {
  const auto ranks = static_cast<std::int64_t>(gpus_.size());
  block.send_peer = document_.small(node, "send", {-1, ranks - 1});
  block.recv_peer = document_.small(node, "recv", {-1, ranks - 1});
  block.channel = document_.small(node, "chan", {0, program_.channels - 1});
  for (const bool sending : {true, false}) {
    const std::int32_t peer = sending ? block.send_peer : block.recv_peer;
    const std::string_view direction = sending ? "send" : "recv";
    if (peer == -1) continue;
    if (peer == rank) {
      document_.fail(node, fmt::format("{} peer {} is the GPU itself", direction, peer));
    }
    if (!ends_.emplace(block.channel, peer, sending).second) {
      document_.fail(node, fmt::format("duplicate connection: another thread block of GPU {} has "
                                       "{} peer {} on channel {} already",
                                       rank, direction, peer, block.channel));
    }
    const auto on_channel = std::ranges::count_if(ends_, [&](const auto& end) {
      return std::get<0>(end) == block.channel && std::get<2>(end) == sending;
    });
    if (on_channel > msccl::kMostPeersPerChannel) {
      document_.fail(node, fmt::format("more than {} {} peers on channel {}",
                                       msccl::kMostPeersPerChannel, direction, block.channel));
    }
  }
}

BufferSlice Importer::read_slice(const xml_node& node, const char* buffer, const char* offset,
                                 int rank, std::int32_t count, bool used) const {
  const std::string_view name = document_.text(node, buffer);
  if (name != "i" && name != "o" && name != "s") {
    document_.fail(node, fmt::format("{} {}; expected i, o or s", buffer, quoted(name)));
  }
  const BufferSlice slice{name == "i"   ? Buffer::Input
                          : name == "o" ? Buffer::Output
                                        : Buffer::Scratch,
                          document_.small(node, offset, {-1, msccl::kMostChunks})};
  if (!used) return {};  // informative: the buffer belongs to another GPU
  const std::int32_t size = chunks(rank, slice.buffer);
  if (slice.index < 0 || slice.index > size - count) {
    document_.fail(node, fmt::format("{} {} with cnt {} is out of the {} buffer of {} chunks",
                                     offset, slice.index, count, to_string(slice.buffer), size));
  }
  return slice;
}

void Importer::read_step(int rank, ThreadBlock& block, const xml_node& node) {
  if (node.name() != std::string_view("step")) {
    document_.fail(node, fmt::format("element {} in <tb>; expected <step>", quoted(node.name())));
  }
  const auto position = static_cast<std::int32_t>(block.steps.size());
  if (position >= msccl::kMostSteps) {
    document_.fail(node, fmt::format("more than {} steps in one <tb>", msccl::kMostSteps));
  }
  if (document_.small(node, "s", {0, msccl::kMostSteps - 1}) != position) {
    document_.fail(node, fmt::format("s {}; expected {}, the steps in order",
                                     node.attribute("s").value(), position));
  }
  Instruction step;
  const std::string_view type = document_.text(node, "type");
  const auto found = std::ranges::find(msccl::kTypes, type, &msccl::TypeName::name);
  if (found == std::end(msccl::kTypes)) {
    std::vector<std::string> names;
    for (const auto& each : msccl::kTypes) names.emplace_back(each.name);
    if (type == "ra") document_.fail(node, "type 'ra' (microsoft's res_add) is not supported");
    document_.fail(node, unknown_name_message("type", type, names));
  }
  step.opcode = found->opcode;
  const bool nop = step.opcode == Opcode::Nop;
  const std::int32_t count = document_.small(node, "cnt", {nop ? 0 : 1, msccl::kMostCount});
  if (!nop) step.count = count;
  step.source = read_slice(node, "srcbuf", "srcoff", rank, count, reads_source(step.opcode));
  step.target = read_slice(node, "dstbuf", "dstoff", rank, count, writes_target(step.opcode));
  if (sends(step.opcode) && block.send_peer < 0) {
    document_.fail(node, fmt::format("type {} in a <tb> with send -1", quoted(type)));
  }
  if (receives(step.opcode) && block.recv_peer < 0) {
    document_.fail(node, fmt::format("type {} in a <tb> with recv -1", quoted(type)));
  }
  const std::int32_t block_waited = document_.small(node, "depid", {-1, msccl::kMostBlocksAzure});
  const std::int32_t step_waited = document_.small(node, "deps", {-1, msccl::kMostSteps - 1});
  static_cast<void>(document_.flag(node, "hasdep"));
  if ((block_waited == -1) != (step_waited == -1)) {
    document_.fail(node, "depid and deps must both be -1 or both name a step");
  }
  if (block_waited != -1) step.dependencies.push_back({block_waited, step_waited});
  const bool after_nop = !block.steps.empty() && block.steps.back().opcode == Opcode::Nop;
  if (after_nop && block_waited == -1) {
    document_.fail(node, "a step after a nop must wait for a step itself (depid, deps)");
  }
  block.steps.push_back(std::move(step));
  step_nodes_[at(rank)][program_.gpus[at(rank)].thread_blocks.size() - 1].push_back(node);
}

}  // namespace

ThreadBlockProgram in_place_form(const ThreadBlockProgram& program) {
  const Contract& contract = program.contract;
  const int slices = size_granularity(contract.kind(), contract.ranks());
  ThreadBlockProgram form = program;
  form.contract = Contract::make(contract.kind(), contract.ranks(),
                                 contract.chunks_per_call() / slices, true, contract.root());
  return form;
}

XmlProgram parse_msccl_xml(std::string_view text, const std::string& file) {
  if (text.size() > kMostXmlBytes) {
    throw UserError(SourceLocation{file},
                    fmt::format("{} bytes; expected at most {}", text.size(), kMostXmlBytes));
  }
  return Importer(text, file).run();
}

XmlProgram read_msccl_xml_file(const std::string& path) {
  return parse_msccl_xml(read_text_file(path, kMostXmlBytes), path);
}

}  // namespace cclgym
