// Nodes of a Chakra execution trace (MLCommons, schema 0.0.4), read from its bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// Types of nodes, by their numbers in the schema.
enum class ChakraType : std::uint8_t {
  Invalid,
  Metadata,
  MemLoad,
  MemStore,
  Comp,
  CommSend,
  CommRecv,
  CommColl
};

/// Dimensions of ASTRA-sim's topology that a collective uses.
enum class InvolvedDims : std::uint8_t { Unnamed, All, Some };

/// One node, with the attributes that a job needs.
struct ChakraNode {
  std::uint64_t id = 0;
  ChakraType type = ChakraType::Invalid;
  InvolvedDims involved_dims = InvolvedDims::Unnamed;
  bool is_cpu_op = false;
  std::int32_t name = 0;        ///< index into ChakraTrace::texts
  std::int32_t pg_name = -1;    ///< the same; -1: none
  std::uint32_t dep_begin = 0;  ///< first of its dependencies, in ChakraTrace::deps
  std::uint32_t dep_end = 0;
  double duration_s = 0;
  double num_ops = 0;
  double tensor_size = 0;  ///< B
  std::optional<std::int64_t> comm_type{};
  std::optional<std::int64_t> comm_size{};  ///< B
  std::optional<std::int64_t> comm_src{};
  std::optional<std::int64_t> comm_dst{};
  std::optional<std::int64_t> comm_tag{};
  std::optional<std::int64_t> root{};
  std::optional<std::int64_t> stream{};
};

/// A process group that a metadata node or a file of groups defines.
struct ChakraGroup {
  std::string description{};          ///< PyTorch's "pg_desc"; may be empty
  std::vector<std::int32_t> ranks{};  ///< empty: all ranks
};

struct ChakraTrace {
  std::string file;
  std::vector<ChakraNode> nodes;
  std::vector<std::uint64_t> deps;  ///< ids of nodes: data dependencies
  std::vector<std::string> texts;
  std::map<std::string, ChakraGroup, std::less<>> groups;  ///< by pg_name
};

/// Reads the bytes of a .et file: GlobalMetadata, then nodes, each preceded by its length as a
/// varint. Fields that a job does not need are skipped. Process groups come from metadata nodes
/// that PyTorch's execution trace observer writes (inputs with a JSON list of "pg_name" and
/// "ranks"). `most_nodes` bounds the nodes. Throws UserError located in `file`, with the byte or
/// the node.
[[nodiscard]] ChakraTrace read_chakra_node_stream(std::string_view bytes, const std::string& file,
                                                  std::size_t most_nodes);

/// Reads ASTRA-sim's file of groups, {"1": [0, 1, 2, 3], …}. Throws UserError located in `file`.
[[nodiscard]] std::map<std::string, ChakraGroup, std::less<>> parse_chakra_groups(
    std::string_view text, const std::string& file);

}  // namespace cclgym
