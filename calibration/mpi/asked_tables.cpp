#include "calibration/mpi/asked_tables.hpp"

#include <iostream>
#include <utility>

namespace cclgym {

using nlohmann::json;

void write_line(const json& message) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << message.dump() << std::endl;
}

AskedTables::AskedTables(LoopGroup& group, std::int32_t ranks, std::vector<std::uint16_t> first)
    : leader_(group, ranks, first), table_(std::move(first)), reader_([this] { read(); }) {}

AskedTables::~AskedTables() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

void AskedTables::step() {
  for (const JoinedCall& one : leader_.take()) {
    waiting_.push_back(
        {one.number, one.call.group, one.call.config, one.call.time_s, one.call.bytes});
  }
  std::string answer;
  {
    const std::lock_guard lock(mutex_);
    answer = std::exchange(answer_, {});
    if (!asked_ && !waiting_.empty()) {
      write_line(json{{"joined", std::exchange(waiting_, json::array())}});
      asked_ = true;
    }
  }
  changed_.notify_all();
  if (!answer.empty()) {
    const json message = json::parse(answer);
    auto table = message.at("table").get<std::vector<std::uint16_t>>();
    if (table.size() == table_.size()) table_ = std::move(table);
    for (const json& alarm : message.at("alarms")) alarms_.push_back(alarm.get<std::uint64_t>());
  }
  leader_.offer(table_);
}

void AskedTables::read() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return asked_ || ending_; });
      if (!asked_) return;
    }
    std::string line;
    const bool there = static_cast<bool>(std::getline(std::cin, line));
    const std::lock_guard lock(mutex_);
    answer_ = std::move(line);
    if (!there) return;  // the other process has ended; the table stays
    asked_ = false;
  }
}

}  // namespace cclgym
