#include "topology_models/imported/fabric_source.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

#include "core/counted.hpp"
#include "core/files/text_file.hpp"
#include "core/yaml/yaml.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/fabric_option_error.hpp"
#include "topology_models/fabric_without.hpp"
#include "topology_models/imported/machine.hpp"

namespace cclgym {

namespace {

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

// The node that a text describes; nothing for a fabric file.
std::optional<Machine> machine_of(std::string_view text, const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t mark = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t begin = text.find_first_not_of(" \t\r\n", mark);
  if (begin != std::string_view::npos && text[begin] == '<') return read_nccl_topology(text, path);
  if (is_smi_topology(text)) return read_smi_topology(text, path);
  return std::nullopt;
}

// A text that is not even a mapping is of none of the three formats.
YamlValue parse_fabric_file(std::string_view text, const std::string& path) {
  constexpr std::string_view kFormats =
      "expected a fabric file (YAML; docs/fabrics.md), NCCL's topology (XML; "
      "NCCL_TOPO_DUMP_FILE=system.xml writes it) or the output of nvidia-smi topo -m";
  const bool named_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  try {
    YamlValue document = parse_yaml(text, path);
    if (named_yaml || document.is_mapping()) return document;
  } catch (const UserError&) {
    if (named_yaml) throw;
  }
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string_view line = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  throw UserError(
      {.file = path},
      fmt::format("not a description of a fabric: it {}; {}",
                  line.empty() ? "is empty" : "begins with " + quoted(line, 40), kFormats));
}

}  // namespace

std::shared_ptr<const Fabric> load_any_fabric(const std::string& path, std::optional<int> nodes) {
  return read_any_fabric(read_text_file(path, YamlLimits{}.bytes), path, nodes);
}

std::shared_ptr<const Fabric> read_any_fabric(std::string_view text, const std::string& path,
                                              std::optional<int> nodes) {
  const std::optional<Machine> machine = machine_of(text, path);
  if (!machine) {
    std::shared_ptr<const Fabric> fabric =
        read_fabric(parse_fabric_file(text, path), stem_of(path));
    const int all = fabric->servers();
    if (nodes && *nodes > all) {
      throw FabricOptionError("nodes",
                              fmt::format("fabric '{}' has {} in its file; found nodes = {}", path,
                                          counted(all, "node"), *nodes));
    }
    return nodes && *nodes < all ? first_servers(*fabric, *nodes) : fabric;
  }
  const std::string name = stem_of(path);
  try {
    FabricBuilder builder(*read_fabric(
        parse_yaml(fabric_text(*machine, name, nodes.value_or(1)), path + " as a fabric file"),
        name));
    builder.set_warnings(machine->warnings);
    return builder.build();
  } catch (const FabricOptionError&) {
    throw;
  } catch (const UserError& error) {
    throw UserError({.file = path}, error.what());
  }
}

std::string fabric_file_text(const std::string& path, int nodes) {
  std::string text = read_text_file(path, YamlLimits{}.bytes);
  const std::optional<Machine> machine = machine_of(text, path);
  return machine ? fabric_text(*machine, stem_of(path), nodes) : text;
}

}  // namespace cclgym
