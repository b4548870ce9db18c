#include "experiments/schedules/synthesis_folder.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <system_error>

#include "core/error.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"
#include "core/split.hpp"
#include "core/version.hpp"
#include "experiments/run/run_folder.hpp"
#include "synthesis/certificates/certificate_file.hpp"

namespace cclgym {

namespace fs = std::filesystem;

namespace {

using synthesis::DecidedTriple;

constexpr std::string_view kMark = "synthesis.txt";
constexpr std::string_view kMarkBegins = "cclgym synthesize ";
constexpr std::string_view kHashLine = "hash ";
constexpr std::size_t kLargestMark = std::size_t{256} << 20U;
constexpr std::size_t kLargestProof = std::size_t{64} << 20U;

// Files that look complete, so that they go first and come last.
const std::vector<std::string>& made_last() {
  static const std::vector<std::string> names{"report.html", "dispatch.yaml", "sweep/report.html"};
  return names;
}

// "found allgather 6 3 7 rounds 2,2,3 sends 0:0:1,0:3:4": send STEP:CHUNK:HOP.
std::string line_of(const DecidedTriple& one) {
  std::string line =
      fmt::format("{} {} {} {} {}", one.found ? "found" : "refuted", to_string(one.collective),
                  one.triple.chunks, one.triple.steps, one.triple.rounds);
  if (!one.found) return line;
  line += fmt::format(" rounds {} sends", fmt::join(one.schedule.rounds, ","));
  char before = ' ';
  for (const synthesis::StepSend& send : one.schedule.sends) {
    line += fmt::format("{}{}:{}:{}", before, send.step, send.chunk, send.hop);
    before = ',';
  }
  return line;
}

int number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) throw UserError("not a number");
  return value;
}

// Reads what line_of() wrote. Throws UserError without a place for anything else.
DecidedTriple decided_in(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  DecidedTriple one{.found = words.front() == "found"};
  if (words.size() != (one.found ? 9U : 5U)) throw UserError("not an answer of a search");
  const auto collective = parse_collective(words[1]);
  if (!collective) throw UserError("an unknown collective");
  one.collective = *collective;
  one.triple = {number_in(words[2]), number_in(words[3]), number_in(words[4])};
  if (!one.found) return one;
  for (const std::string_view rounds : split(words[6], ',')) {
    one.schedule.rounds.push_back(number_in(rounds));
  }
  for (const std::string_view send : split(words[8], ',')) {
    const std::vector<std::string_view> parts = split(send, ':');
    if (parts.size() != 3) throw UserError("not a send");
    one.schedule.sends.push_back({number_in(parts[0]), number_in(parts[1]), number_in(parts[2])});
  }
  return one;
}

// True for names that stay in the folder, whatever somebody has written into synthesis.txt.
bool is_inside(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

}  // namespace

std::string SynthesisInput::hash(const Fabric& fabric) const {
  TextHash hash;
  hash.add(program_version());
  hash.add(fabric.canonical_text());
  hash.add(to_string(collective));
  hash.add(fmt::format("{} {}", root, fmt::join(group, ",")));
  return hash.hex();
}

SynthesisFolder::SynthesisFolder(std::string folder, const std::string& input_hash)
    : folder_(std::move(folder)), input_hash_(input_hash) {
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error)) {
    throw UserError(quoted(folder_, 200) + " is a file; expected a folder");
  }
  refuse_foreign_files(folder_, {.writer = "cclgym synthesize",
                                 .mark = std::string(kMark),
                                 .mark_begins = std::string(kMarkBegins),
                                 .others = {"report.html", "dispatch.yaml", "sweep.yaml", "sweep",
                                            "programs", "certificates"}});
  const std::string file = path(std::string(kMark));
  if (!is_there(file)) return;
  const std::string text = read_text_file(file, kLargestMark);
  try {
    read(text);
  } catch (const UserError& problem) {
    throw UserError(
        fmt::format("{}: damaged ({}); choose another folder, or delete this one and search anew",
                    file, problem.what()));
  }
}

void SynthesisFolder::read(const std::string& text) {
  const std::size_t end = text.rfind(kHashLine);
  if (end == std::string::npos || end == 0 || text[end - 1] != '\n' ||
      text.substr(end) != fmt::format("{}{}\n", kHashLine,
                                      hex_digits(fnv1a(std::string_view(text).substr(0, end))))) {
    throw UserError("its hash is not that of its text");
  }
  std::string_view lines = std::string_view(text).substr(0, end - 1);
  std::string input;
  for (const std::string_view line : split(lines, '\n')) {
    constexpr std::string_view kInput = "input ";
    constexpr std::string_view kFile = "file ";
    if (line.starts_with(kMarkBegins)) continue;
    if (line.starts_with(kInput)) {
      input = line.substr(kInput.size());
    } else if (line.starts_with(kFile)) {
      files_.emplace_back(line.substr(kFile.size()));
      if (!is_inside(files_.back())) throw UserError("a file outside of the folder");
    } else {
      memory_.decided.push_back(decided_in(line));
    }
  }
  before_ = input == input_hash_ ? Before::Same : Before::Different;
  if (before_ == Before::Different) memory_.decided.clear();
}

void SynthesisFolder::save() const {
  std::string text = fmt::format("{}{}\ninput {}\n", kMarkBegins, program_version(), input_hash_);
  for (const std::string& name : files_) text += fmt::format("file {}\n", name);
  for (const DecidedTriple& one : memory_.decided) text += line_of(one) + "\n";
  text += fmt::format("{}{}\n", kHashLine, hex_digits(fnv1a(text)));
  write_text_file(path(std::string(kMark)), text);
}

void SynthesisFolder::remove(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    std::error_code error;
    fs::remove(path(name), error);
    if (error) {
      throw UserError(
          fmt::format("{}: cannot be removed: {}", quoted(path(name), 200), error.message()));
    }
    // A folder that is empty now, and only then.
    std::error_code ignored;
    const std::string parent = fs::path(path(name)).parent_path().string();
    if (parent != folder_) fs::remove(parent, ignored);
  }
}

std::vector<synthesis::Certificate> SynthesisFolder::proofs() const {
  std::vector<synthesis::Certificate> proofs;
  if (before_ != Before::Same) return proofs;
  for (const std::string& name : files_) {
    if (!name.starts_with("certificates/") || name.find("-rup-") == std::string::npos) continue;
    try {
      const std::string file = path(name);
      proofs.push_back(
          synthesis::read_certificate(read_text_file(file, kLargestProof), file).certificate);
    } catch (const UserError&) {
      continue;  // proven again
    }
  }
  return proofs;
}

void SynthesisFolder::begin() {
  make_folder(folder_);
  if (before_ == Before::Different) {
    remove(files_);
    files_.clear();
  } else {
    std::vector<std::string> last;
    for (const std::string& name : made_last()) {
      if (std::find(files_.begin(), files_.end(), name) != files_.end()) last.push_back(name);
    }
    remove(last);
  }
  save();
  memory_.on_added = [this] { save(); };
}

void SynthesisFolder::announce(const std::vector<std::string>& files) {
  const std::set<std::string> own(files_.begin(), files_.end());
  for (const std::string& name : files) {
    if (own.contains(name) || !is_there(path(name))) continue;
    throw UserError(fmt::format(
        "{}: not written by cclgym synthesize, which would write over it; choose another folder",
        quoted(path(name), 200)));
  }
  std::vector<std::string> stale;
  for (const std::string& name : files_) {
    if (std::find(files.begin(), files.end(), name) == files.end()) stale.push_back(name);
  }
  // Until the old files are gone, they are listed too.
  files_ = files;
  files_.insert(files_.end(), stale.begin(), stale.end());
  save();
  remove(stale);
  files_ = files;
  save();
}

}  // namespace cclgym
