#include "topology_models/network_plugin.hpp"

#include "core/magnitudes.hpp"

namespace cclgym {

namespace {

constexpr double kMostBytes = 1 << 30;

template <class Member>
Field<NetworkPlugin> bytes(const char* name, const char* description, Member member) {
  return {{.name = name,
           .kind = OptionKind::Bytes,
           .description = description,
           .min = 0,
           .max = kMostBytes,
           .default_text = "0B"},
          member};
}

}  // namespace

const std::vector<Field<NetworkPlugin>>& network_plugin_fields() {
  static const std::vector<Field<NetworkPlugin>> fields{
      {{.name = "latency",
        .kind = OptionKind::Time,
        .description = "latency that the plugin tells NCCL, by which NCCL estimates times",
        .max = kMostLatency_s,
        .default_text = "0us"},
       &NetworkPlugin::latency_s},
      bytes("buffer", "NCCL_BUFFSIZE that the plugin sets; 0B: none", &NetworkPlugin::buffer_bytes),
      bytes("send_chunk", "NCCL_P2P_NET_CHUNKSIZE that the plugin sets; 0B: none",
            &NetworkPlugin::send_chunk_bytes),
      bytes("nvls_chunk",
            "NCCL_NVLS_CHUNKSIZE and NCCL_NVLSTREE_MAX_CHUNKSIZE that the plugin sets; 0B: none",
            &NetworkPlugin::nvls_chunk_bytes)};
  return fields;
}

std::vector<OptionSpec> network_plugin_options() {
  std::vector<OptionSpec> options;
  for (const Field<NetworkPlugin>& field : network_plugin_fields()) options.push_back(field.spec());
  return options;
}

const OptionSpec& network_plugin_option() {
  static const OptionSpec option{
      .name = "network_plugin",
      .kind = OptionKind::Mapping,
      .description =
          "what the network's plugin (libnccl-net.so) tells and sets NCCL, for NCCL's "
          "choice (`nccl-default`)"};
  return option;
}

NetworkPlugin read_network_plugin(const YamlValue& value) {
  check_keys(value, network_plugin_options(), network_plugin_option().name);
  NetworkPlugin plugin;
  for (const Field<NetworkPlugin>& field : network_plugin_fields()) {
    if (const YamlValue* const stated = value.find(field.key())) {
      field.set(plugin, read_option(*stated, field.spec()));
    }
  }
  return plugin;
}

}  // namespace cclgym
