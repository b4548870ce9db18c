#include "agents/training/checkpoint.hpp"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <system_error>
#include <unistd.h>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kMagic = "CCLGYMCK";
constexpr std::uint32_t kVersion = 2;
// Version 1 has the processor time after the iteration, and no replay memory.
constexpr std::uint32_t kVersionWithTime = 1;
constexpr std::size_t kHeaderBytes = 8 + 4 + 8;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kLargestFile = std::size_t{1} << 30;

class Writer {
 public:
  template <class Number>
  void number(Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
    }
  }
  void text(const std::string& value) {
    number<std::uint64_t>(value.size());
    bytes_ += value;
  }
  void floats(const std::vector<float>& values) {
    number<std::uint64_t>(values.size());
    for (const float value : values) number(std::bit_cast<std::uint32_t>(value));
  }
  void sizes(const std::vector<std::size_t>& values) {
    number<std::uint64_t>(values.size());
    for (const std::size_t value : values) number<std::uint64_t>(value);
  }
  void texts(const std::vector<std::string>& values) {
    number<std::uint64_t>(values.size());
    for (const std::string& value : values) text(value);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads the file; checks every length against the remaining bytes.
class CheckpointReader {
 public:
  CheckpointReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(quoted(file_, 200) + ": " + message);
  }
  template <class Number>
  Number number() {
    need(sizeof(Number));
    Number value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      const auto byte = static_cast<Number>(static_cast<unsigned char>(bytes_[i]));
      value = static_cast<Number>(value | static_cast<Number>(byte << (8 * i)));
    }
    bytes_.remove_prefix(sizeof(Number));
    return value;
  }
  std::size_t count(std::size_t each_bytes) {
    const auto n = number<std::uint64_t>();
    if (n > bytes_.size() / each_bytes) {
      fail(fmt::format("damaged: a list of {} items in {} bytes", n, bytes_.size()));
    }
    return static_cast<std::size_t>(n);
  }
  std::string text() {
    const std::size_t n = count(1);
    std::string value(bytes_.substr(0, n));
    bytes_.remove_prefix(n);
    return value;
  }
  std::vector<float> floats() {
    std::vector<float> values(count(sizeof(float)));
    for (float& value : values) value = std::bit_cast<float>(number<std::uint32_t>());
    return values;
  }
  std::vector<std::size_t> sizes() {
    std::vector<std::size_t> values(count(8));
    for (std::size_t& value : values) {
      value = static_cast<std::size_t>(number<std::uint64_t>());
      // No layer has more units, and products of smaller sizes cannot overflow.
      if (value > (1U << 20U)) fail(fmt::format("damaged: a layer of {} units", value));
    }
    return values;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count(8));
    for (std::string& value : values) value = text();
    return values;
  }
  void end() const {
    if (!bytes_.empty()) fail(fmt::format("damaged: {} bytes too many", bytes_.size()));
  }

 private:
  void need(std::size_t n) const {
    if (bytes_.size() < n) fail("cut off");
  }
  std::string_view bytes_;
  const std::string& file_;
};

void write_weights(const PolicyWeights& weights, Writer& out) {
  const PolicyShape& shape = weights.shape;
  out.sizes({shape.observations, shape.lstm, shape.head, shape.value});
  out.sizes(shape.encoder);
  out.sizes(shape.levels);
  out.texts(weights.features);
  out.floats(weights.input_shift);
  out.floats(weights.input_scale);
  out.floats({weights.input_limit});
  for (const PolicyTensor& tensor : weights.tensors) out.floats(tensor.values);
  out.text(weights.environment);
  out.text(weights.action_profile);
  out.number<std::uint64_t>(weights.knobs.size());
  for (const PolicyKnob& knob : weights.knobs) {
    out.text(knob.name);
    out.texts(knob.levels);
  }
  out.text(weights.provenance);
}

PolicyWeights read_weights(CheckpointReader& in) {
  PolicyWeights weights;
  const std::vector<std::size_t> sizes = in.sizes();
  if (sizes.size() != 4) in.fail("damaged: sizes of the network are missing");
  weights.shape.observations = sizes[0];
  weights.shape.lstm = sizes[1];
  weights.shape.head = sizes[2];
  weights.shape.value = sizes[3];
  weights.shape.encoder = in.sizes();
  weights.shape.levels = in.sizes();
  constexpr std::size_t kMostLayers = 64;
  if (weights.shape.encoder.empty() || weights.shape.encoder.size() > kMostLayers ||
      weights.shape.levels.size() > kMostLayers) {
    in.fail("damaged: the network has no layers or too many");
  }
  weights.features = in.texts();
  weights.input_shift = in.floats();
  weights.input_scale = in.floats();
  const std::vector<float> limit = in.floats();
  if (limit.size() != 1) in.fail("damaged: the network's input limit is missing");
  weights.input_limit = limit[0];
  weights.tensors = policy_tensors(weights.shape);
  for (PolicyTensor& tensor : weights.tensors) tensor.values = in.floats();
  weights.environment = in.text();
  weights.action_profile = in.text();
  weights.knobs.resize(in.count(16));
  for (PolicyKnob& knob : weights.knobs) {
    knob.name = in.text();
    knob.levels = in.texts();
  }
  weights.provenance = in.text();
  if (const std::string fault = policy_weights_fault(weights); !fault.empty()) in.fail(fault);
  return weights;
}

std::vector<std::vector<float>> read_moments(const PolicyWeights& weights, CheckpointReader& in) {
  std::vector<std::vector<float>> moments;
  for (const PolicyTensor& tensor : weights.tensors) {
    moments.push_back(in.floats());
    if (moments.back().size() != tensor.values.size()) {
      in.fail("damaged: moments of '" + tensor.name + "' do not match its size");
    }
    for (const float value : moments.back()) {
      if (!std::isfinite(value)) {
        in.fail("moments of '" + tensor.name + "' have a number that is not finite");
      }
    }
  }
  return moments;
}

}  // namespace

std::string seed_folder(const std::string& folder, std::uint64_t seed) {
  return fmt::format("{}/seed-{}", folder, seed);
}

std::string checkpoint_path(const std::string& folder, std::uint64_t seed) {
  return seed_folder(folder, seed) + "/checkpoint.bin";
}

std::string write_checkpoint(const Checkpoint& checkpoint) {
  Writer contents;
  contents.text(checkpoint.config_hash);
  contents.number(checkpoint.seed);
  contents.number(checkpoint.iteration);
  write_weights(checkpoint.weights, contents);
  contents.number(checkpoint.adam.steps);
  for (const auto& moments : checkpoint.adam.mean) contents.floats(moments);
  for (const auto& moments : checkpoint.adam.square) contents.floats(moments);
  contents.text(checkpoint.replay);
  Writer header;
  header.number(kVersion);
  header.number<std::uint64_t>(contents.bytes().size());
  Writer sum;
  sum.number(fnv1a(contents.bytes()));
  return std::string(kMagic) + header.bytes() + contents.bytes() + sum.bytes();
}

Checkpoint read_checkpoint(std::string_view bytes, const std::string& file) {
  CheckpointReader whole(bytes, file);
  if (!bytes.starts_with(kMagic)) whole.fail("not a checkpoint");
  if (bytes.size() < kHeaderBytes) whole.fail("cut off");
  CheckpointReader header(bytes.substr(kMagic.size()), file);
  const auto version = header.number<std::uint32_t>();
  if (version != kVersion && version != kVersionWithTime) {
    whole.fail(fmt::format("a checkpoint of version {}; expected {} or {}", version,
                           kVersionWithTime, kVersion));
  }
  const auto length = header.number<std::uint64_t>();
  if (bytes.size() - kHeaderBytes < kChecksumBytes ||
      length > bytes.size() - kHeaderBytes - kChecksumBytes) {
    whole.fail(fmt::format("cut off: has {} bytes, expected {} more than {}", bytes.size(), length,
                           kHeaderBytes + kChecksumBytes));
  }
  const std::string_view contents = bytes.substr(kHeaderBytes, static_cast<std::size_t>(length));
  CheckpointReader sum(bytes.substr(kHeaderBytes + contents.size()), file);
  if (sum.number<std::uint64_t>() != fnv1a(contents)) {
    whole.fail("damaged: its checksum does not match");
  }
  sum.end();
  CheckpointReader in(contents, file);
  Checkpoint checkpoint;
  checkpoint.config_hash = in.text();
  checkpoint.seed = in.number<std::uint64_t>();
  checkpoint.iteration = in.number<std::uint64_t>();
  if (version == kVersionWithTime) (void)in.number<std::uint64_t>();
  checkpoint.weights = read_weights(in);
  checkpoint.adam.steps = in.number<std::uint64_t>();
  checkpoint.adam.mean = read_moments(checkpoint.weights, in);
  checkpoint.adam.square = read_moments(checkpoint.weights, in);
  if (version != kVersionWithTime) checkpoint.replay = in.text();
  in.end();
  return checkpoint;
}

void save_checkpoint(const Checkpoint& checkpoint, const std::string& path) {
  save_checkpoint_bytes(write_checkpoint(checkpoint), path);
}

void save_checkpoint_bytes(std::string_view bytes, const std::string& path) {
  const std::string partial = path + ".partial";
  const auto fail = [&](int error) {
    ::unlink(partial.c_str());
    throw UserError(quoted(path, 200) +
                    ": cannot be written: " + std::generic_category().message(error));
  };
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(errno);
  int error = 0;
  for (std::size_t done = 0; error == 0 && done < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(partial.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) fail(error);
  // A rename is durable only after its folder is synchronised.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (directory >= 0) {
    (void)::fsync(directory);
    (void)::close(directory);
  }
}

std::string load_checkpoint_bytes(const std::string& path) {
  return read_text_file(path, kLargestFile);
}

Checkpoint load_checkpoint(const std::string& path) {
  return read_checkpoint(load_checkpoint_bytes(path), path);
}

}  // namespace cclgym
