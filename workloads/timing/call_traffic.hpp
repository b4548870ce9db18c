// Bytes that a call moves over each connection and each link, for any size of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "sim/lowering/graph_shape.hpp"
#include "sim/lowering/lowering.hpp"

namespace cclgym {

/// Wire bytes of a call, and the rates of its messages.
struct CallBytes {
  std::vector<double> connection;    ///< by connection, in the order of CallTraffic::connections
  std::vector<double> link;          ///< by link of the fabric
  std::vector<double> link_cap_Bps;  ///< by link: rate cap of its fastest message; 0 without any
  double memory = 0;                 ///< through the memories of all ranks
};

/// Messages of a lowered program by cost record, connection and link. Calls of the same program and
/// GraphShape differ only in the prices of the records and in the number of tiles.
class CallTraffic {
 public:
  /// Messages between two ranks on one channel.
  struct Connection {
    std::int32_t source = 0;  ///< rank of the communicator
    std::int32_t target = 0;
    std::int32_t channel = 0;
    friend auto operator<=>(const Connection&, const Connection&) = default;
  };

  /// `lowered`: with its fabric. `model` must outlive the traffic.
  CallTraffic(const LoweredProgram& lowered, const CostModel& model);

  /// Bytes of the call from which the traffic was made.
  [[nodiscard]] CallBytes bytes() const { return priced(terms_, tiles_); }
  /// Bytes of another call of the same shape (graph_shape) with this configuration.
  [[nodiscard]] CallBytes bytes(const ProgramCut& cut, const Call& call,
                                const Config& config) const;

  [[nodiscard]] const std::vector<Connection>& connections() const { return connections_; }
  /// Number of connections that cross each link.
  [[nodiscard]] const std::vector<std::int32_t>& link_connections() const {
    return link_connections_;
  }
  /// Capacities of the fabric's links, B/s.
  [[nodiscard]] const std::vector<double>& capacities_Bps() const { return capacities_Bps_; }
  [[nodiscard]] bool switched() const { return switched_; }  ///< switches copy or add
  [[nodiscard]] int alike_channels() const { return terms_.alike_channels; }

 private:
  // Messages of one record.
  struct Messages {
    std::int32_t record = 0;
    double per_tile = 0;
  };
  [[nodiscard]] CallBytes priced(const PriceTerms& terms, std::int32_t tiles) const;

  std::shared_ptr<const Fabric> fabric_;
  const CostModel* model_;
  PriceTerms terms_;
  std::int32_t tiles_ = 1;
  std::vector<std::vector<LinkId>> routes_;  // NodeCosts::routes
  std::vector<NodeCost> records_;            // records of messages
  std::vector<Connection> connections_;      // ascending
  std::vector<std::vector<Messages>> of_connection_;
  std::vector<std::vector<Messages>> of_link_;
  std::vector<std::int32_t> link_connections_;
  std::vector<double> capacities_Bps_;
  bool switched_ = false;
};

}  // namespace cclgym
