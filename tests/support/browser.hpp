// Runs a page in a browser and reads back what a probe script found there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cclgym::test {

/// Path of a browser that runs without a display; empty if there is none.
[[nodiscard]] std::string browser();

/// The JSON that `probe`, the body of a function, returns 1.5 s of virtual time after the page has
/// opened in a frame of the given width. `win` is the page's window, `doc` its document.
[[nodiscard]] nlohmann::json probe_page(const std::string& html, const std::string& probe,
                                        int width = 1400);

}  // namespace cclgym::test
