#include "deploy/nccl_plugin/kernel_times.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

namespace {

constexpr std::chrono::milliseconds kPause{20};
constexpr std::chrono::milliseconds kTakerPause{2};

std::string hex(std::uint64_t value) {
  char text[17];
  (void)std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// Bytes of an element: the first number in a name such as "ncclFloat8e4m3" or "ncclBfloat16" is its
// size in bits.
std::uint64_t element_bytes(const char* datatype) {
  if (datatype == nullptr) return 0;
  while (*datatype != '\0' && (*datatype < '0' || *datatype > '9')) ++datatype;
  std::uint64_t bits = 0;
  for (; *datatype >= '0' && *datatype <= '9' && bits < 1000; ++datatype) {
    bits = 10 * bits + static_cast<std::uint64_t>(*datatype - '0');
  }
  return bits / 8;
}

}  // namespace

std::string times_path(std::string_view pattern, const TimedCommunicator& of) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || (next != 'r' && next != 'c' && next != '%')) {
      path += pattern[i];
      continue;
    }
    path += next == 'r' ? std::to_string(of.rank) : next == 'c' ? hex(of.id) : "%";
    ++i;
  }
  return path;
}

KernelTimes::KernelTimes(const std::string& path, const TimedCommunicator& of, Taker taker)
    : of_(of), taker_(std::move(taker)), slots_(std::make_unique<Slot[]>(kSlots)) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[i];
    slot.owner = this;
    slot.self.slot = &slot;
    for (Handle& handle : slot.channels) {
      handle.slot = &slot;
      handle.channel = true;
    }
  }
  prefix_ = hex(of.id) + "," + std::to_string(of.rank) + "," + std::to_string(of.ranks) + "," +
            std::to_string(of.nodes) + ",";
  const bool created = !path.empty() && open_file(path);
  try {
    if (created) write_text(kTimesHeader);
    writer_ = std::thread([this] { write_all(); });
  } catch (...) {
    if (file_ >= 0) ::close(file_);
    throw;
  }
}

// The process that creates the file writes its header; ranks may share one file. Only regular files
// are accepted: opening, writing or closing a pipe or a device could block the job.
bool KernelTimes::open_file(const std::string& path) {
  constexpr mode_t kMode = 0644;
  const int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const auto regular = [](const struct stat& found) { return S_ISREG(found.st_mode); };
  const char* const not_regular = ": not a regular file (a pipe or a device, say); expected a file";
  file_ = ::open(path.c_str(), flags | O_CREAT | O_EXCL, kMode);
  if (file_ >= 0) return true;
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !regular(found)) throw UserError(path + not_regular);
  file_ = ::open(path.c_str(), flags);
  if (file_ < 0) throw UserError(path + ": " + std::generic_category().message(errno));
  if (::fstat(file_, &found) == 0 && regular(found)) return false;
  ::close(file_);
  throw UserError(path + not_regular);
}

KernelTimes::~KernelTimes() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  writer_.join();
  if (dropped_ > 0) {
    write_text("# communicator " + hex(of_.id) + ", rank " + std::to_string(of_.rank) + ": " +
               std::to_string(dropped_) + " collectives were dropped\n");
  }
  if (file_ >= 0) ::close(file_);
}

KernelTimes::Name KernelTimes::lower_name(const char* text) noexcept {
  Name name{};
  for (std::size_t i = 0; text != nullptr && i + 1 < name.size() && text[i] != '\0'; ++i) {
    const char c = text[i];
    name[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

void* KernelTimes::start_collective(const cclgym_nccl_collective_event& event) noexcept {
  if (event.channels == 0 || event.channels > kChannels) return nullptr;
  const std::uint64_t first = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kTries; ++i) {
    Slot& slot = slots_[(first + i) % kSlots];
    bool free = false;
    if (!slot.busy.compare_exchange_strong(free, true, std::memory_order_acquire)) continue;
    slot.row = {};
    slot.row.sequence = event.sequence;
    slot.row.channels = event.channels;
    slot.row.warps = event.warps;
    slot.row.collective = lower_name(event.collective);
    slot.row.algorithm = lower_name(event.algorithm);
    slot.row.protocol = lower_name(event.protocol);
    slot.row.bytes = event.count * element_bytes(event.datatype);
    // NCCL's count is per rank; a tuner's size is the size of the larger of the two buffers.
    const std::string_view name = slot.row.collective.data();
    if (name == "allgather" || name == "reducescatter") {
      slot.row.bytes *= static_cast<std::uint64_t>(std::max(of_.ranks, 1));
    }
    slot.start_ns.store(UINT64_MAX, std::memory_order_relaxed);
    slot.stop_ns.store(0, std::memory_order_relaxed);
    for (Handle& handle : slot.channels) handle.running.store(false, std::memory_order_relaxed);
    slot.left.store(event.channels, std::memory_order_release);
    return &slot.self;
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void* KernelTimes::start_channel(void* collective,
                                 const cclgym_nccl_kernel_channel_event& event) noexcept {
  auto* parent = static_cast<Handle*>(collective);
  if (parent == nullptr || parent->channel || event.channel >= kChannels) return nullptr;
  Slot& slot = *parent->slot;
  if (slot.left.load(std::memory_order_acquire) <= 0) return nullptr;
  Handle& handle = slot.channels[event.channel];
  if (handle.running.exchange(true, std::memory_order_acq_rel)) return nullptr;
  std::uint64_t known = slot.start_ns.load(std::memory_order_relaxed);
  while (event.start_ns < known &&
         !slot.start_ns.compare_exchange_weak(known, event.start_ns, std::memory_order_relaxed)) {
  }
  return &handle;
}

void KernelTimes::stop_channel(void* handle, std::uint64_t stop_ns) noexcept {
  auto* channel = static_cast<Handle*>(handle);
  if (channel == nullptr || !channel->channel) return;
  if (!channel->running.exchange(false, std::memory_order_acq_rel)) return;
  Slot& slot = *channel->slot;
  std::uint64_t known = slot.stop_ns.load(std::memory_order_relaxed);
  while (stop_ns > known &&
         !slot.stop_ns.compare_exchange_weak(known, stop_ns, std::memory_order_relaxed)) {
  }
  if (slot.left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  KernelTimes& owner = *slot.owner;
  slot.row.start_ns = slot.start_ns.load(std::memory_order_relaxed);
  slot.row.stop_ns = slot.stop_ns.load(std::memory_order_relaxed);
  const bool room = slot.row.stop_ns >= slot.row.start_ns && owner.finished_.push(slot.row);
  (room ? owner.recorded_ : owner.dropped_).fetch_add(1, std::memory_order_relaxed);
  slot.busy.store(false, std::memory_order_release);
}

void KernelTimes::write_text(std::string_view text) const {
  while (file_ >= 0 && !text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // a full disk costs rows, never the job
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void KernelTimes::write_rows() {
  constexpr std::size_t kWhole = 32768;  // bytes per write
  std::string lines;
  std::vector<Row> taken;
  Row row;
  while (finished_.pop(row)) {
    if (taker_) taken.push_back(row);
    if (file_ < 0) continue;
    char line[300];
    const int size = std::snprintf(
        line, sizeof(line), "%s%llu,%s,%llu,%s,%s,%d,%d,%llu,%.3f\n", prefix_.c_str(),
        static_cast<unsigned long long>(row.sequence), row.collective.data(),
        static_cast<unsigned long long>(row.bytes), row.algorithm.data(), row.protocol.data(),
        row.channels, row.warps, static_cast<unsigned long long>(row.start_ns),
        static_cast<double>(row.stop_ns - row.start_ns) / 1000);
    if (size > 0) lines.append(line, std::min(static_cast<std::size_t>(size), sizeof(line) - 1));
    if (lines.size() < kWhole) continue;
    write_text(lines);
    lines.clear();
  }
  write_text(lines);
  if (taker_) taker_(taken);
}

void KernelTimes::write_all() {
  const auto pause = taker_ ? kTakerPause : kPause;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    ended_.wait_for(lock, pause);
    write_rows();
  }
  write_rows();
}

}  // namespace cclgym
