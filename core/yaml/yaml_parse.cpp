// The tree of a YAML document, built from yaml-cpp's parse events.
#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "core/yaml/yaml_node.hpp"
#include "core/yaml/yaml_text.hpp"

namespace cclgym {

namespace {

using Node = YamlValue::Node;
using NodePtr = std::shared_ptr<const Node>;

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file_name, const YamlLimits& limits)
      : file_(std::make_shared<const std::string>(file_name)), limits_(limits) {}

  [[nodiscard]] NodePtr root() const { return root_; }
  /// Start of the last scalar so far, or of its tag or anchor.
  [[nodiscard]] const YAML::Mark& last_scalar() const { return last_scalar_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document_seen_) {
      throw UserError(place(mark), "found a second document; expected only one in a file");
    }
    document_seen_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) throw UserError(place(mark), "found an empty key; expected 'key: value'");
    // yaml-cpp marks a missing value with the token after it, perhaps lines below: the key is a
    // better place.
    const bool has_key = !frames_.empty() && frames_.back().has_key;
    const YAML::Mark& where = has_key ? frames_.back().key_mark : mark;
    deliver(finish(start(YamlKind::Null, where, anchor), anchor), where);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || !found->second) {
      throw UserError(place(mark), "found an alias of a value inside that value itself");
    }
    if (wants_key()) {
      if (found->second->kind != YamlKind::Scalar) refuse_key(mark, found->second->kind);
      set_key(found->second->text, mark, false);
      return;
    }
    deliver(found->second, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    last_scalar_ = mark;
    const std::shared_ptr<Node> node = start(YamlKind::Scalar, mark, anchor);
    node->text = value;
    const NodePtr finished = finish(node, anchor);
    if (wants_key()) {
      const bool plain = tag == "?" || tag.empty();
      set_key(value, mark, plain && value == "<<");
    } else {
      deliver(finished, mark);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlKind::Sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlKind::Mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // An open sequence or mapping.
  struct Frame {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    YAML::Mark mark;
    bool has_key = false;  // a mapping has a key without its value
    bool merge = false;    // that key is `<<`
    std::string key;
    YAML::Mark key_mark;
    std::unordered_set<std::string> keys;  // keys so far
    std::vector<NodePtr> merged;           // mappings to merge in, first one wins
  };

  [[nodiscard]] SourceLocation place(const YAML::Mark& mark) const {
    // yaml-cpp counts from 0 and marks an unknown place with -1.
    if (mark.is_null()) return {*file_, 0, 0};
    return {*file_, static_cast<std::size_t>(mark.line) + 1,
            static_cast<std::size_t>(mark.column) + 1};
  }

  [[nodiscard]] bool wants_key() const {
    return !frames_.empty() && frames_.back().node->kind == YamlKind::Mapping &&
           !frames_.back().has_key;
  }

  [[noreturn]] void refuse_key(const YAML::Mark& mark, YamlKind kind) const {
    throw UserError(place(mark),
                    "found " + std::string(to_string(kind)) + " as a key; expected a name");
  }

  [[noreturn]] void refuse_size(const YAML::Mark& mark) const {
    throw UserError(place(mark), "found more than " + std::to_string(limits_.nodes) +
                                     " values, aliases counted as copies; expected fewer");
  }

  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    throw UserError(place(mark), "found values nested more than " + std::to_string(limits_.depth) +
                                     " deep; expected fewer levels");
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    // "?" and "!" are yaml-cpp's marks for plain and quoted scalars.
    constexpr std::string_view kYaml = "tag:yaml.org,2002:";
    const std::string_view name = tag;
    if (name.empty() || name == "?" || name == "!") return;
    if (name.starts_with(kYaml)) {
      const std::string_view core = name.substr(kYaml.size());
      for (const std::string_view known : {"str", "int", "float", "bool", "null", "seq", "map"}) {
        if (core == known) return;
      }
    }
    throw UserError(place(mark), "found the tag " + quoted(tag) + "; expected no tag");
  }

  std::shared_ptr<Node> start(YamlKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (++nodes_ > limits_.nodes) refuse_size(mark);
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->file = file_;
    const SourceLocation location = place(mark);
    node->line = location.line;
    node->column = location.column;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = nullptr;  // until it is complete
    return node;
  }

  NodePtr finish(std::shared_ptr<Node> node, YAML::anchor_t anchor) {
    NodePtr finished = std::move(node);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = finished;
    return finished;
  }

  void open(YamlKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (wants_key()) refuse_key(mark, kind);
    if (frames_.size() >= limits_.depth) refuse_depth(mark);
    Frame frame;
    frame.node = start(kind, mark, anchor);
    frame.anchor = anchor;
    frame.mark = mark;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const NodePtr& source : frame.merged) {
      for (const YamlEntry& entry : source->entries) {
        if (frame.keys.insert(entry.key).second) frame.node->entries.push_back(entry);
      }
    }
    deliver(finish(std::move(frame.node), frame.anchor), frame.mark);
  }

  void set_key(const std::string& key, const YAML::Mark& mark, bool merge) {
    Frame& frame = frames_.back();
    if (!merge && !frame.keys.insert(key).second) {
      const auto first = std::find_if(frame.node->entries.begin(), frame.node->entries.end(),
                                      [&](const YamlEntry& entry) { return entry.key == key; });
      throw UserError(place(mark), "found the key " + quoted(key) +
                                       " a second time; expected it once (first in line " +
                                       std::to_string(first->key_location.line) + ")");
    }
    frame.has_key = true;
    frame.merge = merge;
    frame.key = key;
    frame.key_mark = mark;
  }

  // Adds a complete value to its sequence or mapping.
  void deliver(const NodePtr& node, const YAML::Mark& mark) {
    if (frames_.empty()) {
      root_ = node;
      return;
    }
    Frame& frame = frames_.back();
    frame.node->expanded += node->expanded;
    if (frame.node->expanded > limits_.nodes) refuse_size(mark);
    frame.node->height = std::max(frame.node->height, node->height + 1);
    if (frames_.size() + node->height > limits_.depth + 1) refuse_depth(mark);
    if (frame.node->kind == YamlKind::Sequence) {
      frame.node->items.emplace_back(node);
      return;
    }
    frame.has_key = false;
    if (frame.merge) {
      merge(frame, node, mark);
    } else {
      frame.node->entries.push_back({std::move(frame.key), place(frame.key_mark), YamlValue(node)});
    }
  }

  void merge(Frame& frame, const NodePtr& node, const YAML::Mark& mark) const {
    if (node->kind == YamlKind::Mapping) {
      frame.merged.push_back(node);
      return;
    }
    bool good = node->kind == YamlKind::Sequence;
    for (const YamlValue& item : node->items) {
      good = good && item.is_mapping();
      frame.merged.push_back(item.node());
    }
    if (!good) {
      throw UserError(place(mark), "found " + std::string(to_string(node->kind)) +
                                       " under '<<'; expected a mapping or a list of mappings");
    }
  }

  std::shared_ptr<const std::string> file_;
  YamlLimits limits_;
  NodePtr root_;
  YAML::Mark last_scalar_ = YAML::Mark::null_mark();
  bool document_seen_ = false;
  std::size_t nodes_ = 0;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, NodePtr> anchors_;
};

// yaml-cpp accepts the end of the file as a closing quote. This can only affect the last scalar.
void refuse_unclosed_quote(std::string_view text, const YAML::Mark& last_scalar,
                           const std::string& file_name) {
  if (last_scalar.is_null()) return;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // yaml-cpp does not count it
  const std::size_t skipped = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  text.remove_prefix(skipped);
  auto begin = static_cast<std::size_t>(last_scalar.pos);
  if (!unclosed_quote(text, begin)) return;
  const std::string_view before = text.substr(0, begin);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = line == 0 ? 0 : before.rfind('\n') + 1;
  throw UserError({file_name, line + 1, begin - line_start + 1},
                  std::string("quote not closed; expected another ") + text[begin]);
}

// Messages of yaml-cpp about the structure, in the words of one who writes the file.
std::string plain_message(const std::string& message) {
  struct Plain {
    const char* of_parser;
    const char* ours;
  };
  constexpr std::array<Plain, 5> kPlain{{
      {"end of sequence not found", "wrong indentation: this line is in no column of its list"},
      {"end of map not found", "wrong indentation: this line is in no column of its mapping"},
      {"illegal map value",
       "found ':' where no value can begin: wrong indentation, or a text that "
       "needs quotes"},
      {"end of sequence flow not found", "a list that began with '[' is not closed; expected ']'"},
      {"end of map flow not found", "a mapping that began with '{' is not closed; expected '}'"},
  }};
  for (const Plain& plain : kPlain) {
    if (message == plain.of_parser) return plain.ours;
  }
  const std::string shown = quoted(message, 120);
  return shown.substr(1, shown.size() - 2);
}

}  // namespace

YamlValue parse_yaml(std::string_view text, const std::string& file_name,
                     const YamlLimits& limits) {
  check_yaml_text(text, file_name, limits);
  TreeBuilder builder(file_name, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    // The builder throws if there is a second document.
    parser.HandleNextDocument(builder);
  } catch (const UserError&) {
    throw;
  } catch (const YAML::Exception& error) {
    refuse_unclosed_quote(text, builder.last_scalar(), file_name);
    SourceLocation where{file_name, 0, 0};
    if (!error.mark.is_null()) {
      where.line = static_cast<std::size_t>(error.mark.line) + 1;
      where.column = static_cast<std::size_t>(error.mark.column) + 1;
    }
    throw UserError(where, "not valid YAML: " + plain_message(error.msg));
  } catch (const std::exception& error) {
    throw UserError({file_name, 0, 0}, "not valid YAML: " + std::string(error.what()));
  }
  refuse_unclosed_quote(text, builder.last_scalar(), file_name);
  const NodePtr root = builder.root();
  if (!root || root->kind == YamlKind::Null) {
    throw UserError({file_name, 0, 0}, "found nothing; expected a YAML document");
  }
  return YamlValue(root);
}

}  // namespace cclgym
