#include "calibration/measure/worker_process.hpp"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/error.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

constexpr std::size_t kLastLines = 12;
constexpr std::size_t kLongestLineBytes = std::size_t{1} << 24;
constexpr double kGrace_s = 3;  // time for a launcher to end its processes on other hosts

void close_if_open(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

// A parsed message, or null.
json parsed(const std::string& line) {
  if (line.empty() || line.front() != '{') return nullptr;
  json message = json::parse(line, nullptr, false);
  return message.is_object() ? message : json(nullptr);
}

TextMap texts_of(const json& message, const char* key) {
  TextMap texts;
  if (!message.contains(key) || !message.at(key).is_object()) return texts;
  for (const auto& [name, value] : message.at(key).items()) {
    texts[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return texts;
}

// True if a message answers the request. A number that is not an integer answers none.
bool answers(const json& message, int id) {
  const json& found = message.at("id");
  return found.is_number_integer() && found == json(id);
}

MeasureAnswer answer_of(const json& message) {
  const auto said = [&](const char* key) {
    return message.at(key).is_string() ? message.at(key).get<std::string>()
                                       : message.at(key).dump();
  };
  if (message.contains("refused")) {
    return {.status = MeasureStatus::Refused, .message = said("refused")};
  }
  if (message.contains("error")) {
    return {.status = MeasureStatus::Failed, .message = said("error")};
  }
  MeasureAnswer answer{.extra = texts_of(message, "extra")};
  if (message.contains("samples_s") && message.at("samples_s").is_array()) {
    for (const json& sample : message.at("samples_s")) {
      const double value = sample.is_number() ? sample.get<double>() : 0;
      if (!(value > 0) || !std::isfinite(value)) {
        return {.status = MeasureStatus::Failed,
                .message = "a sample is " + sample.dump() + "; expected seconds > 0"};
      }
      answer.samples_s.push_back(value);
    }
  }
  if (answer.samples_s.empty()) {
    return {.status = MeasureStatus::Failed, .message = "the answer has no samples"};
  }
  return answer;
}

// Runs the command in the child; never returns.
[[noreturn]] void become(const WorkerCommand& command, int in, int out, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const std::string message =
      fmt::format("{}: {}\n", command.arguments.front(), std::generic_category().message(errno));
  [[maybe_unused]] const ssize_t ignored = ::write(STDOUT_FILENO, message.data(), message.size());
  ::_exit(127);
}

}  // namespace

std::string to_string(MeasureStatus status) {
  constexpr const char* kNames[] = {"ok", "refused", "failed", "crashed", "hung"};
  return kNames[static_cast<int>(status)];
}

WorkerProcess::WorkerProcess(const WorkerCommand& command, const std::string& log, double timeout_s,
                             Clock clock)
    : clock_(std::move(clock)) {
  start(command, log);
  try {
    read_hello(command.arguments.front(), timeout_s);
  } catch (...) {
    stop();
    throw;
  }
}

WorkerProcess::~WorkerProcess() { stop(); }

void WorkerProcess::start(const WorkerCommand& command, const std::string& log) {
  const std::string where = log.empty() ? "/dev/null" : log;
  log_path_ = where;
  log_ = ::open(where.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log_ < 0) {
    throw UserError({where, 0, 0}, std::generic_category().message(errno));
  }
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  // The end of a worker is noticed by its end of file, not by a signal.
  ::signal(SIGPIPE, SIG_IGN);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(command, in[0], out[1], log_, parent);
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
}

void WorkerProcess::read_hello(const std::string& program, double timeout_s) {
  const double until_s = clock_() + timeout_s;
  std::string line;
  Heard heard = next_line(until_s, line);
  json message = parsed(line);
  while (heard == Heard::Line && (message.is_null() || !message.contains("worker"))) {
    keep(line);
    // The deadline also holds for a worker that prints without end.
    heard = clock_() < until_s ? next_line(until_s, line) : Heard::Nothing;
    message = parsed(line);
  }
  if (heard != Heard::Line) {
    throw UserError(fmt::format(
        "the worker '{}' {}; what it printed on standard error is in {}{}{}", program,
        heard == Heard::End ? "ended before it reported its name"
                            : fmt::format("did not report its name within {:g} s", timeout_s),
        log_path_, last_lines_.empty() ? "" : "; its last lines:\n  ",
        fmt::join(last_lines_, "\n  ")));
  }
  name_ = message.at("worker").is_string() ? message.at("worker").get<std::string>() : "";
  if (message.contains("refused")) {
    throw UserError(
        fmt::format("the worker '{}' cannot run here: {}", name_, answer_of(message).message));
  }
  environment_ = texts_of(message, "environment");
}

void WorkerProcess::keep(const std::string& line) {
  if (last_lines_.size() == kLastLines) last_lines_.erase(last_lines_.begin());
  last_lines_.push_back(line);
  const std::string ended = line + "\n";
  [[maybe_unused]] const ssize_t ignored = ::write(log_, ended.data(), ended.size());
}

WorkerProcess::Heard WorkerProcess::next_line(double until_s, std::string& line) {
  while (true) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return Heard::Line;
    }
    const double left_s = until_s - clock_();
    if (left_s <= 0) return Heard::Nothing;
    pollfd wait{from_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::ceil(std::min(left_s, 1e6) * 1e3)));
    if (ready < 0 && errno != EINTR) return Heard::End;
    if (ready <= 0) continue;
    char buffer[1 << 16];
    const ssize_t got = ::read(from_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Heard::End;
    unread_.append(buffer, static_cast<std::size_t>(got));
    if (unread_.size() > kLongestLineBytes) return Heard::End;
  }
}

MeasureAnswer WorkerProcess::measure(const MeasureRequest& request, double timeout_s) {
  if (!running()) return {.status = MeasureStatus::Crashed, .message = "the worker is gone"};
  const int id = ++requests_;
  const std::string text = json{{"id", id},
                                {"warmup", request.warmup},
                                {"repeats", request.repeats},
                                {"most_s", request.most_s},
                                {"cell", request.cell}}
                               .dump() +
                           "\n";
  const double until_s = clock_() + timeout_s;
  last_lines_.clear();
  if (send(text)) {
    std::string line;
    for (Heard heard = next_line(until_s, line); heard != Heard::End;
         heard = next_line(until_s, line)) {
      if (heard == Heard::Nothing) {
        stop();
        return {.status = MeasureStatus::Hung,
                .message = fmt::format("no answer within {:g} s: killed", timeout_s)};
      }
      const json message = parsed(line);
      if (message.is_null() || !message.contains("id")) {
        keep(line);
      } else if (answers(message, id)) {
        return answer_of(message);
      } else {
        // A worker that gave one wrong answer cannot be trusted.
        stop();
        return {.status = MeasureStatus::Failed,
                .message = fmt::format("an answer with the id {}; expected {}",
                                       quoted(message.at("id").dump()), id)};
      }
    }
  }
  stop();
  return {.status = MeasureStatus::Crashed,
          .message = fmt::format("the worker ended{}{}", last_lines_.empty() ? "" : ": ",
                                 fmt::join(last_lines_, " | "))};
}

std::string WorkerProcess::converse(const std::string& key, const std::string& body,
                                    const std::function<void(const std::string&)>& heard,
                                    double timeout_s) {
  const int id = ++requests_;
  last_lines_.clear();
  std::string line;
  bool sent = running() && send(json{{"id", id}, {key, json::parse(body)}}.dump() + "\n");
  while (sent) {
    const Heard what = next_line(clock_() + timeout_s, line);
    if (what != Heard::Line) {
      sent = what == Heard::Nothing;
      break;
    }
    const json message = parsed(line);
    if (message.is_null() || !message.is_object()) {
      keep(line);
    } else if (!message.contains("id")) {
      heard(line);
    } else if (answers(message, id) && message.contains(key)) {
      return message.at(key).dump();
    } else {
      stop();
      throw UserError("the worker failed: " + answer_of(message).message);
    }
  }
  stop();
  throw WorkLost(fmt::format("the worker {}{}{}; what it printed on standard error is in {}",
                             sent ? fmt::format("wrote nothing for {:g} s", timeout_s) : "ended",
                             last_lines_.empty() ? "" : ": ", fmt::join(last_lines_, " | "),
                             log_path_));
}

// False if the worker has closed its input.
bool WorkerProcess::send(const std::string& text) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(to_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void WorkerProcess::stop() {
  close_if_open(to_);
  if (process_ > 0) {
    // A launcher ends its processes on other hosts only when asked to, not when killed.
    const double until_s = steady_now_s() + kGrace_s;
    bool asked = false;
    while (::waitpid(process_, nullptr, WNOHANG) == 0) {
      const double now_s = steady_now_s();
      if (!asked && now_s > until_s - kGrace_s * 0.9) {
        ::kill(-process_, SIGTERM);
        asked = true;
      }
      if (now_s > until_s) {
        ::kill(-process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        break;
      }
      ::usleep(2000);
    }
    ::kill(-process_, SIGKILL);
    process_ = -1;
  }
  close_if_open(from_);
  close_if_open(log_);
}

}  // namespace cclgym
