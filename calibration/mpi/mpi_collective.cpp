#include "calibration/mpi/mpi_collective.hpp"

namespace cclgym {

namespace {

float value_of(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 7 + i) % 31);
}

}  // namespace

const std::map<std::string, std::string>& tuned_names() {
  static const std::map<std::string, std::string> names{
      {"allreduce", "allreduce"}, {"allgather", "allgather"}, {"broadcast", "bcast"},
      {"reduce", "reduce"},       {"alltoall", "alltoall"},   {"reducescatter", "reduce_scatter"}};
  return names;
}

std::string refusal_of(const MpiCall& call, int ranks) {
  if (!tuned_names().contains(call.collective)) {
    return "MPI has no collective '" + call.collective + "'";
  }
  const std::uint64_t grain = sizeof(float) * static_cast<std::uint64_t>(ranks);
  if (call.bytes == 0 || call.bytes % grain != 0) {
    return "bytes must be a multiple of " + std::to_string(grain) + " on " + std::to_string(ranks) +
           " ranks";
  }
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;
  if (call.bytes > kMostBytes) return "more than 1 GiB";
  return "";
}

MpiCollective::MpiCollective(const MpiCall& call, MPI_Comm comm) : call_(call) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  const auto floats = static_cast<std::size_t>(call.bytes / sizeof(float));
  whole_ = static_cast<int>(floats);
  part_ = whole_ / ranks_;
  parts_.assign(static_cast<std::size_t>(ranks_), part_);
  send_.resize(floats);
  receive_.resize(floats);
  // Small integers: sums are exact in any order.
  for (std::size_t i = 0; i < floats; ++i) send_[i] = value_of(rank_, i);
}

void MpiCollective::call(MPI_Comm comm) {
  const std::string& name = call_.collective;
  float* in = send_.data();
  float* out = receive_.data();
  if (name == "allreduce") {
    MPI_Allreduce(in, out, whole_, MPI_FLOAT, MPI_SUM, comm);
  } else if (name == "allgather") {
    MPI_Allgather(in, part_, MPI_FLOAT, out, part_, MPI_FLOAT, comm);
  } else if (name == "broadcast") {
    MPI_Bcast(rank_ == call_.root ? in : out, whole_, MPI_FLOAT, call_.root, comm);
  } else if (name == "reduce") {
    MPI_Reduce(in, out, whole_, MPI_FLOAT, MPI_SUM, call_.root, comm);
  } else if (name == "alltoall") {
    MPI_Alltoall(in, part_, MPI_FLOAT, out, part_, MPI_FLOAT, comm);
  } else {
    MPI_Reduce_scatter(in, out, parts_.data(), MPI_FLOAT, MPI_SUM, comm);
  }
}

bool MpiCollective::right() const {
  const std::string& name = call_.collective;
  if (name == "reduce" && rank_ != call_.root) return true;
  if (name == "broadcast" && rank_ == call_.root) return true;
  const bool parts = name == "reducescatter";
  const auto part = static_cast<std::size_t>(part_);
  const std::size_t count = parts ? part : receive_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (receive_[i] != expected(i, part)) return false;
  }
  return true;
}

float MpiCollective::sum_at(std::size_t i) const {
  float sum = 0;
  for (int rank = 0; rank < ranks_; ++rank) sum += value_of(rank, i);
  return sum;
}

float MpiCollective::expected(std::size_t i, std::size_t part) const {
  const std::string& name = call_.collective;
  const auto from = part > 0 ? static_cast<int>(i / part) : 0;
  const auto own = static_cast<std::size_t>(rank_);
  if (name == "allgather") return value_of(from, i % part);
  if (name == "broadcast") return value_of(call_.root, i);
  if (name == "alltoall") return value_of(from, own * part + i % part);
  return sum_at(name == "reducescatter" ? own * part + i : i);
}

}  // namespace cclgym
