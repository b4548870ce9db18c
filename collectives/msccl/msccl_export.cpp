#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <map>

#include "collectives/msccl/msccl_limits.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

std::string_view type_name(Opcode opcode) {
  if (opcode == Opcode::DeviceCopy) opcode = Opcode::Copy;
  for (const auto& type : msccl::kTypes) {
    if (type.opcode == opcode) return type.name;
  }
  return "?";
}

char buffer_name(Buffer buffer) {
  return buffer == Buffer::Input ? 'i' : buffer == Buffer::Output ? 'o' : 's';
}

/// Number of XML steps for a step: itself, and a nop for each dependency but one.
std::int32_t width(const Instruction& step) {
  return std::max(std::int32_t{1}, static_cast<std::int32_t>(step.dependencies.size()));
}

bool escaped_in_xml(char letter) {
  return letter == '<' || letter == '>' || letter == '&' || letter == '"' || letter == '\'' ||
         static_cast<unsigned char>(letter) < 0x20;
}

class Exporter {
 public:
  Exporter(const ThreadBlockProgram& program, const XmlSettings& settings)
      : program_(program), contract_(program.contract), settings_(settings) {}

  std::string run() {
    check();
    const bool in_place = contract_.in_place();
    auto out = std::back_inserter(text_);
    fmt::format_to(out,
                   "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" "
                   "ngpus=\"{}\" coll=\"{}\" inplace=\"{}\"",
                   program_.name, settings_.protocol, program_.channels,
                   contract_.chunks_per_call(), contract_.ranks(), collective_name(),
                   in_place || settings_.also_in_place ? 1 : 0);
    const bool azure = settings_.dialect == XmlDialect::Azure;
    if (azure) fmt::format_to(out, " outofplace=\"{}\"", in_place ? 0 : 1);
    const XmlSettings defaults;
    if (azure || settings_.min_bytes != defaults.min_bytes ||
        settings_.end_bytes != defaults.end_bytes) {
      fmt::format_to(out, " minBytes=\"{}\" maxBytes=\"{}\"", settings_.min_bytes,
                     max_bytes_attribute(settings_));
    }
    if (settings_.threads != 0) fmt::format_to(out, " nthreads=\"{}\"", settings_.threads);
    text_ += ">\n";
    for (int rank = 0; rank < contract_.ranks(); ++rank) write_gpu(rank);
    text_ += "</algo>\n";
    return std::move(text_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw UserError(fmt::format("program '{}' cannot be written as MSCCL XML ({}): {}",
                                program_.name, to_string(settings_.dialect), reason));
  }

  [[nodiscard]] std::string_view collective_name() const {
    const bool azure = settings_.dialect == XmlDialect::Azure;
    switch (contract_.kind()) {
      case CollectiveKind::ReduceScatter:
        return azure ? "reducescatter" : "reduce_scatter";
      case CollectiveKind::AllToNext:
      case CollectiveKind::Custom:
        if (azure) refuse("its executor has no custom collectives");
        return "custom";
      case CollectiveKind::Gather:
      case CollectiveKind::Scatter:
        refuse(fmt::format("its executor has no {} with one chunk count per buffer",
                           contract_.name()));
      default:
        return to_string(contract_.kind());
    }
  }

  void check() const {
    if (program_.name.size() > msccl::kLongestName) {
      refuse(fmt::format("its name has {} characters; at most {}", program_.name.size(),
                         msccl::kLongestName));
    }
    if (std::ranges::any_of(program_.name, escaped_in_xml)) {
      refuse("its name has characters that XML escapes");
    }
    const std::array<std::string_view, 3> protocols{"Simple", "LL", "LL128"};
    if (std::ranges::find(protocols, settings_.protocol) == protocols.end()) {
      refuse(unknown_name_message("protocol", settings_.protocol, {"Simple", "LL", "LL128"}));
    }
    check_settings();
    if (program_.kernels() > 1) {
      refuse(fmt::format("{} kernels, launched one after another; a file is one kernel",
                         program_.kernels()));
    }
    if (!program_.gates.empty()) {
      refuse("GPUs wait for each other's kernels; executors have no such waits");
    }
    if (program_.uses_switches()) {
      refuse("it uses switches that copy or add; executors have no such instructions");
    }
    check_limit("channels", program_.channels, msccl::kMostChannels);
    check_limit("ranks", contract_.ranks(), msccl::kMostChildren);
    for (int rank = 0; rank < contract_.ranks(); ++rank) check_gpu(rank);
  }

  void check_settings() const {
    // Azure's maxBytes 0 is no limit, so no file is for calls of 0 bytes only.
    if (settings_.end_bytes <= std::max(settings_.min_bytes, std::uint64_t{1})) {
      refuse(
          fmt::format("no call would use it: its sizes are from {} up to but not including {} "
                      "bytes",
                      settings_.min_bytes, settings_.end_bytes));
    }
    const bool azure = settings_.dialect == XmlDialect::Azure;
    if (settings_.also_in_place && (!azure || contract_.in_place())) {
      refuse(azure ? "it is an in-place program, which cannot serve separate buffers"
                   : "only the azure dialect can declare both in place and out of place");
    }
    if (settings_.threads != 0 && azure) refuse("its executor has no nthreads");
    if (settings_.threads % msccl::kWarp != 0 || settings_.threads > msccl::kMostThreads) {
      refuse(fmt::format("{} threads; a multiple of {}, at most {}", settings_.threads,
                         msccl::kWarp, msccl::kMostThreads));
    }
  }

  void check_limit(const std::string& what, std::int64_t found, std::int64_t most) const {
    if (found > most) refuse(fmt::format("{} {}; at most {}", found, what, most));
  }

  void check_gpu(int rank) const {
    const GpuProgram& gpu = program_.gpus[at(rank)];
    const int most_blocks = settings_.dialect == XmlDialect::Azure ? msccl::kMostBlocksAzure
                                                                   : msccl::kMostBlocksMicrosoft;
    const auto of = [rank](std::string_view what) {
      return fmt::format("{} on rank {}", what, rank);
    };
    check_limit(of("thread blocks"), std::ssize(gpu.thread_blocks), most_blocks);
    std::map<std::int32_t, std::array<int, 2>> peers;  // by channel: send and receive blocks
    std::int64_t nodes = 1;
    for (std::size_t id = 0; id < gpu.thread_blocks.size(); ++id) {
      const ThreadBlock& block = gpu.thread_blocks[id];
      peers[block.channel][0] += block.send_peer >= 0 ? 1 : 0;
      peers[block.channel][1] += block.recv_peer >= 0 ? 1 : 0;
      std::int64_t steps = 0;
      bool after_nop = false;
      for (const Instruction& step : block.steps) {
        steps += width(step);
        check_limit(of("chunks in one step"), step.count, msccl::kMostCount);
        if (after_nop && step.dependencies.empty()) {
          refuse(fmt::format("a nop without a waiting step after it on rank {}", rank));
        }
        after_nop = step.opcode == Opcode::Nop;
      }
      if (after_nop) refuse(fmt::format("a nop as the last step of a block on rank {}", rank));
      check_limit(of(fmt::format("steps of thread block {}", id)), steps, msccl::kMostSteps);
      nodes += 1 + steps;
    }
    check_limit(of("elements"), nodes, msccl::kMostNodes);
    for (const auto& [channel, count] : peers) {
      const std::string on = fmt::format("peers on channel {} of rank {}", channel, rank);
      check_limit(on, std::max(count[0], count[1]), msccl::kMostPeersPerChannel);
    }
  }

  void write_gpu(int rank) {
    const GpuProgram& gpu = program_.gpus[at(rank)];
    // In place, a buffer that lies inside another is declared empty.
    const auto chunks = [&](Buffer buffer, std::int32_t count) {
      return contract_.resolve({rank, buffer, 0}).buffer == buffer ? count : 0;
    };
    fmt::format_to(std::back_inserter(text_),
                   "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", rank,
                   chunks(Buffer::Input, gpu.input_chunks),
                   chunks(Buffer::Output, gpu.output_chunks), gpu.scratch_chunks);
    number_steps(gpu);
    for (std::size_t id = 0; id < gpu.thread_blocks.size(); ++id) write_block(rank, id);
    text_ += "  </gpu>\n";
  }

  /// Numbers the XML steps of a GPU, and records which of them others wait for.
  void number_steps(const GpuProgram& gpu) {
    number_.assign(gpu.thread_blocks.size(), {});
    awaited_.assign(gpu.thread_blocks.size(), {});
    for (std::size_t id = 0; id < gpu.thread_blocks.size(); ++id) {
      std::int32_t next = 0;
      for (const Instruction& step : gpu.thread_blocks[id].steps) {
        next += width(step);
        number_[id].push_back(next - 1);
      }
      awaited_[id].assign(number_[id].size(), false);
    }
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        for (const StepRef& wait : step.dependencies) {
          awaited_[at(wait.thread_block)][at(wait.step)] = true;
        }
      }
    }
  }

  void write_block(int rank, std::size_t id) {
    const ThreadBlock& block = program_.gpus[at(rank)].thread_blocks[id];
    fmt::format_to(std::back_inserter(text_),
                   "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", id, block.send_peer,
                   block.recv_peer, block.channel);
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const Instruction& step = block.steps[i];
      const std::int32_t number = number_[id][i];
      const std::int32_t first = number - width(step) + 1;
      for (std::int32_t nop = first; nop < number; ++nop) {
        write_step(nop, {}, rank, &step.dependencies[at(nop - first)], false);
      }
      const StepRef* wait = step.dependencies.empty() ? nullptr : &step.dependencies.back();
      write_step(number, step, rank, wait, awaited_[id][i]);
    }
    text_ += "    </tb>\n";
  }

  void write_step(std::int32_t number, const Instruction& step, int rank, const StepRef* wait,
                  bool awaited) {
    const bool nop = step.opcode == Opcode::Nop;
    // The buffer that a step does not use is informative only: it repeats the buffer that is used.
    const BufferSlice& from = reads_source(step.opcode) ? step.source : step.target;
    const BufferSlice& to = writes_target(step.opcode) ? step.target : step.source;
    const Location source = contract_.resolve({rank, from.buffer, from.index});
    const Location target = contract_.resolve({rank, to.buffer, to.index});
    fmt::format_to(
        std::back_inserter(text_),
        "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
        "cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
        number, type_name(step.opcode), nop ? 'i' : buffer_name(source.buffer),
        nop ? -1 : source.index, nop ? 'o' : buffer_name(target.buffer), nop ? -1 : target.index,
        nop ? 0 : step.count, wait == nullptr ? -1 : wait->thread_block,
        wait == nullptr ? -1 : number_[at(wait->thread_block)][at(wait->step)], awaited ? 1 : 0);
  }

  const ThreadBlockProgram& program_;
  const Contract& contract_;
  const XmlSettings& settings_;
  std::string text_;
  std::vector<std::vector<std::int32_t>> number_;  ///< for the current GPU, by block and step
  std::vector<std::vector<bool>> awaited_;
};

}  // namespace

std::string_view to_string(XmlDialect dialect) {
  return dialect == XmlDialect::Azure ? "azure" : "microsoft";
}

std::optional<XmlDialect> parse_xml_dialect(std::string_view name) {
  for (const XmlDialect dialect : {XmlDialect::Microsoft, XmlDialect::Azure}) {
    if (name == to_string(dialect)) return dialect;
  }
  return std::nullopt;
}

int executor_slots(std::string_view protocol) { return protocol == "Simple" ? 2 : 8; }

std::uint64_t max_bytes_attribute(const XmlSettings& settings) {
  constexpr auto kMost = static_cast<std::uint64_t>(msccl::kMostBytes);
  const bool azure = settings.dialect == XmlDialect::Azure;
  if (settings.end_bytes > kMost) return azure ? 0 : kMost;
  return azure ? settings.end_bytes - 1 : settings.end_bytes;
}

std::string to_msccl_xml(const ThreadBlockProgram& program, const XmlSettings& settings) {
  return Exporter(program, settings).run();
}

std::int64_t msccl_steps(const ThreadBlockProgram& program) {
  std::int64_t steps = 0;
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) steps += width(step);
    }
  }
  return steps;
}

}  // namespace cclgym
