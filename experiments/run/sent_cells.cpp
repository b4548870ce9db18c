#include "experiments/run/sent_cells.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "core/files/text_file.hpp"
#include "core/tasks/wire.hpp"
#include "experiments/run/cell_runner.hpp"
#include "experiments/sweep/load_experiment.hpp"

namespace cclgym {

namespace {

namespace fs = std::filesystem;

class ScratchFolder {
 public:
  ScratchFolder() : path_((fs::temp_directory_path() / "cclgym-cells-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), path_);
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    const fs::path file = fs::path(path_) / name;
    fs::create_directories(file.parent_path());
    write_text_file(file.string(), text);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string text_of(std::string_view& bytes) {
  std::optional<std::string> text = get_text(bytes);
  if (!text) throw std::runtime_error("an experiment that was sent is incomplete");
  return std::move(*text);
}

// State of a worker process: the experiment of the round.
class SentCells {
 public:
  std::string run(std::size_t cell, std::string_view common) {
    if (common != common_) {
      runner_.reset();
      load(common);
      runner_ = std::make_unique<CellRunner>(*experiment_);
      common_ = common;
    }
    return to_csv(runner_->run(cell));
  }

 private:
  void load(std::string_view bytes) {
    const std::string text = text_of(bytes);
    const std::string hash = text_of(bytes);
    const ScratchFolder folder;
    while (!bytes.empty()) {
      const std::string name = text_of(bytes);
      folder.write(name, text_of(bytes));
    }
    experiment_ = std::make_unique<Experiment>(parse_experiment(text, folder.file("sent.yaml")));
    if (experiment_->hash() != hash) {
      throw std::runtime_error("an experiment that was sent is not the same here");
    }
  }

  std::string common_;
  std::unique_ptr<const Experiment> experiment_;
  std::unique_ptr<CellRunner> runner_;
};

}  // namespace

std::string sent_experiment(const SentExperiment& experiment) {
  std::string bytes;
  put_text(bytes, experiment.text);
  put_text(bytes, experiment.hash);
  for (const auto& [name, text] : experiment.files) {
    put_text(bytes, name);
    put_text(bytes, text);
  }
  return bytes;
}

Task sent_cells_task() {
  return [cells = std::make_shared<SentCells>()](std::size_t index, const TaskInput& input) {
    return cells->run(index, input.common);
  };
}

}  // namespace cclgym
