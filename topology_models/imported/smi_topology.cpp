// Reads the matrix of `nvidia-smi topo -m`: what is between every two devices. Rates are not in it.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/split.hpp"
#include "topology_models/imported/machine.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kMostDevices = 256;
constexpr double kSocket_Bps = 16e9;  // NCCL (graph/topo.h: AMD)

// Position of the path between two devices, the nearest first.
enum class Between : std::uint8_t { Self, NvLinks, Pix, Pxb, Phb, Node, Sys };

constexpr std::pair<std::string_view, Between> kCodes[] = {
    {"X", Between::Self},    {"PIX", Between::Pix}, {"PXB", Between::Pxb}, {"PHB", Between::Phb},
    {"NODE", Between::Node}, {"SYS", Between::Sys}, {"SOC", Between::Sys}};  // SOC: old drivers

struct Cell {
  Between between = Between::Self;
  int nvlinks = 0;

  friend bool operator==(const Cell&, const Cell&) = default;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_gpu_name(std::string_view name) {
  return name.starts_with("GPU") && is_number(name.substr(3));
}

// Sets of devices that are joined step by step. A set is called by its first member.
class Groups {
 public:
  explicit Groups(std::size_t count) : of_(count) { std::iota(of_.begin(), of_.end(), 0); }
  [[nodiscard]] std::size_t of(std::size_t member) const { return of_[member]; }
  void join(std::size_t one, std::size_t other) {
    const auto [first, second] = std::minmax({of_[one], of_[other]});
    std::ranges::replace(of_, second, first);
  }

 private:
  std::vector<std::size_t> of_;
};

// A line of the text, read from its beginning.
class Line {
 public:
  Line(std::string_view text, std::string file, std::size_t number)
      : text_(text), where_{std::move(file), number, 0} {}

  // The next word; empty at the end.
  std::string_view word() {
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_of(kBlanks, at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }
  // The next code. Codes may touch each other, where a copy has lost the tab between them.
  std::optional<Cell> code() {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    for (const auto& [name, between] : kCodes) {
      if (!rest.starts_with(name)) continue;
      at_ += name.size();
      return Cell{.between = between};
    }
    if (!rest.starts_with("NV")) return std::nullopt;
    Cell cell{.between = Between::NvLinks};
    const auto [end, error] =
        std::from_chars(rest.data() + 2, rest.data() + rest.size(), cell.nvlinks);
    if (error != std::errc() || cell.nvlinks < 1 || cell.nvlinks > 1000) return std::nullopt;
    at_ += static_cast<std::size_t>(end - rest.data());
    return cell;
  }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] SourceLocation location() const { return {where_.file, where_.line, at_ + 1}; }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  std::string_view text_;
  SourceLocation where_;
  std::size_t at_ = 0;
};

// The text without the escape sequences with which nvidia-smi underlines the header.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text.substr(k).starts_with("\x1b[")) {
      k = std::min(text.find_first_not_of("0123456789;", k + 2), text.size());
    } else {
      plain += text[k];
    }
  }
  return plain;
}

// True for "GPU0  X …".
bool is_gpu_row(Line line) {
  if (!is_gpu_name(line.word())) return false;
  while (const auto cell = line.code()) {
    if (cell->between == Between::Self) return true;
  }
  return false;
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& file)
      : text_(without_escapes(text)), file_(file) {
    for (const std::string_view line : split(text_, '\n')) {
      lines_.emplace_back(line, file_, lines_.size() + 1);
    }
  }

  [[nodiscard]] bool has_rows() const { return std::ranges::any_of(lines_, is_gpu_row); }

  Machine read() {
    machine_.source = "the matrix of nvidia-smi topo -m in " + file_;
    read_matrix();
    read_names();
    for (std::size_t k = 0; k < names_.size(); ++k) {
      machine_.add({.kind = is_gpu(k) ? NodeKind::Gpu : NodeKind::Nic,
                    .order = static_cast<int>(k),
                    .known_as = is_gpu(k) ? std::string() : known_as_[k]});
    }
    find_nvlinks();
    choose_model();
    add_nvlinks();
    add_pcie();
    machine_.relays = 1;  // NCCL's NVB
    return std::move(machine_);
  }

 private:
  [[nodiscard]] bool is_gpu(std::size_t device) const { return is_gpu_name(names_[device]); }

  void read_matrix() {
    std::size_t row = 0;
    while (!is_gpu_row(lines_[row])) ++row;
    read_header(row);
    cells_.resize(names_.size());
    affinities_.resize(names_.size());
    for (std::size_t count = 0; count < names_.size(); ++count, ++row) {
      const bool end = row == lines_.size();
      Line line = end ? lines_.back() : lines_[row];
      const std::string name(end ? std::string_view() : line.word());
      const auto found = std::ranges::find(names_, name);
      const auto device = static_cast<std::size_t>(found - names_.begin());
      if (found == names_.end() || !cells_[device].empty()) {
        throw UserError(
            line.location(),
            fmt::format("{}; expected {} rows, one for each device of the header",
                        name.empty() ? std::string("the matrix ends here") : "row " + quoted(name),
                        names_.size()));
      }
      while (cells_[device].size() < names_.size()) {
        const std::optional<Cell> cell = line.code();
        if (!cell) {
          throw UserError(line.location(),
                          fmt::format("{}; expected {} of X, NV1 to NV1000, PIX, PXB, PHB, NODE, "
                                      "SYS in the row of {}",
                                      line.rest().empty() ? std::string("the row ends here")
                                                          : quoted(line.rest(), 20),
                                      names_.size(), name));
        }
        cells_[device].push_back(*cell);
      }
      affinities_[device] = line.word();
    }
    check_symmetry();
  }

  void read_header(std::size_t row) {
    std::size_t header = row;
    while (header > 0 && names_.empty()) {
      Line line = lines_[--header];
      for (std::string_view word = line.word(); !word.empty() && word != "CPU";
           word = line.word()) {
        names_.emplace_back(word);
      }
    }
    if (names_.empty() || !is_gpu(0)) {
      throw UserError(lines_[row].location(),
                      "no header above the matrix; expected the names of its columns (GPU0, …)");
    }
    if (names_.size() > kMostDevices) {
      throw UserError(lines_[header].location(),
                      fmt::format("{} devices; expected at most {}", names_.size(), kMostDevices));
    }
    known_as_ = names_;
  }

  void check_symmetry() const {
    for (std::size_t a = 0; a < names_.size(); ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        const bool self = cells_[a][b].between == Between::Self;
        if (cells_[a][b] == cells_[b][a] && self == (a == b)) continue;
        throw UserError({.file = file_},
                        fmt::format("the matrix differs between {} and {} in its two halves, or "
                                    "has an X beside its diagonal; expected the output of "
                                    "nvidia-smi topo -m as it is",
                                    names_[b], names_[a]));
      }
    }
  }

  // Lines such as "NIC0: mlx5_0", "GPU 0: NVIDIA A100-SXM4-80GB (UUID: …)" and "Link 0: 25 GB/s",
  // the last two of `nvidia-smi -L` and `nvidia-smi nvlink -s`, before or after the matrix.
  void read_names() {
    int gpus = 0;
    int links = 0;
    for (Line line : lines_) {
      const std::string_view first = line.word();
      const auto device = first.ends_with(':')
                              ? std::ranges::find(names_, first.substr(0, first.size() - 1))
                              : names_.end();
      if (device != names_.end()) {
        known_as_[static_cast<std::size_t>(device - names_.begin())] =
            std::string(line.word().substr(0, 40));
      } else if (first == "GPU") {
        const std::string_view number = line.word();
        if (!number.ends_with(':') || !is_number(number.substr(0, number.size() - 1))) continue;
        std::string_view name = line.rest();
        name = name.substr(0, name.find('('));
        name.remove_prefix(std::min(name.find_first_not_of(kBlanks), name.size()));
        name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
        if (gpus > 0 && name != gpu_name_) {
          throw UserError(line.location(),
                          fmt::format("GPU {}, and {} before; expected GPUs of one model",
                                      quoted(name), quoted(gpu_name_)));
        }
        gpu_name_ = name;
        ++gpus;
      } else if (first == "Link") {
        line.word();
        links += line.word().starts_with("<") ? 0 : 1;  // <inactive>
      }
    }
    if (gpus > 0) links_a_gpu_ = links / gpus;
  }

  // NVLinks lead to NVSwitches if GPUs would otherwise have more than they can have.
  void find_nvlinks() {
    constexpr int kMostNvLinks = 18;
    const int most = links_a_gpu_ > 0 ? links_a_gpu_ : kMostNvLinks;
    for (std::size_t a = 0; a < names_.size(); ++a) {
      int sum = 0;
      for (const Cell& cell : cells_[a]) {
        sum += cell.nvlinks;
        most_nvlinks_ = std::max(most_nvlinks_, cell.nvlinks);
      }
      most_sum_ = std::max(most_sum_, sum);
    }
    if (links_a_gpu_ > 0 && most_sum_ == 0) {
      throw UserError({.file = file_},
                      fmt::format("the GPUs have {} NVLinks, but the matrix has none; expected the "
                                  "output of nvidia-smi topo -m (not -mp)",
                                  links_a_gpu_));
    }
    through_switches_ = most_sum_ > most;
  }

  void choose_model() {
    const int links = through_switches_ ? most_nvlinks_ : most_sum_;
    for (const std::string& word : device_words(gpu_name_)) {
      if (const GpuModel* model = find_gpu_model(word)) {
        machine_.gpu_model = model->name;
        generation_ = model->compute_capability;
        link_Bps_ = model->link_Bps;
        return;
      }
    }
    int architecture = known_compute_capability(gpu_name_);
    if (architecture == 0 && links > 0) {
      architecture = links <= 6 ? 70 : links <= 12 ? 80 : 90;
      machine_.warnings.push_back(
          fmt::format("{}, so the GPUs are taken for {}, by {} NVLinks; append the output of "
                      "nvidia-smi nvlink -s, "
                      "or set gpu_model in the file that cclgym describe fabric --yaml writes",
                      gpu_name_.empty() ? "the text does not name the GPUs"
                                        : fmt::format("the GPU {} is not known", quoted(gpu_name_)),
                      nearest_gpu_models({.architecture = architecture}).front()->name, links));
    } else if (architecture > 0) {
      machine_.warnings.push_back(
          fmt::format("there is no model of the GPU {}", quoted(gpu_name_)));
    }
    if (architecture == 0) {
      machine_.warnings.push_back(fmt::format(
          "{}; {} set gpu_model in the file that cclgym describe fabric --yaml writes",
          gpu_name_.empty() ? "the text does not name the GPUs"
                            : fmt::format("the GPU {} is not known", quoted(gpu_name_)),
          gpu_name_.empty() ? "append the output of nvidia-smi -L, or" : "name a cost model, or"));
      return;
    }
    const GpuModel& model = choose_gpu_model(machine_, {.architecture = architecture});
    generation_ = architecture;
    link_Bps_ = model.link_Bps;
  }

  void add_nvlinks() {
    std::optional<std::size_t> nvswitch;
    for (std::size_t a = 0; a < names_.size(); ++a) {
      int units = 0;
      for (std::size_t b = 0; b < names_.size(); ++b) {
        const int count = cells_[a][b].nvlinks;
        if (count == 0) continue;
        if (!through_switches_) {
          if (a < b) machine_.links.push_back(nvlink(a, b, count));
          continue;
        }
        if (units != 0 && units != count) {
          throw UserError(
              {.file = file_},
              fmt::format("{} has NV{} and NV{}, more NVLinks than a GPU has; expected "
                          "one number to all GPUs on NVSwitches, or at most {} in all",
                          names_[a], units, count, links_a_gpu_ > 0 ? links_a_gpu_ : 18));
        }
        units = count;
      }
      if (units == 0) continue;
      // NVLink SHARP.
      if (!nvswitch) {
        nvswitch = machine_.add({.kind = NodeKind::NvSwitch, .computes = generation_ >= 90});
      }
      machine_.links.push_back(nvlink(a, *nvswitch, units));
    }
  }

  [[nodiscard]] MachineLink nvlink(std::size_t from, std::size_t to, int units) const {
    return {
        .from = from, .to = to, .kind = LinkKind::NvLink, .unit_Bps = link_Bps_, .units = units};
  }

  [[nodiscard]] bool any_between(const Groups& groups, std::size_t one, std::size_t other,
                                 Between wanted) const {
    for (std::size_t a = 0; a < names_.size(); ++a) {
      for (std::size_t b = 0; b < names_.size(); ++b) {
        if (groups.of(a) == one && groups.of(b) == other && cells_[a][b].between == wanted) {
          return true;
        }
      }
    }
    return false;
  }

  // Devices with PIX between them are at one PCIe switch; PXB joins such switches by another one;
  // and PHB, NODE or an equal CPU affinity mean the same host.
  void add_pcie() {
    const std::size_t count = names_.size();
    Groups near(count);
    Groups trees(count);
    Groups hosts(count);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Between between = cells_[a][b].between;
        if (between == Between::NvLinks) continue;  // hides the others
        if (between == Between::Pix) near.join(a, b);
        if (between <= Between::Pxb) trees.join(a, b);
        if (between <= Between::Node) hosts.join(a, b);
      }
    }
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!is_gpu(a) || !is_gpu(b) || affinities_[a] != affinities_[b]) continue;
        if (affinities_[a].empty() || affinities_[a] == "N/A" || hosts.of(a) == hosts.of(b))
          continue;
        if (!any_between(hosts, hosts.of(a), hosts.of(b), Between::Sys)) hosts.join(a, b);
      }
    }
    const int lanes = generation_ == 0 || generation_ >= 80 ? (generation_ >= 90 ? 5 : 4) : 3;
    const double pcie_Bps = lanes == 3 ? 12e9 : lanes == 4 ? 24e9 : 48e9;
    const double nic_Bps = lanes == 3 ? 12.5e9 : lanes == 4 ? 25e9 : 50e9;
    std::vector<std::optional<std::size_t>> host_of(count);
    std::vector<std::size_t> all_hosts;
    std::vector<std::optional<std::size_t>> tree_of(count);
    std::vector<std::optional<std::size_t>> near_of(count);
    const auto add = [&](NodeKind kind) {
      return machine_.add({.kind = kind, .order = static_cast<int>(machine_.devices.size())});
    };
    const auto join = [&](std::size_t device, std::size_t parent,
                          std::optional<double> latency_s = {}) {
      machine_.links.push_back(
          {.from = device, .to = parent, .unit_Bps = pcie_Bps, .latency_s = latency_s});
    };
    bool near_nic = false;
    bool nics = false;
    for (std::size_t k = 0; k < count; ++k) {
      std::optional<std::size_t>& host = host_of[hosts.of(k)];
      if (!host) {
        host = add(NodeKind::Host);
        for (const std::size_t other : all_hosts) {
          machine_.links.push_back({.from = other,
                                    .to = *host,
                                    .kind = LinkKind::Generic,
                                    .unit_Bps = kSocket_Bps,
                                    .latency_s = 0});
        }
        all_hosts.push_back(*host);
      }
      if (!is_gpu(k)) {
        nics = true;
        machine_.devices[k].network_Bps = nic_Bps;
      }
      int here = 0;    // members of the PCIe tree
      int beside = 0;  // members at the nearest switch
      bool gpu = false;
      for (std::size_t other = 0; other < count; ++other) {
        here += trees.of(other) == trees.of(k) ? 1 : 0;
        beside += near.of(other) == near.of(k) ? 1 : 0;
        gpu = gpu || (is_gpu(other) && trees.of(other) == trees.of(k));
      }
      // The ports of a NIC have PIX between them, too.
      if (here < 2 || !gpu) {
        join(k, *host);
        continue;
      }
      near_nic = near_nic || !is_gpu(k);
      std::optional<std::size_t>& tree = tree_of[trees.of(k)];
      if (!tree) {
        tree = add(NodeKind::PcieSwitch);
        join(*tree, *host);
      }
      if (beside < 2 || beside == here) {
        join(k, *tree);
        continue;
      }
      std::optional<std::size_t>& leaf = near_of[near.of(k)];
      if (!leaf) {
        leaf = add(NodeKind::PcieSwitch);
        join(*leaf, *tree, 0);
      }
      join(k, *leaf);
    }
    machine_.nics_behind_host_bridge = nics && !near_nic;
    machine_.warnings.push_back(fmt::format(
        "nvidia-smi topo -m states no rates: PCIe is taken for Gen{} with 16 lanes ({:.0f} GB/s), "
        "{}a link between CPUs for {:.0f} GB/s, and CPUs for intel; correct them in the file that "
        "cclgym describe fabric --yaml writes",
        lanes, pcie_Bps / 1e9, nics ? fmt::format("a NIC for {:.0f} Gb/s, ", nic_Bps * 8e-9) : "",
        kSocket_Bps / 1e9));
  }

  std::string text_;
  std::string file_;
  std::vector<Line> lines_;
  std::vector<std::string> names_;     // by device
  std::vector<std::string> known_as_;  // by device
  std::vector<std::vector<Cell>> cells_;
  std::vector<std::string> affinities_;  // by device: CPUs
  std::string gpu_name_;
  int links_a_gpu_ = 0;
  int most_nvlinks_ = 0;  // between two GPUs
  int most_sum_ = 0;      // from one GPU to all others
  bool through_switches_ = false;
  int generation_ = 0;  // compute capability times 10
  double link_Bps_ = 25e9;
  Machine machine_;
};

}  // namespace

bool is_smi_topology(std::string_view text) {
  return text.find("GPU") != std::string_view::npos && MatrixReader(text, {}).has_rows();
}

Machine read_smi_topology(std::string_view text, const std::string& file) {
  return MatrixReader(text, file).read();
}

}  // namespace cclgym
