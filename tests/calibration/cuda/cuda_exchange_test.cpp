// Tests of the kernels that exchange messages, on the host.
#include "calibration/cuda/emulated_device.hpp"
// (This header comes first, because the kernel headers below are compiled for it.)
#include "calibration/cuda/kernels/copy_kernels.hpp"
#include "calibration/cuda/kernels/exchange_kernels.cuh"
#include "support/catch.hpp"

namespace cclgym {

namespace {

using namespace device;

// FIFOs and reports of a launch.
struct Setting {
  Setting(FifoProtocol protocol, unsigned int blocks, std::size_t chunk_bytes)
      : slot_bytes(protocol == FifoProtocol::LL ? 2 * chunk_bytes
                   : protocol == FifoProtocol::Simple
                       ? chunk_bytes
                       : (chunk_bytes + kLl128SliceBytes - 1) / kLl128SliceBytes * kLl128WireBytes),
        slots(blocks, std::vector<unsigned long long>(kFifoSlots * slot_bytes / 8)),
        counters(2 * std::size_t{blocks}),
        times(blocks) {
    for (std::size_t i = 0; i < blocks; ++i) {
      fifos.push_back({reinterpret_cast<char*>(slots[i].data()), slot_bytes, &counters[2 * i],
                       &counters[2 * i + 1]});
    }
  }
  [[nodiscard]] Common common(unsigned long long limit_ns = 1'000'000'000) {
    return {fifos.data(), &stopped, &arrived, times.data(), limit_ns};
  }

  std::size_t slot_bytes;
  std::vector<std::vector<unsigned long long>> slots;
  std::vector<unsigned long long> counters;
  std::vector<Fifo> fifos;
  std::vector<BlockTimes> times;
  unsigned int stopped = 0;
  unsigned int arrived = 0;
};

std::vector<float> patterns(std::size_t count, unsigned int ranks) {
  std::vector<float> data;
  for (unsigned int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) data.push_back(pattern(i, rank));
  }
  return data;
}

std::vector<float> sums(std::size_t count, unsigned int ranks) {
  std::vector<float> result(count);
  for (unsigned int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) result[i] += pattern(i, rank);
  }
  return result;
}

const char* name_of(FifoProtocol protocol) {
  return protocol == FifoProtocol::LL ? "LL" : protocol == FifoProtocol::LL128 ? "LL128" : "Simple";
}

template <FifoProtocol kProtocol>
void check_ring(unsigned int ranks, unsigned int threads, std::size_t bytes,
                std::size_t chunk_bytes) {
  INFO(name_of(kProtocol) << ", " << ranks << " ranks of " << threads << " threads, " << bytes
                          << " B in chunks of " << chunk_bytes << " B");
  Setting setting(kProtocol, ranks, chunk_bytes);
  const std::size_t count = bytes / sizeof(float);
  const std::vector<float> inputs = patterns(count, ranks);
  std::vector<float> outputs(ranks * count, -1);
  emulated::Device device;
  device.run(ranks, threads, [&] {
    ring<kProtocol>(setting.common(), {inputs.data(), outputs.data(), bytes, chunk_bytes, 2});
  });
  CHECK(setting.stopped == 0);
  const std::vector<float> expected = sums(count, ranks);
  for (unsigned int rank = 0; rank < ranks; ++rank) {
    CHECK(setting.times[rank].done == 1);
    CHECK(std::vector<float>(outputs.begin() + static_cast<std::ptrdiff_t>(rank * count),
                             outputs.begin() + static_cast<std::ptrdiff_t>((rank + 1) * count)) ==
          expected);
  }
}

template <FifoProtocol kProtocol>
void check_pipe(unsigned int blocks, unsigned int threads, std::size_t bytes,
                std::size_t chunk_bytes) {
  INFO(name_of(kProtocol) << ", " << blocks << " blocks of " << threads << " threads, " << bytes
                          << " B in chunks of " << chunk_bytes << " B");
  Setting setting(kProtocol, blocks, chunk_bytes);
  const std::size_t count = bytes / sizeof(float);
  const std::vector<float> inputs = patterns(count, blocks);
  std::vector<float> output(count, -1);
  emulated::Device device;
  device.run(blocks, threads, [&] {
    pipe<kProtocol>(setting.common(), {inputs.data(), output.data(), bytes, chunk_bytes, 2});
  });
  CHECK(setting.stopped == 0);
  CHECK(output == sums(count, blocks - 1));
}

template <FifoProtocol kProtocol>
void check_flag_step(unsigned int threads, std::size_t bytes) {
  INFO(name_of(kProtocol) << ", " << threads << " threads, " << bytes << " B");
  constexpr unsigned int kWarm = 3;
  constexpr unsigned int kRounds = 20;
  constexpr unsigned int kBlocks = 4;
  Setting setting(kProtocol, 2, bytes);
  setting.times.resize(kBlocks);
  const std::size_t count = bytes / sizeof(float);
  const std::vector<float> both = patterns(count, 2);
  std::vector<float> data(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(count));
  const std::vector<float> addend(both.begin() + static_cast<std::ptrdiff_t>(count), both.end());
  emulated::Device device;
  device.run(kBlocks, threads, [&] {
    flag_step<kProtocol>(setting.common(), {2, data.data(), addend.data(), bytes, kWarm, kRounds});
  });
  CHECK(setting.stopped == 0);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(data[i] == pattern(i, 0) + (kWarm + kRounds) * pattern(i, 1));
  }
  CHECK(setting.times[0].end_ns > setting.times[0].begin_ns);
  CHECK(setting.times[1].done == 0);  // did not take part
}

// Checks that a sender whose FIFO fills up stops the kernel.
template <FifoProtocol kProtocol>
void check_given_up() {
  INFO(name_of(kProtocol));
  Setting setting(kProtocol, 2, 64);
  const std::vector<float> inputs = patterns(256, 2);
  std::vector<float> output(256);
  emulated::Device device;
  // The other block arrives at the barrier, and then never receives.
  setting.arrived = 1;
  device.run(
      2, 32,
      [&] {
        pipe<kProtocol>(setting.common(200), {inputs.data(), output.data(), 1024, 64, 1});
      },
      [](unsigned int block) { return block == 0; });
  CHECK(setting.stopped == 1);
  CHECK(setting.times[0].done == 0);
}

}  // namespace

TEST_CASE("a ring of blocks reduces all their data, with each protocol",
          "[calibration][cuda-exchange]") {
  for (const unsigned int ranks : {2u, 3u, 5u}) {
    for (const unsigned int threads : {32u, 96u}) {
      // The cases are one chunk, more chunks than FIFO slots, a shorter last chunk, and slices of
      // LL128 that are not full.
      for (const std::size_t chunk_bytes : {std::size_t{16}, std::size_t{208}, std::size_t{4096}}) {
        const std::size_t bytes = 16 * ranks * 31;
        check_ring<FifoProtocol::LL>(ranks, threads, bytes, chunk_bytes);
        check_ring<FifoProtocol::LL128>(ranks, threads, bytes, chunk_bytes);
        check_ring<FifoProtocol::Simple>(ranks, threads, bytes, chunk_bytes);
      }
    }
  }
  check_ring<FifoProtocol::LL128>(2, 64, 2 * 9600, 4800);
}

TEST_CASE("a stream through two or three blocks arrives, sums included",
          "[calibration][cuda-exchange]") {
  for (const unsigned int blocks : {2u, 3u}) {
    for (const std::size_t chunk_bytes : {std::size_t{1920}, std::size_t{2064}}) {
      check_pipe<FifoProtocol::LL>(blocks, 64, 40000, chunk_bytes);
      check_pipe<FifoProtocol::LL128>(blocks, 64, 40000, chunk_bytes);
      check_pipe<FifoProtocol::Simple>(blocks, 64, 40000, chunk_bytes);
    }
  }
}

TEST_CASE("messages go back and forth between two of several blocks, and each round adds once",
          "[calibration][cuda-exchange]") {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{1024}, std::size_t{2000}}) {
    for (const unsigned int threads : {32u, 128u}) {
      check_flag_step<FifoProtocol::LL>(threads, bytes);
      check_flag_step<FifoProtocol::LL128>(threads, bytes);
      check_flag_step<FifoProtocol::Simple>(threads, bytes);
    }
  }
}

TEST_CASE("a block that waits in vain gives up", "[calibration][cuda-exchange]") {
  check_given_up<FifoProtocol::LL>();
  check_given_up<FifoProtocol::LL128>();
  check_given_up<FifoProtocol::Simple>();
}

}  // namespace cclgym
