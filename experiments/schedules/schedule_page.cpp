#include "experiments/schedules/schedule_page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/report/page.hpp"
#include "experiments/schedules/schedule_pictures.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kSchedulesStyle;
}  // namespace embedded

namespace {

std::string section_of(const ScheduleView& view) {
  std::string html = fmt::format(
      "<details class=\"section\" open><summary><h2>{}</h2></summary><dl class=\"facts\">",
      html_escaped(view.name));
  for (const auto& [name, value] : view.facts) {
    html +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html_escaped(name), html_escaped(value));
  }
  html += "</dl>";
  if (!view.steps.empty()) {
    html += fmt::format("<h3>{}</h3>", html_escaped(view.steps_title));
    const std::string picture = steps_picture(view);
    html += picture.empty()
                ? fmt::format("<p class=\"muted\">Not drawn: {} ranks, at most {} are.</p>",
                              view.ranks, kMaxDrawnRanks)
                : fmt::format("<p class=\"muted\">{}</p>", html_escaped(view.legend)) + picture;
  }
  if (!view.loads.empty()) {
    constexpr int kShown = 16;
    html += fmt::format("<h3>{}</h3>",
                        view.loads.size() > kShown
                            ? fmt::format("The {} busiest of {} links", kShown, view.loads.size())
                            : std::string("Loads of links")) +
            loads_picture(view, kShown);
  }
  return html + "</details>";
}

}  // namespace

std::string schedule_page(const SchedulePage& page) {
  std::string html = fmt::format("<h1>{}</h1>", html_escaped(page.title));
  if (!page.lead.empty()) {
    html += "<ul class=\"outcome\" id=\"summary\">";
    for (const std::string& sentence : page.lead) {
      html += fmt::format("<li>{}</li>", html_escaped(sentence));
    }
    html += "</ul>";
  }
  if (!page.links.empty()) {
    html += "<p>";
    for (const auto& [text, url] : page.links) {
      html += fmt::format("<a href=\"{}\">{}</a> &nbsp; ", html_escaped(url), html_escaped(text));
    }
    html += "</p>";
  }
  html += fmt::format("<div class=\"scroll\"><pre>{}</pre></div>", html_escaped(page.table));
  if (!page.front.empty()) {
    html +=
        "<h2>Steps and bandwidth</h2><p>Fewer steps are better for small sizes, fewer rounds "
        "per chunk for large ones. No schedule exists in the shaded area. Circles are algorithms "
        "of the library, with a channel for each of NCCL's rings; NCCL runs the ring and the "
        "tree.</p><div class=\"scroll\">" +
        front_picture(page.front, page.min_steps, page.min_rounds) + "</div>";
  }
  for (const ScheduleView& view : page.schedules) html += section_of(view);
  std::string text = page.title + "\n\n";
  for (const std::string& sentence : page.lead) text += sentence + "\n";
  text += "\n" + page.table;
  const nlohmann::json data{{"html", html}};
  return html_page({.title = page.title,
                    .notice = "The pictures need scripts; this is the table.",
                    .text = text,
                    .json = data.dump(),
                    .scripts = {"document.getElementById('page').innerHTML = "
                                "JSON.parse(document.getElementById('data').textContent).html;"},
                    .styles = {embedded::kSchedulesStyle}});
}

}  // namespace cclgym
