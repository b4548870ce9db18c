#include "cost_models/nccl/nccl_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cclgym {

namespace {

// Bandwidths that the search tries, GB/s, in its order.
constexpr std::array kSpeeds2_8{42.0, 24.0, 21.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0,
                                6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInside{40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                             9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
constexpr std::array kBetween{48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                              7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInsideHopper{60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
constexpr std::array kBetweenHopper{48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                    15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInsideBlackwell2_25{90.0, 80.0, 70.0, 60.0, 50.0,
                                          40.0, 30.0, 24.0, 20.0, 19.0};
constexpr std::array kInsideBlackwell2_27{90.0, 80.0, 70.0, 60.0, 50.0, 40.0,
                                          30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array kInsideBlackwell{90.0, 80.0, 70.0, 60.0, 50.0, 45.0,
                                      40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array kBetweenBlackwell2_25{48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                           15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
// Releases 2.27.0 to 2.27.4, then 2.27.5, and those from 2.27.6 on.
constexpr std::array kBetweenBlackwell2273{47.9, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                           15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kBetweenBlackwell2275{48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                           15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kBetweenBlackwell2276{96.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0,
                                           17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kBetweenBlackwell{96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0,
                                       20.0, 17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

// Speeds of Blackwell by release; before 2.25 they are Hopper's.
std::span<const double> blackwell_speeds(const NcclVersion& version, bool one_node) {
  if (version < NcclVersion{2, 25, 0}) {
    return one_node ? std::span<const double>(kInsideHopper) : kBetweenHopper;
  }
  if (one_node) {
    if (version < NcclVersion{2, 27, 0}) return kInsideBlackwell2_25;
    if (version < NcclVersion{2, 29, 0}) return kInsideBlackwell2_27;
    return kInsideBlackwell;
  }
  if (version < NcclVersion{2, 27, 0}) return kBetweenBlackwell2_25;
  if (version < NcclVersion{2, 27, 5}) return kBetweenBlackwell2273;
  if (version < NcclVersion{2, 27, 6}) return kBetweenBlackwell2275;
  if (version < NcclVersion{2, 30, 0}) return kBetweenBlackwell2276;
  return kBetweenBlackwell;
}

std::span<const double> speeds_of(const NcclVersion& version, int compute_capability,
                                  bool one_node) {
  if (family(version) == NcclFamily::V2_8) return kSpeeds2_8;
  if (compute_capability >= 100) return blackwell_speeds(version, one_node);
  if (compute_capability >= 90) {
    return one_node ? std::span<const double>(kInsideHopper) : kBetweenHopper;
  }
  return one_node ? std::span<const double>(kInside) : kBetween;
}

// Number of channels of this speed that a link carries.
int whole(double bandwidth, double speed) {
  return static_cast<int>(std::floor(bandwidth / speed * (1 + 1e-9)));
}

}  // namespace

NcclSearch::NcclSearch(const NcclNode& node, const NcclVersion& version, int compute_capability,
                       bool one_node)
    : node_(node),
      old_(family(version) == NcclFamily::V2_8),
      hopper_(compute_capability >= 90),
      one_node_(one_node),
      nvlink_(nvlink_GBps(version, compute_capability)),
      speeds_(speeds_of(version, compute_capability, one_node)),
      most_channels_(version < NcclVersion{2, 23, 0} ? 16 : 32) {}  // MAXCHANNELS / 2

// Finds the maximum total bandwidth; among equals, the fastest channels. Speeds below half of the
// best speed are not tried.
template <class Channels>
NcclChannels NcclSearch::best(const Channels& channels_at) const {
  NcclChannels best;
  for (const double speed : speeds_) {
    if (best.channels > 0 && speed / best.inside_GBps <= .49) break;
    const int channels = channels_at(speed);
    if (channels * speed > best.channels * best.inside_GBps) best = {channels, speed, speed};
  }
  // NCCL falls back to one slow ring.
  if (best.channels == 0) best = {1, .1, .1};
  return best;
}

NcclChannels NcclSearch::ring_inside() const {
  const NcclChannels found = best([this](double speed) { return channels_inside(speed); });
  return doubled(found, most_channels_);
}

NcclChannels NcclSearch::ring_between() const {
  const NcclChannels found = best(
      [this](double speed) { return std::min(channels_between(speed), channels_inside(speed)); });
  return doubled(found, most_channels_);
}

NcclChannels NcclSearch::tree_between(const NcclChannels& ring) const {
  NcclChannels tree = ring;
  for (std::size_t next = place(ring.inside_GBps); next > 0; --next) {
    const double speed = speeds_[next - 1];
    if (tree.inside_GBps >= 2 * tree.between_GBps || channels_inside(speed) < ring.channels) {
      break;
    }
    tree.inside_GBps = speed;
  }
  return tree;
}

NcclChannels NcclSearch::collnet_direct(int gpus) const {
  const auto fits = [&](double speed) { return gpus == 1 || 2 * speed <= width(); };
  NcclChannels found = best([&](double speed) {
    const auto fast = std::ranges::count_if(node_.nics_GBps,
                                            [speed](double nic) { return whole(nic, speed) > 0; });
    return fits(speed) ? std::min(gpus, static_cast<int>(fast)) : 0;
  });
  for (std::size_t next = place(found.inside_GBps); next > 0; --next) {
    const double speed = speeds_[next - 1];
    if (found.inside_GBps >= 2 * found.between_GBps || !fits(speed)) break;
    found.inside_GBps = speed;
  }
  return found;
}

// A channel takes its bandwidth from every GPU, and twice from the one that is its head.
NcclChannels NcclSearch::nvls(int gpus) const {
  const int channels = std::min(gpus, kMostNvlsHeads);
  for (const double speed : speeds_) {
    if ((channels + 1) * speed > width()) continue;
    return {channels, speed, one_node_ ? speeds_.front() : slowest_nic()};
  }
  return {};
}

double NcclSearch::width() const {
  double all = 0;
  for (const int nvlinks : node_.nvlinks) all += nvlinks * nvlink_;
  return all;
}

// A channel needs its full bandwidth on one link.
int NcclSearch::channels_inside(double speed) const {
  if (node_.nvlinks.empty()) return speed <= node_.pcie_GBps ? 1 : 0;
  int channels = 0;
  for (const int nvlinks : node_.nvlinks) channels += whole(nvlinks * nvlink_, speed);
  return std::min(channels, most_channels_);
}

int NcclSearch::channels_between(double speed) const {
  int channels = 0;
  for (const double nic : node_.nics_GBps) channels += whole(nic, speed);
  if (node_.cpu_pairs > 0) {
    channels = std::min(channels, node_.cpu_pairs * whole(node_.cpu_pair_GBps, speed));
  }
  return std::min(channels, most_channels_);
}

double NcclSearch::slowest_nic() const {
  return *std::min_element(node_.nics_GBps.begin(), node_.nics_GBps.end());
}

// Fast channels are split in two (ncclTopoDupChannels), on Hopper only if very fast or few.
NcclChannels NcclSearch::doubled(NcclChannels found, int most) const {
  if (found.inside_GBps < 25) return found;
  if (!old_ && hopper_ && found.inside_GBps < 50 && found.channels > 4) return found;
  const int channels = std::min(2 * found.channels, most);
  const int ways = (channels + found.channels - 1) / found.channels;
  return {channels, found.inside_GBps / ways, found.between_GBps / ways};
}

std::size_t NcclSearch::place(double speed) const {
  std::size_t at = 0;
  while (at + 1 < speeds_.size() && speeds_[at] > speed) ++at;
  return at;
}

}  // namespace cclgym
