// A measuring program in a process of its own, so that its hangs and crashes do not affect this
// one.
//
// Worker and driver exchange JSON, one message per line. The worker first reports its name:
//   {"worker": "mpi", "environment": {"library": "Open MPI v4.1.4", "ranks": "4", …}}
// and then answers each request
//   {"id": 3, "warmup": 10, "repeats": 30, "most_s": 1.5, "cell": {"collective": "allreduce", …}}
// with one of
//   {"id": 3, "samples_s": [0.0012, …], "extra": {"algorithm_used": "ring", …}}
//   {"id": 3, "refused": "why this cannot run here"}
//   {"id": 3, "error": "what went wrong"}
// A request may instead have other content, which only this worker knows; then it may write further
// messages without an id before its answer, and be sent messages.
// A worker that cannot run at all writes {"worker": "nccl", "refused": "why"} and ends. Values of
// cell, environment and extra are strings. An answer with an id other than the request's is a
// failure of the worker. Lines without an id are log text. The worker ends at the end of its
// standard input.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/progress.hpp"

namespace cclgym {

using TextMap = std::map<std::string, std::string>;

struct WorkerCommand {
  std::vector<std::string> arguments;  ///< program and arguments; the program is looked up in PATH
  TextMap environment;                 ///< variables in addition to those of this process
};

/// A request to a worker.
struct MeasureRequest {
  int warmup = 0;
  int repeats = 1;
  double most_s = 0;  ///< a worker may stop repeating after this time, s; 0: no limit
  TextMap cell;
};

/// Outcome of a measurement.
enum class MeasureStatus {
  Ok,
  Refused,  ///< the worker cannot run the cell
  Failed,   ///< the worker reported an error
  Crashed,  ///< the worker ended
  Hung,     ///< no answer in time: the worker was killed
};
[[nodiscard]] std::string to_string(MeasureStatus status);

struct MeasureAnswer {
  MeasureStatus status = MeasureStatus::Ok;
  std::vector<double> samples_s{};  ///< not empty if Ok; each > 0
  TextMap extra{};
  std::string message{};  ///< empty if Ok
};

/// One running worker. It is killed, with all its processes, when this object is destroyed, and by
/// the kernel when this process dies.
class WorkerProcess {
 public:
  /// Starts the worker and waits for its first line. Its standard error, and lines that are not
  /// messages, go to `log` ("": nowhere). Throws UserError, with the last lines of its output, if
  /// it does not start within `timeout_s` or writes something else. Limits are times on `clock`.
  WorkerProcess(const WorkerCommand& command, const std::string& log, double timeout_s,
                Clock clock = steady_now_s);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TextMap& environment() const { return environment_; }
  /// After Crashed or Hung the worker is gone.
  [[nodiscard]] MeasureAnswer measure(const MeasureRequest& request, double timeout_s);
  /// Sends {"id": …, KEY: BODY}, where `body` is JSON, passes each message without an id to
  /// `heard` as it arrives, and returns the answer's value of KEY as JSON. Throws UserError if the
  /// worker reports an error, and WorkLost if it ends or writes nothing for `timeout_s`; then it is
  /// gone.
  [[nodiscard]] std::string converse(const std::string& key, const std::string& body,
                                     const std::function<void(const std::string&)>& heard,
                                     double timeout_s);
  /// Sends a message while the worker converses; to be called by `heard`. `body` is JSON without
  /// an id. Lost if the worker has ended, as converse() then notices.
  void tell(const std::string& body) const { (void)send(body + "\n"); }
  [[nodiscard]] bool running() const { return process_ > 0; }

 private:
  enum class Heard { Line, End, Nothing };
  void start(const WorkerCommand& command, const std::string& log);
  [[nodiscard]] bool send(const std::string& text) const;
  void read_hello(const std::string& program, double timeout_s);
  Heard next_line(double until_s, std::string& line);
  void keep(const std::string& line);
  void stop();

  Clock clock_;
  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  int log_ = -1;
  std::string log_path_;
  std::string unread_;
  std::vector<std::string> last_lines_;  ///< recent lines that are not messages
  std::string name_;
  TextMap environment_;
  int requests_ = 0;
};

}  // namespace cclgym
