#include "core/units.hpp"

#include <clocale>
#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

using namespace cclgym;

TEST_CASE("bytes", "[core][units]") {
  CHECK(parse_bytes("64KiB") == 65536);
  CHECK(parse_bytes("1 MB") == 1'000'000);
  CHECK(parse_bytes("128 B") == 128);
  CHECK(parse_bytes("  2GiB ") == 2147483648U);
  CHECK(parse_bytes("1TiB") == 1099511627776U);
  CHECK(parse_bytes("3 kB") == 3000);
  CHECK(parse_bytes("0B") == 0);
  CHECK(parse_bytes("+7 B") == 7);
  CHECK(parse_bytes("1.5KiB") == 1536);
  CHECK(parse_bytes("0.29 KB") == 290);  // 0.29 * 1000 is not an integer in doubles
  CHECK(parse_bytes("0.0009765625 MiB") == 1024);
  CHECK(parse_bytes("1.000 B") == 1);
  CHECK(parse_bytes("1e6 B") == 1'000'000);
  CHECK(parse_bytes("18446744073709551615 B") == 18446744073709551615U);
  CHECK(parse_bytes("18.446744073709551615e18 B") == 18446744073709551615U);
  // This number is not exactly representable as a double.
  CHECK(parse_bytes("9007199254740993 B") == 9007199254740993U);
}

TEST_CASE("times and rates are correctly rounded", "[core][units]") {
  CHECK(parse_time_s("1.5us") == 1.5e-6);
  CHECK(parse_time_s("0.7 \u00b5s") == 0.7e-6);
  CHECK(parse_time_s("0.7 \u03bcs") == 0.7e-6);
  CHECK(parse_time_s("3 ns") == 3e-9);
  CHECK(parse_time_s("2ms") == 2e-3);
  CHECK(parse_time_s("1 s") == 1);
  CHECK(parse_time_s(".5 s") == 0.5);
  CHECK(parse_time_s("1e-6 s") == 1e-6);
  CHECK(parse_time_s("1e-999 s") == 0);
  CHECK(parse_time_s("0 s") == 0);
  CHECK(parse_rate_Bps("25 GB/s") == 25e9);
  CHECK(parse_rate_Bps("200 Gb/s") == 25e9);
  CHECK(parse_rate_Bps("1 GiB/s") == 1073741824.0);
  CHECK(parse_rate_Bps("12.5MB/s") == 12.5e6);
  CHECK(parse_rate_Bps("8 b/s") == 1);
  CHECK(parse_rate_Bps("0.1 TB/s") == 0.1e12);
}

TEST_CASE("numbers and flags", "[core][units]") {
  CHECK(parse_integer("-3") == -3);
  CHECK(parse_integer(" 12 ") == 12);
  CHECK(parse_integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_real("0.92") == 0.92);
  CHECK(parse_real("-1e-6") == -1e-6);
  CHECK(parse_flag("true"));
  CHECK_FALSE(parse_flag("false"));
}

TEST_CASE("sizes as nccl-tests takes them, and in any letter case", "[core][units]") {
  CHECK(parse_bytes("1048576") == 1048576);
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("8K") == 8192);
  CHECK(parse_bytes("8M") == 8 << 20);
  CHECK(parse_bytes("8g") == 8ULL << 30);
  CHECK(parse_bytes("1T") == 1ULL << 40);
  CHECK(parse_bytes("1.5k") == 1536);
  CHECK(parse_bytes("1mib") == 1 << 20);
  CHECK(parse_bytes("1MIB") == 1 << 20);
  CHECK(parse_bytes("2kib") == 2048);
  CHECK(parse_bytes("1gb") == 1'000'000'000);
  CHECK(parse_bytes("3 b") == 3);
}

TEST_CASE("what is refused, and how it is said", "[core][units]") {
  const SourceLocation where{"f.yaml", 2, 5};
  const auto rate = [&](std::string_view text) {
    return thrown([&] { return parse_rate_Bps(text, "bandwidth", where); });
  };
  const auto bytes = [&](std::string_view text) {
    return thrown([&] { return parse_bytes(text, "size", where); });
  };
  const auto time = [&](std::string_view text) {
    return thrown([&] { return parse_time_s(text, "latency", where); });
  };
  const std::string most = "; expected a size below 2^64 bytes (16777216TiB)";
  CHECK(rate("25") == "f.yaml:2:5: bandwidth needs a unit, e.g. '25 GB/s'; found '25'");
  CHECK(time("3") == "f.yaml:2:5: latency needs a unit, e.g. '1.5us'; found '3'");
  CHECK(rate("25 GB") ==
        "f.yaml:2:5: bandwidth has the unknown unit 'GB'; expected one of B/s, "
        "KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, Gb/s (bits)");
  for (const std::string unit : {"Mb", "P", "KiBs", "i", "iB"}) {
    CHECK(bytes("64" + unit) == "f.yaml:2:5: size has the unknown unit '" + unit +
                                    "'; expected one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, K, "
                                    "M, G, T");
  }
  CHECK(bytes("-1 B") ==
        "f.yaml:2:5: size is '-1 B'; expected a size that is not negative, e.g. '64KiB'");
  CHECK(bytes("0.3 B") == "f.yaml:2:5: size is '0.3 B'; expected a whole number of bytes");
  CHECK(bytes("0.3 KiB") == "f.yaml:2:5: size is '0.3 KiB'; expected a whole number of bytes");
  CHECK(bytes("1e-30 TiB") == "f.yaml:2:5: size is '1e-30 TiB'; expected a whole number of bytes");
  CHECK(bytes("18446744073709551616 B") ==
        "f.yaml:2:5: size is '18446744073709551616 B', which is too large" + most);
  CHECK(bytes("16777216 TiB") == "f.yaml:2:5: size is '16777216 TiB', which is too large" + most);
  CHECK(bytes("1e20 B") == "f.yaml:2:5: size is '1e20 B', which is too large" + most);
  CHECK(time("1e999 s") ==
        "f.yaml:2:5: latency is '1e999 s', which is too large; expected a time below 1e308 s");
  CHECK(time("1" + std::string(350, '0') + "e-20 s")
            .ends_with("which is too large; expected a time below 1e308 s"));
  CHECK(time("nan s") == "f.yaml:2:5: latency is 'nan s'; expected a time, e.g. '1.5us'");
  CHECK(time("inf s") == "f.yaml:2:5: latency is 'inf s'; expected a time, e.g. '1.5us'");
  CHECK(time("") == "f.yaml:2:5: latency is ''; expected a time, e.g. '1.5us'");
  CHECK(time("us") == "f.yaml:2:5: latency is 'us'; expected a time, e.g. '1.5us'");
  CHECK(time("0x10 s").find("unknown unit") != std::string::npos);
  CHECK(time("1,5 us").find("unknown unit") != std::string::npos);
  CHECK(time("1 us us").find("unknown unit") != std::string::npos);
  CHECK(rate(std::string(5000, '9') + " B/s").size() < 200);
  CHECK(rate("1 " + std::string(5000, 'x')).size() < 250);
  for (const char* text : {"", "x", "1.5", "1 ", "--1", "1e3", "0x10", "9223372036854775808"}) {
    const std::string message = thrown([&] { return parse_integer(text, "n", where); });
    CHECK((message.starts_with("f.yaml:2:5: n is '") == (std::string(text) != "1 ")));
  }
  for (const char* text : {"", "x", "nan", "inf", "-inf", "1e999", "1.5 us", "1,5"}) {
    CHECK(thrown([&] { return parse_real(text, "x", where); }).starts_with("f.yaml:2:5: x is '"));
  }
  CHECK(thrown([&] { return parse_integer("9223372036854775808", "n", where); }) ==
        "f.yaml:2:5: n is '9223372036854775808', which is too large; expected a whole number from "
        "-2^63 to 2^63 - 1");
  CHECK(thrown([&] { return parse_flag("yes", "fresh", where); }) ==
        "f.yaml:2:5: fresh is 'yes'; expected true or false");
}

TEST_CASE("formats for people", "[core][units]") {
  CHECK(format_bytes(0) == "0B");
  CHECK(format_bytes(65536) == "64KiB");
  CHECK(format_bytes(1048576) == "1MiB");
  CHECK(format_bytes(1000) == "1000B");
  CHECK(format_bytes(1536) == "1536B");
  CHECK(format_bytes(std::uint64_t{1} << 54U) == "16384TiB");
  CHECK(format_time(0) == "0 s");
  CHECK(format_time(12.34e-6) == "12.34 us");
  CHECK(format_time(1.5) == "1.500 s");
  CHECK(format_time(3e-9) == "3.000 ns");
  CHECK(format_time(999.96e-6) == "1.000 ms");
  CHECK(format_time(-2e-3) == "-2.000 ms");
  CHECK(format_rate(25e9) == "25.0 GB/s");
  CHECK(format_rate(312.5e6) == "312.5 MB/s");
  CHECK(format_rate(999.99e6) == "1.0 GB/s");
  CHECK(format_rate(0) == "0.0 B/s");
}

TEST_CASE("formatted values read back as the same value", "[core][units]") {
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bytes = random() >> random.integer(0, 63);
    REQUIRE(parse_bytes(format_bytes(bytes)) == bytes);
    const double value =
        std::ldexp(random.uniform() - 0.5, static_cast<int>(random.integer(-1000, 1000)));
    REQUIRE(parse_real(format_double(value)) == value);
  }
  CHECK(format_double(0.1) == "0.1");
  CHECK(format_double(1e-6) == "1e-06");
  CHECK(format_double(25e9) == "2.5e+10");
}

TEST_CASE("the locale changes nothing", "[core][units]") {
  // Uses a locale with a decimal comma, if the system has it.
  const char* set = std::setlocale(LC_ALL, "de_DE.UTF-8");
  CHECK(parse_time_s("1.5us") == 1.5e-6);
  CHECK(format_double(1.5) == "1.5");
  CHECK(format_time(1.5e-6) == "1.500 us");
  if (set != nullptr) std::setlocale(LC_ALL, "C");
}
