#include "collectives/compiler/chunk_dag.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace cclgym {

namespace {

/// Last writer of each place, and its readers since, within the current kernel.
class AccessHistory {
 public:
  explicit AccessHistory(std::size_t places)
      : last_writer_(places, kNobody), last_read_(places, kNobody) {}

  /// Forgets all accesses before `operation`, which belong to earlier kernels.
  void begin_kernel(std::int32_t operation) { first_ = operation; }

  void add_read_edges(std::size_t place, OperationEnd end, std::vector<ChunkEdge>& edges) const {
    if (last_writer_[place] >= first_) {
      edges.push_back({last_writer_[place], end, DependenceKind::True});
    }
  }

  void add_write_edges(std::size_t place, std::vector<ChunkEdge>& edges) const {
    if (last_read_[place] == kNobody && last_writer_[place] >= first_) {
      edges.push_back({last_writer_[place], OperationEnd::Target, DependenceKind::Output});
    }
    for (std::int32_t read = last_read_[place]; read != kNobody;) {
      const Read& entry = reads_[static_cast<std::size_t>(read)];
      if (entry.operation < first_) break;
      edges.push_back({entry.operation, OperationEnd::Target, DependenceKind::Anti});
      read = entry.previous;
    }
  }

  void note_read(std::size_t place, std::int32_t operation) {
    reads_.push_back({operation, last_read_[place]});
    last_read_[place] = static_cast<std::int32_t>(reads_.size()) - 1;
  }

  void note_write(std::size_t place, std::int32_t operation) {
    last_writer_[place] = operation;
    last_read_[place] = kNobody;
  }

 private:
  static constexpr std::int32_t kNobody = -1;
  struct Read {
    std::int32_t operation;
    std::int32_t previous;  ///< the previous read of the same place
  };
  std::int32_t first_ = 0;  ///< first operation of the kernel
  std::vector<std::int32_t> last_writer_;
  std::vector<std::int32_t> last_read_;  ///< by place: index into reads_
  std::vector<Read> reads_;
};

/// Keeps one edge per operation and end, with the strongest dependence.
void drop_duplicates(std::vector<ChunkEdge>& edges) {
  if (edges.size() < 2) return;
  const auto key = [](const ChunkEdge& edge) {
    return std::make_tuple(edge.operation, edge.end, edge.kind);
  };
  std::sort(edges.begin(), edges.end(),
            [&key](const ChunkEdge& a, const ChunkEdge& b) { return key(a) < key(b); });
  edges.erase(std::unique(edges.begin(), edges.end(),
                          [](const ChunkEdge& a, const ChunkEdge& b) {
                            return a.operation == b.operation && a.end == b.end;
                          }),
              edges.end());
}

}  // namespace

ChunkDag trace_dependencies(const Program& program) {
  const MemoryLayout layout(program.contract, program.scratch_chunks);
  AccessHistory history(layout.size());
  ChunkDag dag;
  dag.first.reserve(program.operations.size() + 1);
  dag.first.push_back(0);
  std::vector<ChunkEdge> edges;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    const std::size_t source = layout.place(operation.source);
    const std::size_t target = layout.place(operation.target);
    const auto count = static_cast<std::size_t>(operation.count);
    assert(operation.source.index >= 0 && operation.target.index >= 0);
    assert(operation.source.index + operation.count <=
           layout.chunks(operation.source.rank, operation.source.buffer));
    assert(operation.target.index + operation.count <=
           layout.chunks(operation.target.rank, operation.target.buffer));

    edges.clear();
    if (i > 0 && operation.kernel != program.operations[i - 1].kernel) {
      history.begin_kernel(static_cast<std::int32_t>(i));
    }
    for (std::size_t k = 0; k < count; ++k) {
      history.add_read_edges(source + k, OperationEnd::Source, edges);
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (operation.kind == OperationKind::Reduce) {
        history.add_read_edges(target + k, OperationEnd::Target, edges);
      }
      history.add_write_edges(target + k, edges);
    }
    const auto number = static_cast<std::int32_t>(i);
    for (std::size_t k = 0; k < count; ++k) history.note_read(source + k, number);
    for (std::size_t k = 0; k < count; ++k) history.note_write(target + k, number);

    drop_duplicates(edges);
    dag.edges.insert(dag.edges.end(), edges.begin(), edges.end());
    dag.first.push_back(dag.edges.size());
  }
  return dag;
}

}  // namespace cclgym
