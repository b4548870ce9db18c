// Dispatchers as YAML files.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

#include "core/units.hpp"
#include "core/yaml/yaml.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "sim/dispatchers/dispatcher.hpp"

namespace cclgym {

namespace {

constexpr std::int64_t kFormat = 1;
constexpr double kTolerance = 1e-9;

OptionSpec whole(std::string name, std::string description, double min, double max) {
  return {.name = std::move(name),
          .kind = OptionKind::Integer,
          .description = std::move(description),
          .min = min,
          .max = max,
          .required = true};
}
OptionSpec real(std::string name, std::string description, double min, double max) {
  return {.name = std::move(name),
          .kind = OptionKind::Real,
          .description = std::move(description),
          .min = min,
          .max = max,
          .required = true};
}
OptionSpec text(std::string name, std::string description) {
  return {.name = std::move(name), .description = std::move(description), .required = true};
}
OptionSpec part(std::string name, std::string description) {
  return {.name = std::move(name),
          .kind = OptionKind::Mapping,
          .description = std::move(description),
          .required = true};
}
OptionSpec list(OptionSpec spec) {
  spec.shape = OptionShape::List;
  return spec;
}

const OptionSpec kNumber = real("number", "a number", -1e300, 1e300);

std::vector<double> numbers(const YamlValue& value, std::size_t count, std::string_view what) {
  std::vector<double> all;
  for (const YamlValue& item : value.items()) all.push_back(read_real(item, kNumber));
  if (all.size() != count) {
    throw UserError(value.location(),
                    fmt::format("{} has {} numbers; expected {}", what, all.size(), count));
  }
  return all;
}

SvmPoint point(const YamlValue& value, std::string_view what) {
  const std::vector<double> both = numbers(value, kSvmFeatures, what);
  return {both[0], both[1]};
}

class DispatcherReader {
 public:
  explicit DispatcherReader(const YamlValue& document) : document_(document) {}

  Dispatcher read() {
    const auto& keys = dispatcher_options();
    check_format();
    check_keys(document_, keys, "dispatcher");
    const YamlValue machine = value("machine");
    check_keys(machine, dispatcher_machine_options(), "machine");
    const auto& machine_keys = dispatcher_machine_options();
    result_.fabric = read_text(option_value(machine, machine_keys[0]), machine_keys[0]);
    result_.gpus_per_node =
        static_cast<int>(read_integer(option_value(machine, machine_keys[1]), machine_keys[1]));
    result_.cost_model = read_text(value("cost_model"), find_option(keys, "cost_model"));
    result_.experiment = read_text(value("experiment"), find_option(keys, "experiment"));
    result_.backends = read_texts(value("backends"), find_option(keys, "backends"));
    check_backends();
    result_.trials = static_cast<int>(read_integer(value("trials"), find_option(keys, "trials")));
    result_.sigma = read_real(value("sigma"), find_option(keys, "sigma"));
    result_.seed =
        static_cast<std::uint64_t>(read_integer(value("seed"), find_option(keys, "seed")));
    for (const YamlValue& item :
         read_items(value("collectives"), find_option(keys, "collectives"))) {
      read_collective(item);
    }
    if (!read_flag(value("complete"), find_option(keys, "complete"))) {
      throw UserError(value("complete").location(), "complete is false; expected true");
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] YamlValue value(std::string_view name) const {
    return option_value(document_, find_option(dispatcher_options(), name));
  }

  // Checked first, since files of another format may have other keys.
  void check_format() const {
    const YamlValue* format = document_.is_mapping() ? document_.find("format") : nullptr;
    if (format == nullptr) {
      throw UserError(document_.location(),
                      "this is no dispatcher: it has no format; expected a file that cclgym "
                      "tune-dispatch --svm wrote");
    }
    const std::int64_t found = read_integer(*format, dispatcher_options()[0]);
    if (found != kFormat) {
      throw UserError(format->location(),
                      fmt::format("format {} is not known; expected {}; train the dispatcher again",
                                  found, kFormat));
    }
  }

  void check_backends() const {
    std::set<std::string> seen;
    for (const std::string& backend : result_.backends) {
      if (!seen.insert(backend).second) {
        throw UserError(value("backends").location(),
                        fmt::format("backend {} occurs twice", quoted(backend)));
      }
    }
  }

  std::size_t backend(const YamlValue& item) const {
    const auto found = std::ranges::find(result_.backends, item.as_text());
    if (found == result_.backends.end()) {
      throw UserError(item.location(),
                      unknown_name_message("backend", item.as_text(), result_.backends));
    }
    return static_cast<std::size_t>(found - result_.backends.begin());
  }

  void read_collective(const YamlValue& item) {
    const auto& keys = dispatcher_collective_options();
    check_keys(item, keys, "collective");
    CollectiveDispatcher one;
    const YamlValue name = option_value(item, find_option(keys, "collective"));
    one.collective = collective_named(name.as_text(), name.location());
    if (!pccl_has(one.collective)) {
      throw UserError(name.location(),
                      fmt::format("collective {}; expected allgather, reducescatter or allreduce",
                                  quoted(name.as_text())));
    }
    if (result_.find(one.collective) != nullptr) {
      throw UserError(name.location(),
                      fmt::format("collective {} occurs twice", to_string(one.collective)));
    }
    one.cross_validation = read_real(option_value(item, find_option(keys, "cross_validation")),
                                     find_option(keys, "cross_validation"));
    one.svm = read_svm(option_value(item, find_option(keys, "svm")));
    std::set<std::pair<int, std::uint64_t>> places;
    for (const YamlValue& cell :
         read_items(option_value(item, find_option(keys, "grid")), find_option(keys, "grid"))) {
      one.cells.push_back(read_cell(cell));
      if (!places.insert({one.cells.back().gpus, one.cells.back().bytes}).second) {
        throw UserError(cell.location(), "a cell of this number of GPUs and size occurs twice");
      }
    }
    check_scores(item, one);
    result_.collectives.push_back(std::move(one));
  }

  // The stated scores must follow from the vectors and the grid.
  void check_scores(const YamlValue& item, const CollectiveDispatcher& one) const {
    const auto& keys = dispatcher_collective_options();
    const DispatcherScore real_score = dispatcher_scores(result_, one).front();
    const std::array stated{std::pair{"test_accuracy", real_score.accuracy},
                            std::pair{"regret", real_score.regret},
                            std::pair{"worst_regret", real_score.worst_regret}};
    for (const auto& entry : stated) {
      const YamlValue found = option_value(item, find_option(keys, entry.first));
      const double number = read_real(found, find_option(keys, entry.first));
      if (std::abs(number - entry.second) <= kTolerance * std::max(1.0, number)) continue;
      throw UserError(found.location(),
                      fmt::format("{} is {}, but the vectors and the grid give {}: the file was "
                                  "damaged or changed; train the dispatcher again",
                                  entry.first, number, format_double(entry.second)));
    }
  }

  SvmModel read_svm(const YamlValue& mapping) const {
    const auto& keys = dispatcher_svm_options();
    check_keys(mapping, keys, "svm");
    const auto of = [&](std::string_view key) {
      return option_value(mapping, find_option(keys, key));
    };
    SvmModel svm;
    svm.mean = point(of("mean"), "mean");
    svm.scale = point(of("scale"), "scale");
    svm.cost = read_real(of("C"), find_option(keys, "C"));
    svm.gamma = read_real(of("gamma"), find_option(keys, "gamma"));
    for (const YamlValue& name : of("classes").items()) {
      svm.classes.push_back(static_cast<int>(backend(name)));
    }
    const std::size_t classes = svm.classes.size();
    if (std::set<int>(svm.classes.begin(), svm.classes.end()).size() != classes) {
      throw UserError(of("classes").location(), "a class occurs twice");
    }
    svm.offsets =
        of("offsets").is_null()
            ? std::vector<double>{}
            : numbers(of("offsets"), classes * (classes - (classes > 0 ? 1 : 0)) / 2, "offsets");
    for (const double size : numbers(of("class_sizes"), classes, "class_sizes")) {
      if (size < 0 || size > 1e6 || size != std::floor(size)) {
        throw UserError(of("class_sizes").location(), "class_sizes has no whole numbers");
      }
      svm.class_sizes.push_back(static_cast<std::size_t>(size));
    }
    const YamlValue vectors = of("vectors");
    if (!vectors.is_null()) {
      for (const YamlValue& row : vectors.items()) {
        const std::vector<double> all =
            numbers(row, kSvmFeatures + classes - (classes > 0 ? 1 : 0), "a vector");
        svm.vectors.push_back({all[0], all[1]});
        svm.coefficients.emplace_back(all.begin() + kSvmFeatures, all.end());
      }
    }
    if (!is_consistent(svm)) {
      throw UserError(mapping.location(),
                      fmt::format("the svm has {} classes, {} vectors and {} offsets, which do not "
                                  "fit together: the file was damaged; train the dispatcher again",
                                  classes, svm.vectors.size(), svm.offsets.size()));
    }
    return svm;
  }

  DispatcherCell read_cell(const YamlValue& item) const {
    const auto& keys = dispatcher_cell_options();
    check_keys(item, keys, "cell");
    DispatcherCell cell;
    cell.gpus = static_cast<int>(read_integer(option_value(item, keys[0]), keys[0]));
    cell.bytes = read_bytes(option_value(item, keys[1]), keys[1]);
    cell.held_out = read_choice(option_value(item, keys[2]), keys[2]) == 1;
    const YamlValue times = option_value(item, keys[3]);
    cell.time_us = numbers(times, result_.backends.size(), "us");
    if (std::ranges::any_of(cell.time_us, [](double time) { return !(time > 0); })) {
      throw UserError(times.location(), "a time is not positive");
    }
    return cell;
  }

  const YamlValue& document_;
  Dispatcher result_;
};

std::string joined(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double one : values) texts.push_back(format_double(one));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}
std::string joined(const SvmPoint& values) {
  return joined(std::vector<double>{values[0], values[1]});
}

std::string svm_yaml(const Dispatcher& dispatcher, const SvmModel& svm) {
  std::vector<std::string> classes;
  for (const int label : svm.classes) {
    classes.push_back(yaml_scalar(dispatcher.backends[static_cast<std::size_t>(label)]));
  }
  std::string all = fmt::format(
      "    svm:\n      mean: {}\n      scale: {}\n      C: {}\n      gamma: {}\n"
      "      classes: [{}]\n      class_sizes: [{}]\n",
      joined(svm.mean), joined(svm.scale), format_double(svm.cost), format_double(svm.gamma),
      fmt::join(classes, ", "), fmt::join(svm.class_sizes, ", "));
  if (!svm.offsets.empty()) all += fmt::format("      offsets: {}\n", joined(svm.offsets));
  if (svm.vectors.empty()) return all;
  all += "      vectors:\n";
  for (std::size_t v = 0; v < svm.vectors.size(); ++v) {
    std::vector<double> row{svm.vectors[v][0], svm.vectors[v][1]};
    row.insert(row.end(), svm.coefficients[v].begin(), svm.coefficients[v].end());
    all += fmt::format("        - {}\n", joined(row));
  }
  return all;
}

}  // namespace

const std::vector<OptionSpec>& dispatcher_options() {
  static const std::vector<OptionSpec> options{
      whole("format", "version of this format: 1", 0, 1e6),
      part("machine", "the machine on which the sweep was simulated"),
      text("cost_model", "cost model of the sweep"),
      text("experiment", "name and hash of the sweep"),
      list(text("backends", "names of the tuners among which it chooses")),
      whole("trials", "number of noisy trials of a cell", 1, 1e6),
      real("sigma", "spread of a trial: simulated time times exp(sigma Z), Z normal", 0, 10),
      whole("seed", "seed of the trials and of the split", 0, 9e15),
      list(part("collectives", "the parts for the collectives")),
      {.name = "complete",
       .kind = OptionKind::Flag,
       .description = "true, as the last line: a file that was cut off has no such line",
       .required = true}};
  return options;
}

const std::vector<OptionSpec>& dispatcher_machine_options() {
  static const std::vector<OptionSpec> options{
      text("fabric", "name of the fabric, without options"),
      whole("gpus_per_node", "number of GPUs of a node", 1, 1024)};
  return options;
}

const std::vector<OptionSpec>& dispatcher_collective_options() {
  static const std::vector<OptionSpec> options{
      text("collective", "name of the collective"),
      real("test_accuracy", "fraction of held-out cells whose best backend it names", 0, 1),
      real("cross_validation", "accuracy of the 5-fold cross-validation on the training cells", 0,
           1),
      real("regret", "geometric mean over the held-out cells of its time over the best backend's",
           1, 1e300),
      real("worst_regret", "maximum of that", 1, 1e300),
      part("svm", "the support vector machine"),
      list(part("grid", "the cells, each with its mean times"))};
  return options;
}

const std::vector<OptionSpec>& dispatcher_svm_options() {
  static const std::vector<OptionSpec> options = [] {
    OptionSpec offsets =
        list(real("offsets", "constant term of each pair of classes", -1e300, 1e300));
    OptionSpec vectors = list(part("vectors",
                                   "support vectors by class: the two scaled features, "
                                   "and the coefficients against the other classes"));
    offsets.required = false;  // a machine with one class has neither
    vectors.required = false;
    return std::vector<OptionSpec>{
        list(real("mean", "means of log2 size and log2 GPUs", -1e300, 1e300)),
        list(real("scale", "factors by which the differences from the means are multiplied", -1e300,
                  1e300)),
        real("C", "cost of a misclassified cell in the training", 0, 1e300),
        real("gamma", "width of the kernel exp(-gamma |x - y|^2)", 0, 1e300),
        list(text("classes", "backends that are best somewhere on the training cells")),
        list(whole("class_sizes", "number of support vectors of each class", 0, 1e6)),
        offsets,
        vectors};
  }();
  return options;
}

const std::vector<OptionSpec>& dispatcher_cell_options() {
  static const std::vector<OptionSpec> options{
      whole("gpus", "number of GPUs", 1, 1e9),
      {.name = "size",
       .kind = OptionKind::Bytes,
       .description = "collective size",
       .min = 1,
       .required = true},
      {.name = "for",
       .kind = OptionKind::Choice,
       .description = "part of the split",
       .required = true,
       .choices = {"training", "test"}},
      list(real("us", "mean time of each backend, us", 0, 1e300))};
  return options;
}

std::string to_yaml(const Dispatcher& dispatcher, std::string_view comment) {
  std::string all;
  while (!comment.empty()) {
    const std::size_t end = std::min(comment.find('\n'), comment.size());
    all += fmt::format("# {}\n", comment.substr(0, end));
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
  std::vector<std::string> backends;
  for (const std::string& name : dispatcher.backends) backends.push_back(yaml_scalar(name));
  all += fmt::format(
      "format: {}\nmachine: {{fabric: {}, gpus_per_node: {}}}\ncost_model: {}\nexperiment: {}\n"
      "backends: [{}]\ntrials: {}\nsigma: {}\nseed: {}\ncollectives:\n",
      kFormat, yaml_scalar(dispatcher.fabric), dispatcher.gpus_per_node,
      yaml_scalar(dispatcher.cost_model), yaml_scalar(dispatcher.experiment),
      fmt::join(backends, ", "), dispatcher.trials, format_double(dispatcher.sigma),
      dispatcher.seed);
  for (const CollectiveDispatcher& one : dispatcher.collectives) {
    const DispatcherScore own = dispatcher_scores(dispatcher, one).front();
    all += fmt::format(
        "  - collective: {}\n    test_accuracy: {}\n    cross_validation: {}\n    regret: {}\n"
        "    worst_regret: {}\n",
        to_string(one.collective), format_double(own.accuracy), format_double(one.cross_validation),
        format_double(own.regret), format_double(own.worst_regret));
    all += svm_yaml(dispatcher, one.svm) + "    grid:\n";
    for (const DispatcherCell& cell : one.cells) {
      all += fmt::format("      - {{gpus: {}, size: {}, for: {}, us: {}}}\n", cell.gpus,
                         format_bytes(cell.bytes), cell.held_out ? "test" : "training",
                         joined(cell.time_us));
    }
  }
  all += "complete: true\n";
  return all;
}

Dispatcher parse_dispatcher(std::string_view text_of_file, const std::string& file_name) {
  const YamlValue document = parse_yaml(text_of_file, file_name);
  return DispatcherReader(document).read();
}

Dispatcher load_dispatcher(const std::string& path) {
  const YamlValue document = load_yaml_file(path);
  return DispatcherReader(document).read();
}

}  // namespace cclgym
