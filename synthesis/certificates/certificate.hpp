// Certificates: what is claimed about a collective on a fabric, and the evidence for it. Devices,
// links and messages have names or ranks, so that the evidence does not depend on indices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "collectives/contract.hpp"
#include "synthesis/flows/step_relaxation.hpp"
#include "topology_models/rational.hpp"

namespace cclgym::synthesis {

struct CertificateSubject {
  CollectiveKind collective = CollectiveKind::AllGather;
  int root = 0;              ///< 0 if the collective has no root
  std::vector<int> group{};  ///< participating ranks, ascending; empty: all
};

enum class ClaimKind : std::uint8_t {
  Steps,          ///< no schedule has fewer steps
  Rounds,         ///< no schedule takes fewer rounds per chunk
  RoundsInSteps,  ///< no schedule with so many steps takes fewer rounds per chunk
  Infeasible,     ///< no schedule has so many chunks, steps and rounds
  Reached         ///< a schedule has so many chunks, steps and rounds
};

/// Chunks are counted as SCCL counts them (C). Unused members are 0.
struct Claim {
  ClaimKind kind = ClaimKind::Steps;
  int chunks = 0;
  int steps = 0;
  Rational rounds{0};         ///< per chunk, or in all if `chunks` is given
  std::int64_t unit_Bps = 0;  ///< bandwidth of the link unit that rounds refer to, B/s
};

/// Two ranks that are as many hops apart as there are steps.
struct DistanceEvidence {
  int source = 0;
  int target = 0;
};

/// Devices that data must leave (reductions: enter): `members` chunks through `units` link units.
struct CutEvidence {
  std::int64_t members = 0;
  std::int64_t units = 0;
  std::vector<std::string> devices{};  ///< names of NodeNames, ascending
};

/// Ranks that must receive (reductions: send) chunks, and limits that all hops to them share.
struct RankCutEvidence {
  std::vector<int> ranks{};
  std::vector<int> limits{};  ///< indices into Instance::limits, ascending
};

/// Dual values of a linear program that the checker makes again from the fabric.
struct DualEvidence {
  std::string program_hash{};
  Rational bound{0};
  std::vector<std::pair<int, Rational>> duals{};  ///< row and value, ascending, without zeros
};

/// About step_relaxation_program.
struct RelaxationEvidence {
  Copying copying = Copying::PerChunk;
  DualEvidence dual{};
};

/// A length of the link from a device to a device.
struct NamedLength {
  std::string source{};
  std::string target{};
  std::int64_t length = 0;
};

/// EdgeLengths, without zeros.
struct LengthsEvidence {
  std::vector<NamedLength> lengths{};
};

struct NamedShareCut {
  bool reduce = false;
  std::vector<std::string> devices{};  ///< names of NodeNames, ascending
};

/// About allreduce_program.
struct SharesEvidence {
  std::vector<NamedShareCut> cuts{};
  DualEvidence dual{};
};

/// A proof in binary DRAT, of which every lemma has the RUP property, about step_formula.
struct RefutationEvidence {
  std::string formula_hash{};
  std::string proof{};
};

/// A send of a chunk from a rank to a rank in a step.
struct RankSend {
  int step = 0;
  int chunk = 0;
  int source = 0;
  int target = 0;
};

/// A step schedule of the collective itself (reductions, if it reduces).
struct ScheduleEvidence {
  std::vector<int> rounds{};  ///< by step
  std::vector<RankSend> sends{};
};

struct NamedTreeEdge {
  int source = 0;
  int target = 0;
  std::vector<std::string> through{};  ///< names of NodeNames
};

struct NamedTree {
  int root = 0;
  std::int64_t count = 1;
  std::vector<NamedTreeEdge> edges{};  ///< from the root outwards
};

/// Trees for reductions (edges then point outwards, against the data) and for copies.
struct TreesEvidence {
  std::vector<NamedTree> inward{};
  std::vector<NamedTree> outward{};
};

using Evidence = std::variant<DistanceEvidence, CutEvidence, RankCutEvidence, RelaxationEvidence,
                              LengthsEvidence, SharesEvidence, RefutationEvidence, ScheduleEvidence,
                              TreesEvidence>;

struct Certificate {
  CertificateSubject subject{};
  Claim claim{};
  Evidence evidence{};
};

/// "distance", "cut", "rank cut", "relaxation", "lengths", "shares", "rup", "schedule" or "trees".
[[nodiscard]] std::string evidence_name(const Evidence& evidence);

/// "AllGather on dgx1 takes at least 7/6 rounds per chunk (cut)".
[[nodiscard]] std::string statement(const Certificate& certificate, const std::string& fabric);

/// Name of a file, without a suffix: "allgather-cut".
[[nodiscard]] std::string file_stem(const Certificate& certificate);

/// Expresses the rounds of a claim in another link unit, B/s, unless they are counted in steps of
/// whole rounds (a schedule, and a proof that there is none).
void change_unit(Certificate& certificate, std::int64_t unit_Bps);

}  // namespace cclgym::synthesis
