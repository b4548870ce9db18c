// cclgym-mpi-worker: times OpenMPI's collectives, one request per line
// (calibration/measure/worker_process.hpp). Started by an MPI launcher; rank 0 reads and answers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <mpi.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "calibration/mpi/mpi_algorithms.hpp"
#include "calibration/mpi/start_clock.hpp"
#include "core/files/standard_streams.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

struct Request {
  std::string collective;
  std::uint64_t bytes = 0;  ///< size of the larger of a rank's send and receive buffers
                            ///< (nccl-tests)
  int algorithm = 0;
  int segment_bytes = 0;
  int root = 0;
  int warmup = 0;
  int repeats = 1;
  double most_s = 0;  ///< stop after this time, with at least kLeastRepeats; 0: no limit
};
constexpr std::size_t kLeastRepeats = 5;
constexpr int kMostLate = 20;

Request read_request(const json& line) {
  const json& cell = line.at("cell");
  const auto text = [&](const char* key, const char* otherwise) {
    return cell.contains(key) ? cell.at(key).get<std::string>() : std::string(otherwise);
  };
  Request request;
  request.collective = text("collective", "");
  request.bytes = std::stoull(text("size_bytes", "0"));
  request.algorithm = std::stoi(text("openmpi_algorithm", "0"));
  request.segment_bytes = std::stoi(text("segment_bytes", "0"));
  request.warmup = line.value("warmup", 10);
  request.repeats = std::max(1, line.value("repeats", 30));
  request.most_s = line.value("most_s", 0.0);
  return request;
}

// OpenMPI's names of collectives.
const std::map<std::string, std::string>& tuned_names() {
  static const std::map<std::string, std::string> names{
      {"allreduce", "allreduce"}, {"allgather", "allgather"}, {"broadcast", "bcast"},
      {"reduce", "reduce"},       {"alltoall", "alltoall"},   {"reducescatter", "reduce_scatter"}};
  return names;
}

// A rank's buffers for a call, and the call itself.
class Collective {
 public:
  Collective(const Request& request, MPI_Comm comm) : request_(request), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    const auto floats = static_cast<std::size_t>(request.bytes / sizeof(float));
    whole_ = static_cast<int>(floats);
    part_ = whole_ / ranks_;
    parts_.assign(static_cast<std::size_t>(ranks_), part_);
    send_.resize(floats);
    receive_.resize(floats);
    // Small integers: sums are exact in any order.
    for (std::size_t i = 0; i < floats; ++i) send_[i] = value_of(rank_, i);
  }

  void call() {
    const std::string& name = request_.collective;
    float* in = send_.data();
    float* out = receive_.data();
    if (name == "allreduce") {
      MPI_Allreduce(in, out, whole_, MPI_FLOAT, MPI_SUM, comm_);
    } else if (name == "allgather") {
      MPI_Allgather(in, part_, MPI_FLOAT, out, part_, MPI_FLOAT, comm_);
    } else if (name == "broadcast") {
      MPI_Bcast(rank_ == request_.root ? in : out, whole_, MPI_FLOAT, request_.root, comm_);
    } else if (name == "reduce") {
      MPI_Reduce(in, out, whole_, MPI_FLOAT, MPI_SUM, request_.root, comm_);
    } else if (name == "alltoall") {
      MPI_Alltoall(in, part_, MPI_FLOAT, out, part_, MPI_FLOAT, comm_);
    } else {
      MPI_Reduce_scatter(in, out, parts_.data(), MPI_FLOAT, MPI_SUM, comm_);
    }
  }

  /// True if the result of the last call is correct.
  [[nodiscard]] bool right() const {
    const std::string& name = request_.collective;
    if (name == "reduce" && rank_ != request_.root) return true;
    if (name == "broadcast" && rank_ == request_.root) return true;
    const bool parts = name == "reducescatter";
    const auto part = static_cast<std::size_t>(part_);
    const std::size_t count = parts ? part : receive_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (receive_[i] != expected(i, part)) return false;
    }
    return true;
  }

 private:
  static float value_of(int rank, std::size_t i) {
    return static_cast<float>((static_cast<std::size_t>(rank) * 7 + i) % 31);
  }
  [[nodiscard]] float sum_at(std::size_t i) const {
    float sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) sum += value_of(rank, i);
    return sum;
  }
  [[nodiscard]] float expected(std::size_t i, std::size_t part) const {
    const std::string& name = request_.collective;
    const auto from = part > 0 ? static_cast<int>(i / part) : 0;
    const auto own = static_cast<std::size_t>(rank_);
    if (name == "allgather") return value_of(from, i % part);
    if (name == "broadcast") return value_of(request_.root, i);
    if (name == "alltoall") return value_of(from, own * part + i % part);
    return sum_at(name == "reducescatter" ? own * part + i : i);
  }

  Request request_;
  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  int whole_ = 0;
  int part_ = 0;
  std::vector<int> parts_;  ///< counts of MPI_Reduce_scatter, one per rank
  std::vector<float> send_;
  std::vector<float> receive_;
};

std::string refusal_of(const Request& request, int ranks) {
  if (!tuned_names().contains(request.collective)) {
    return "MPI has no collective '" + request.collective + "'";
  }
  const std::uint64_t grain = sizeof(float) * static_cast<std::uint64_t>(ranks);
  if (request.bytes == 0 || request.bytes % grain != 0) {
    return "bytes must be a multiple of " + std::to_string(grain) + " on " + std::to_string(ranks) +
           " ranks";
  }
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;
  if (request.bytes > kMostBytes) return "more than 1 GiB";
  return "";
}

bool on_all(bool value, MPI_Comm comm) {
  int own = value ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm);
  return all == 1;
}

MPI_Comm copy_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return copy;
}

class Worker {
 public:
  Worker() : forced_(MPI_COMM_WORLD), control_(copy_of_world()), clock_(control_) {
    MPI_Comm_rank(control_, &rank_);
    MPI_Comm_size(control_, &ranks_);
  }
  ~Worker() { MPI_Comm_free(&control_); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    hello();
    std::string line;
    while (next_line(line)) {
      json answer = answer_to(line);
      if (rank_ == 0) std::cout << answer.dump() << std::endl;
    }
  }

 private:
  void hello() {
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    std::vector<char> names(static_cast<std::size_t>(ranks_) * MPI_MAX_PROCESSOR_NAME);
    MPI_Gather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
               MPI_CHAR, 0, control_);
    if (rank_ != 0) return;
    std::map<std::string, int> hosts;
    for (int rank = 0; rank < ranks_; ++rank) {
      ++hosts[&names[static_cast<std::size_t>(rank) * MPI_MAX_PROCESSOR_NAME]];
    }
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    MPI_Get_library_version(version, &length);
    std::string library(version);
    library = library.substr(0, library.find(','));
    std::cout << json{{"worker", "mpi"},
                      {"environment",
                       {{"library", library},
                        {"ranks", std::to_string(ranks_)},
                        {"nodes", std::to_string(hosts.size())}}}}
                     .dump()
              << std::endl;
  }

  // Sends the next line of rank 0 to every rank. Ranks sleep while rank 0 waits: spinning would
  // take the processors from the process that prepares the request.
  bool next_line(std::string& line) {
    int length = -1;
    if (rank_ == 0) {
      if (std::getline(std::cin, line)) length = static_cast<int>(line.size());
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&length, 1, MPI_INT, 0, control_, &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) ::usleep(200);
    }
    if (length < 0) return false;
    line.resize(static_cast<std::size_t>(length));
    MPI_Bcast(line.data(), length, MPI_CHAR, 0, control_);
    return true;
  }

  json answer_to(const std::string& line) {
    json answer;
    try {
      const json parsed = json::parse(line);
      answer["id"] = parsed.at("id");
      const Request request = read_request(parsed);
      if (const std::string refusal = refusal_of(request, ranks_); !refusal.empty()) {
        answer["refused"] = refusal;
        return answer;
      }
      measure(request, answer);
    } catch (const std::exception& error) {
      answer["error"] = error.what();
    }
    return answer;
  }

  void measure(const Request& request, json& answer) {
    MPI_Comm comm = forced_.communicator({.collective = tuned_names().at(request.collective),
                                          .algorithm = request.algorithm,
                                          .segment_bytes = request.segment_bytes});
    Collective collective(request, comm);
    for (int i = 0; i < std::max(1, request.warmup); ++i) collective.call();
    if (!on_all(collective.right(), control_)) {
      answer["error"] = "the result is wrong";
      return;
    }
    clock_.synchronise();
    std::vector<double> starts_s;
    std::vector<double> ends_s;
    const double begin_s = MPI_Wtime();
    for (int tries = 0; static_cast<int>(ends_s.size()) < request.repeats; ++tries) {
      bool late = false;
      const double start_s = clock_.start_together(late);
      collective.call();
      const double end_s = clock_.now_s();
      const bool together = on_all(!late, control_);
      clock_.adapt(!together);
      if (together) {
        starts_s.push_back(start_s);
        ends_s.push_back(end_s);
      } else if (tries > 2 * request.repeats + kMostLate) {
        throw std::runtime_error("the ranks could not be made to start together");
      }
      const std::size_t done = ends_s.size();
      if (request.most_s <= 0 || done < kLeastRepeats || done % kLeastRepeats != 0) continue;
      if (!on_all(MPI_Wtime() - begin_s < request.most_s, control_)) break;
    }
    std::vector<double> samples_s(ends_s.size());
    MPI_Reduce(ends_s.data(), samples_s.data(), static_cast<int>(ends_s.size()), MPI_DOUBLE,
               MPI_MAX, 0, control_);
    for (std::size_t i = 0; i < samples_s.size(); ++i) samples_s[i] -= starts_s[i];
    answer["samples_s"] = samples_s;
    answer["extra"] = {{"clock_error_us", std::to_string(std::lround(clock_.error_s() * 1e6))}};
  }

  ForcedCommunicators forced_;
  MPI_Comm control_;
  StartClock clock_;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace

}  // namespace cclgym

int main(int argc, char** argv) {
  cclgym::open_closed_standard_streams();
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    cclgym::Worker worker;
    worker.run();
  } catch (const std::exception& error) {
    std::cerr << "cclgym-mpi-worker: " << error.what() << '\n';
    status = 1;
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}
