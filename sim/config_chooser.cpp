#include "sim/config_chooser.hpp"

#include <algorithm>
#include <functional>

#include "sim/dispatch_table.hpp"
#include "sim/nccl_chooser.hpp"
#include "sim/openmpi_chooser.hpp"

namespace cclgym {

namespace {

struct Kind {
  ConfigChooserInfo info;
  std::string_view prefix;  // what stands before ':'
  /// `argument` is what follows ':'.
  std::function<std::unique_ptr<const ConfigChooser>(std::string_view argument,
                                                     const ChooserSite& site)>
      make;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {{"dispatch:FILE", "what a table of size ranges says (cclgym tune-dispatch makes one)"},
       "dispatch",
       make_dispatch_chooser},
      {{"nccl-default:VERSION",
        "what a release of NCCL (2.8.4, 2.18 or newer; without :VERSION the newest) would choose"},
       "nccl-default",
       [](std::string_view version, const ChooserSite& site) {
         return make_nccl_chooser(version, site);
       }},
      {{"openmpi-default:VERSION",
        "what OpenMPI (4.1 or 5.0, which choose alike; also without :VERSION) would choose"},
       "openmpi-default",
       make_openmpi_chooser},
  };
  return all;
}

// "dispatch" of "dispatch:table.yaml".
std::string_view prefix_of(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace

const std::vector<ConfigChooserInfo>& config_chooser_infos() {
  static const std::vector<ConfigChooserInfo> infos = [] {
    std::vector<ConfigChooserInfo> list;
    for (const Kind& kind : kinds()) list.push_back(kind.info);
    return list;
  }();
  return infos;
}

bool is_config_chooser(std::string_view name) {
  return std::any_of(kinds().begin(), kinds().end(),
                     [&](const Kind& kind) { return kind.prefix == prefix_of(name); });
}

std::unique_ptr<const ConfigChooser> make_config_chooser(std::string_view name,
                                                         const ChooserSite& site) {
  for (const Kind& kind : kinds()) {
    if (kind.prefix != prefix_of(name)) continue;
    const std::size_t colon = name.find(':');
    if (name.ends_with(':')) {
      throw UserError(site.where, "nothing after the colon of " + quoted(name) + "; expected " +
                                      std::string(kind.info.form));
    }
    return kind.make(colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1),
                     site);
  }
  std::vector<std::string> forms;
  for (const Kind& kind : kinds()) forms.push_back(kind.info.form);
  throw UserError(site.where, unknown_name_message("chooser of configurations", name, forms));
}

}  // namespace cclgym
