#include "support/browser.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/files/text_file.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

std::string browser() {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  for (const std::string name : {"chromium", "chromium-browser", "google-chrome"}) {
    for (std::size_t at = 0; at <= folders.size();) {
      const std::size_t end = std::min(folders.find(':', at), folders.size());
      const std::filesystem::path file = std::filesystem::path(folders.substr(at, end - at)) / name;
      std::error_code error;
      if (std::filesystem::exists(file, error)) return file.string();
      at = end + 1;
    }
  }
  return "";
}

nlohmann::json probe_page(const std::string& html, const std::string& probe, int width) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("cclgym-page-" + std::to_string(std::random_device{}()));
  std::filesystem::create_directories(folder);
  std::string page = html;
  const std::string script =
      "<script>setTimeout(() => { const win = window; const doc = document;"
      "parent.postMessage(JSON.stringify((() => {" +
      probe + "})()), '*'); }, 1500);</script></body>";
  page.replace(page.rfind("</body>"), 7, script);
  write_text_file((folder / "page.html").string(), page);
  write_text_file(
      (folder / "frame.html").string(),
      "<!DOCTYPE html><html><body><iframe src=\"page.html\" style=\"border:0\" height=\"2400\" "
      "width=\"" +
          std::to_string(width) +
          "\"></iframe><pre id=\"found\"></pre><script>addEventListener('message', e => {"
          "document.getElementById('found').textContent = '[[' + btoa(unescape("
          "encodeURIComponent(e.data))) + ']]'; });</script></body></html>");
  const std::string command =
      "timeout 900 '" + browser() + "' --headless --no-sandbox --disable-gpu --user-data-dir='" +
      (folder / "profile").string() +
      "' --window-size=1500,2500 --virtual-time-budget=6000 --dump-dom 'file://" +
      (folder / "frame.html").string() + "' 2>/dev/null";
  std::string dom;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    dom.append(buffer.data(), count);
  }
  ::pclose(pipe);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  const std::size_t begin = dom.find("[[", dom.find("id=\"found\"")) + 2;
  const std::size_t end = dom.find("]]", begin);
  INFO(dom.substr(0, 400));
  REQUIRE(end != std::string::npos);
  // base64, whose characters the page's markup leaves as they are.
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0;
  unsigned value = 0;
  for (const char c : dom.substr(begin, end - begin)) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) break;
    value = (value << 6U | static_cast<unsigned>(digit)) & 0xFFFFFU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    text += static_cast<char>(value >> bits & 0xFFU);
  }
  return nlohmann::json::parse(text);
}

}  // namespace cclgym::test
