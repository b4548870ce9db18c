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

#include "calibration/measure/json_integer.hpp"
#include "calibration/mpi/mpi_algorithms.hpp"
#include "calibration/mpi/mpi_collective.hpp"
#include "calibration/mpi/mpi_loop.hpp"
#include "calibration/mpi/start_clock.hpp"
#include "core/files/standard_streams.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

struct Request {
  MpiCall call;
  int algorithm = 0;
  int segment_bytes = 0;
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
  request.call.collective = text("collective", "");
  request.call.bytes = std::stoull(text("size_bytes", "0"));
  request.algorithm = std::stoi(text("openmpi_algorithm", "0"));
  request.segment_bytes = std::stoi(text("segment_bytes", "0"));
  request.warmup = json_integer(line, "warmup", 10);
  request.repeats = std::max(1, json_integer(line, "repeats", 30));
  request.most_s = line.value("most_s", 0.0);
  return request;
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
      if (parsed.contains("loop")) {
        answer["loop"] = run_mpi_loop(parsed.at("loop"), forced_, control_, clock_);
        return answer;
      }
      const Request request = read_request(parsed);
      if (const std::string refusal = refusal_of(request.call, ranks_); !refusal.empty()) {
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
    MPI_Comm comm = forced_.communicator({.collective = tuned_names().at(request.call.collective),
                                          .algorithm = request.algorithm,
                                          .segment_bytes = request.segment_bytes});
    MpiCollective collective(request.call, comm);
    for (int i = 0; i < std::max(1, request.warmup); ++i) collective.call(comm);
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
      collective.call(comm);
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
