// Option records bound to the struct members that hold their values: code that reads, writes,
// hashes, documents or overrides the options of a struct loops over its fields.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "core/options/option.hpp"

namespace cclgym {

namespace field_detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class Member>
std::optional<OptionValue> value_of(const Member& member, OptionKind kind) {
  if constexpr (kIsOptional<Member>) {
    if (!member) return std::nullopt;
    return value_of(*member, kind);
  } else if constexpr (std::is_same_v<Member, std::string>) {
    return member;
  } else {
    switch (kind) {
      case OptionKind::Flag:
        return static_cast<bool>(member);
      case OptionKind::Integer:
        return static_cast<std::int64_t>(member);
      case OptionKind::Bytes:
      case OptionKind::Choice:
        return static_cast<std::uint64_t>(member);
      default:
        return static_cast<double>(member);
    }
  }
}

// Options have been checked against their ranges; values that came from another process have not,
// and a conversion of a number that does not fit is undefined.
template <class Member, class Number>
void require_fit(Number number) {
  if constexpr (std::is_integral_v<Member> && !std::is_same_v<Member, bool> &&
                !std::is_same_v<Number, bool>) {
    bool fits = false;
    if constexpr (std::is_floating_point_v<Number>) {
      // The upper limit itself may be rounded up to a number that does not fit.
      fits = number >= static_cast<Number>(std::numeric_limits<Member>::min()) &&
             number < static_cast<Number>(std::numeric_limits<Member>::max());
    } else {
      fits = std::in_range<Member>(number);
    }
    if (!fits) throw std::range_error("a number is out of the range of its option");
  }
}

template <class Member>
void assign(Member& member, const OptionValue& value) {
  if constexpr (kIsOptional<Member>) {
    typename Member::value_type inner{};
    assign(inner, value);
    member = inner;
  } else if constexpr (std::is_same_v<Member, std::string>) {
    member = std::get<std::string>(value);
  } else {
    std::visit(
        [&member](const auto& one) {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>) {
            throw std::logic_error("a text is not a number: " + one);
          } else {
            require_fit<Member>(one);
            member = static_cast<Member>(one);
          }
        },
        value);
  }
}

}  // namespace field_detail

/// An option of a struct `Record`: its record, and the member that holds its value.
template <class Record>
class Field {
 public:
  /// `member` is a pointer to a member, or a function that returns a reference to it (generic in
  /// the constness of its argument). The member is a bool, a number, an enumeration whose
  /// enumerators are in the order of the choices, a string, or an optional of one of these.
  template <class Member>
  Field(OptionSpec spec, Member member)
      : spec_(std::move(spec)),
        get_([member, kind = spec_.kind](const Record& record) {
          return field_detail::value_of(std::invoke(member, record), kind);
        }),
        set_([member](Record& record, const OptionValue& value) {
          field_detail::assign(std::invoke(member, record), value);
        }) {}

  [[nodiscard]] const OptionSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& key() const { return spec_.name; }
  /// The member's value; nullopt if it is an optional without one.
  [[nodiscard]] std::optional<OptionValue> get(const Record& record) const { return get_(record); }
  void set(Record& record, const OptionValue& value) const { set_(record, value); }

 private:
  OptionSpec spec_;
  std::function<std::optional<OptionValue>(const Record&)> get_;
  std::function<void(Record&, const OptionValue&)> set_;
};

}  // namespace cclgym
