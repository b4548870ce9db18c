#include "workloads/readers/traces/trace_reader.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <zlib.h>

#include "core/files/text_file.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// Bytes that zlib gets or gives at once.
constexpr std::size_t kInflatePiece = std::size_t{1} << 16;

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

struct Inflater {
  z_stream stream{};
  Inflater() {
    // 16: a gzip header is expected.
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw UserError("zlib has no memory");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream); }
};

}  // namespace

std::string read_trace_file(const std::string& path) {
  std::string bytes = read_text_file(path, kMostTraceBytes);
  return is_gzip(bytes) ? gunzip(bytes, path, kMostTraceBytes) : bytes;
}

std::string gunzip(std::string_view bytes, const std::string& file, std::size_t max_bytes) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::string text;
  std::string piece(kInflatePiece, '\0');
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t size = std::min(bytes.size(), kInflatePiece);
      // zlib does not write to its input, but its interface predates const.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(size);
      bytes.remove_prefix(size);
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const bool last = stream.avail_in == 0;
    status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      throw UserError(SourceLocation{.file = file},
                      last ? "the gzip file is truncated" : "the gzip file is damaged");
    }
    text.append(piece, 0, piece.size() - stream.avail_out);
    if (text.size() > max_bytes) {
      throw UserError(
          SourceLocation{.file = file},
          fmt::format("it has more than {} after decompression", format_bytes(max_bytes)));
    }
  }
  return text;
}

std::optional<std::vector<std::int32_t>> parse_rank_list(std::string_view text) {
  const auto skip = [&text](std::string_view characters) {
    text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
  };
  skip(" ");
  if (text.empty() || text.front() != '[') return std::nullopt;
  text.remove_prefix(1);
  std::vector<std::int32_t> ranks;
  skip(" ");
  while (!text.empty() && text.front() != ']') {
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc{} || rank < 0) return std::nullopt;
    ranks.push_back(rank);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    skip(" ");
    if (!text.empty() && text.front() == ',') {
      text.remove_prefix(1);
      skip(" ");
    } else if (!text.empty() && text.front() != ']') {
      return std::nullopt;
    }
  }
  if (text != "]") return std::nullopt;
  return ranks;
}

std::int32_t TextTable::index(std::string_view text) {
  const auto [place, added] =
      index_.try_emplace(std::string(text), static_cast<std::int32_t>(texts_.size()));
  if (added) texts_.emplace_back(text);
  return place->second;
}

std::vector<std::string> TextTable::take() {
  index_.clear();
  return std::exchange(texts_, {});
}

std::int32_t TraceGroups::communicator(std::int32_t rank, std::string_view name,
                                       const std::vector<std::int32_t>& ranks) {
  const auto [communicator, named] = communicators_.try_emplace(
      std::string(name), static_cast<std::int32_t>(job_.communicators.size()));
  if (named) job_.communicators.push_back({.name = std::string(name)});
  const auto [group, added] = groups_.try_emplace({communicator->second, ranks},
                                                  static_cast<std::int32_t>(job_.groups.size()));
  if (added) job_.groups.push_back({.communicator = communicator->second, .ranks = ranks});
  std::vector<std::int32_t>& own = job_.groups_of[at(rank)];
  const auto known = std::find(own.begin(), own.end(), group->second);
  if (known != own.end()) return static_cast<std::int32_t>(known - own.begin());
  own.push_back(group->second);
  return static_cast<std::int32_t>(own.size()) - 1;
}

}  // namespace cclgym
