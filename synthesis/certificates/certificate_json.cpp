#include "synthesis/certificates/certificate_json.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/certificates/base64.hpp"

namespace cclgym::synthesis {

namespace {

using Json = nlohmann::ordered_json;

const std::array<std::string, 5> kClaimNames{"steps", "rounds per chunk",
                                             "rounds per chunk in steps", "no schedule", "reached"};
const std::array<std::string, 2> kCopyingNames{"per chunk", "per target"};

template <std::size_t Count>
std::size_t index_of(const std::array<std::string, Count>& names, const std::string& name,
                     const std::string& what) {
  for (std::size_t k = 0; k < Count; ++k) {
    if (names[k] == name) return k;
  }
  throw UserError(unknown_name_message(what, name, {names.begin(), names.end()}));
}

Rational rational_of(const Json& value) {
  const auto text = value.get<std::string>();
  const auto whole = [&](const char* first, const char* last) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(first, last, number);
    if (error != std::errc{} || end != last) {
      throw UserError(fmt::format("{} is no fraction of whole numbers", quoted(text)));
    }
    return number;
  };
  const char* const end = text.data() + text.size();
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return Rational(whole(text.data(), end));
  const std::int64_t denominator = whole(text.data() + slash + 1, end);
  if (denominator < 1) throw UserError(fmt::format("{} is no fraction", quoted(text)));
  return {whole(text.data(), text.data() + slash), denominator};
}

Json write(const DistanceEvidence& distance) {
  return {{"from", distance.source}, {"to", distance.target}};
}
void read(const Json& json, DistanceEvidence& distance) {
  json.at("from").get_to(distance.source);
  json.at("to").get_to(distance.target);
}

Json write(const CutEvidence& cut) {
  return {{"members", cut.members}, {"units", cut.units}, {"devices", cut.devices}};
}
void read(const Json& json, CutEvidence& cut) {
  json.at("members").get_to(cut.members);
  json.at("units").get_to(cut.units);
  json.at("devices").get_to(cut.devices);
}

Json write(const RankCutEvidence& cut) { return {{"ranks", cut.ranks}, {"limits", cut.limits}}; }
void read(const Json& json, RankCutEvidence& cut) {
  json.at("ranks").get_to(cut.ranks);
  json.at("limits").get_to(cut.limits);
}

Json write(const DualEvidence& dual) {
  Json values = Json::array();
  for (const auto& [row, value] : dual.duals) values.push_back({row, text_of(value)});
  return {{"program", dual.program_hash}, {"bound", text_of(dual.bound)}, {"duals", values}};
}
void read(const Json& json, DualEvidence& dual) {
  json.at("program").get_to(dual.program_hash);
  dual.bound = rational_of(json.at("bound"));
  for (const Json& value : json.at("duals")) {
    dual.duals.emplace_back(value.at(0).get<int>(), rational_of(value.at(1)));
  }
}

Json write(const RelaxationEvidence& relaxation) {
  return {{"copying", kCopyingNames.at(static_cast<std::size_t>(relaxation.copying))},
          {"dual", write(relaxation.dual)}};
}
void read(const Json& json, RelaxationEvidence& relaxation) {
  relaxation.copying = static_cast<Copying>(
      index_of(kCopyingNames, json.at("copying").get<std::string>(), "kind of copying"));
  read(json.at("dual"), relaxation.dual);
}

Json write(const LengthsEvidence& evidence) {
  Json lengths = Json::array();
  for (const NamedLength& one : evidence.lengths) {
    lengths.push_back({one.source, one.target, one.length});
  }
  return {{"lengths", lengths}};
}
void read(const Json& json, LengthsEvidence& evidence) {
  for (const Json& one : json.at("lengths")) {
    evidence.lengths.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>(),
                                one.at(2).get<std::int64_t>()});
  }
}

Json write(const SharesEvidence& shares) {
  Json cuts = Json::array();
  for (const NamedShareCut& cut : shares.cuts) {
    cuts.push_back({{"trees", cut.reduce ? "in" : "out"}, {"devices", cut.devices}});
  }
  return {{"cuts", cuts}, {"dual", write(shares.dual)}};
}
void read(const Json& json, SharesEvidence& shares) {
  for (const Json& cut : json.at("cuts")) {
    shares.cuts.push_back({.reduce = cut.at("trees").get<std::string>() == "in",
                           .devices = cut.at("devices").get<std::vector<std::string>>()});
  }
  read(json.at("dual"), shares.dual);
}

Json write(const RefutationEvidence& refutation) {
  return {{"formula", refutation.formula_hash}, {"proof", to_base64(refutation.proof)}};
}
void read(const Json& json, RefutationEvidence& refutation) {
  json.at("formula").get_to(refutation.formula_hash);
  refutation.proof = from_base64(json.at("proof").get<std::string>());
}

Json write(const ScheduleEvidence& schedule) {
  Json sends = Json::array();
  for (const RankSend& send : schedule.sends) {
    sends.push_back({send.step, send.chunk, send.source, send.target});
  }
  return {{"rounds", schedule.rounds}, {"step, chunk, from, to", sends}};
}
void read(const Json& json, ScheduleEvidence& schedule) {
  json.at("rounds").get_to(schedule.rounds);
  for (const Json& send : json.at("step, chunk, from, to")) {
    schedule.sends.push_back({send.at(0).get<int>(), send.at(1).get<int>(), send.at(2).get<int>(),
                              send.at(3).get<int>()});
  }
}

// An edge is a list of the source, the devices on the way, and the target.
Json write(const std::vector<NamedTree>& trees) {
  Json list = Json::array();
  for (const NamedTree& tree : trees) {
    Json edges = Json::array();
    for (const NamedTreeEdge& edge : tree.edges) {
      Json path = Json::array({edge.source});
      for (const std::string& device : edge.through) path.push_back(device);
      path.push_back(edge.target);
      edges.push_back(std::move(path));
    }
    list.push_back({{"root", tree.root}, {"count", tree.count}, {"edges", std::move(edges)}});
  }
  return list;
}
void read(const Json& json, std::vector<NamedTree>& trees) {
  for (const Json& item : json) {
    NamedTree& tree = trees.emplace_back();
    item.at("root").get_to(tree.root);
    item.at("count").get_to(tree.count);
    for (const Json& path : item.at("edges")) {
      if (path.size() < 2) throw UserError("an edge of a tree has no two ends");
      NamedTreeEdge& edge = tree.edges.emplace_back();
      path.at(0).get_to(edge.source);
      for (std::size_t k = 1; k + 1 < path.size(); ++k) {
        edge.through.push_back(path.at(k).get<std::string>());
      }
      path.at(path.size() - 1).get_to(edge.target);
    }
  }
}

Json write(const TreesEvidence& trees) {
  return {{"inward", write(trees.inward)}, {"outward", write(trees.outward)}};
}
void read(const Json& json, TreesEvidence& trees) {
  read(json.at("inward"), trees.inward);
  read(json.at("outward"), trees.outward);
}

// The kinds of evidence, empty, in the order of the variant.
template <std::size_t... Index>
std::vector<Evidence> empty_evidence(std::index_sequence<Index...> /*all*/) {
  return {Evidence(std::in_place_index<Index>)...};
}

Evidence evidence_of(const Json& json) {
  std::vector<std::string> names;
  const auto kind = json.at("kind").get<std::string>();
  for (Evidence evidence :
       empty_evidence(std::make_index_sequence<std::variant_size_v<Evidence>>{})) {
    names.push_back(evidence_name(evidence));
    if (names.back() != kind) continue;
    std::visit([&](auto& one) { read(json, one); }, evidence);
    return evidence;
  }
  throw UserError(unknown_name_message("kind of evidence", kind, names));
}

// Scalars of a list on as many lines as they need.
std::string filled_lines(const Json& list, const std::string& margin, std::size_t width) {
  std::string text;
  std::string line;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const std::string item = list[k].dump() + (k + 1 < list.size() ? "," : "");
    if (!line.empty() && margin.size() + line.size() + 1 + item.size() > width) {
      text += margin + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + item;
  }
  return text + margin + line + "\n";
}

}  // namespace

Json subject_json(const CertificateSubject& subject) {
  Json json;
  json["collective"] = to_string(subject.collective);
  json["root"] = subject.root;
  json["group"] = subject.group;
  return json;
}

Json claim_json(const Claim& claim) {
  return {{"kind", kClaimNames.at(static_cast<std::size_t>(claim.kind))},
          {"chunks", claim.chunks},
          {"steps", claim.steps},
          {"rounds", text_of(claim.rounds)},
          {"link unit B/s", claim.unit_Bps}};
}

Json evidence_json(const Evidence& evidence) {
  Json json;
  json["kind"] = evidence_name(evidence);
  json.update(std::visit([](const auto& one) { return write(one); }, evidence));
  return json;
}

Certificate certificate_of_json(const Json& subject, const Json& claim, const Json& evidence) {
  Certificate certificate;
  certificate.subject.collective =
      collective_named(subject.at("collective").get<std::string>(), SourceLocation{});
  subject.at("root").get_to(certificate.subject.root);
  subject.at("group").get_to(certificate.subject.group);
  certificate.claim.kind = static_cast<ClaimKind>(
      index_of(kClaimNames, claim.at("kind").get<std::string>(), "kind of claim"));
  claim.at("chunks").get_to(certificate.claim.chunks);
  claim.at("steps").get_to(certificate.claim.steps);
  certificate.claim.rounds = rational_of(claim.at("rounds"));
  claim.at("link unit B/s").get_to(certificate.claim.unit_Bps);
  certificate.evidence = evidence_of(evidence);
  return certificate;
}

std::string readable_json(const Json& value, int indent) {
  constexpr std::size_t kWidth = 100;
  if (!value.is_structured() || value.empty()) return value.dump();
  const std::string margin(at(indent) + 2, ' ');
  bool scalars = value.is_array();
  for (const Json& item : value) scalars = scalars && !item.is_structured();
  if (value.is_array() || indent > 0) {
    if (const std::string line = value.dump(); margin.size() + line.size() <= kWidth) return line;
  }
  std::string text;
  if (scalars) {
    text = filled_lines(value, margin, kWidth);
  } else {
    std::size_t left = value.size();
    for (const auto& [key, item] : value.items()) {
      text += margin;
      if (value.is_object()) text += Json(key).dump() + ": ";
      text += readable_json(item, indent + 2) + (--left > 0 ? ",\n" : "\n");
    }
  }
  const std::string closing = std::string(at(indent), ' ');
  return value.is_array() ? "[\n" + text + closing + "]" : "{\n" + text + closing + "}";
}

}  // namespace cclgym::synthesis
