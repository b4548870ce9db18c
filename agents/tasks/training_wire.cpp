#include "agents/tasks/training_wire.hpp"

#include "core/tasks/field_reader.hpp"

namespace cclgym {

namespace {

// Records of numbers alone are copied as they are.
void put_report(std::string& bytes, const IterationReport& report) {
  put(bytes, report.iteration);
  put(bytes, report.warm_start);
  put(bytes, report.calls);
  put(bytes, report.mean_reward);
  put(bytes, report.loss);
  put(bytes, report.gradient_norm);
  put(bytes, report.learning_rate);
  put(bytes, report.cpu_s);
  put(bytes, report.evaluation.size());
  for (const PolicyMeasure& measure : report.evaluation) put(bytes, measure);
}

IterationReport get_report(FieldReader& in) {
  IterationReport report;
  in.number(report.iteration);
  in.number(report.warm_start);
  in.number(report.calls);
  in.number(report.mean_reward);
  in.number(report.loss);
  in.number(report.gradient_norm);
  in.number(report.learning_rate);
  in.number(report.cpu_s);
  std::size_t measures = 0;
  in.number(measures);
  for (std::size_t i = 0; i < measures && in.ok(); ++i) {
    in.number(report.evaluation.emplace_back());
  }
  return report;
}

void put_texts(std::string& bytes, const std::vector<std::string>& texts) {
  put(bytes, texts.size());
  for (const std::string& text : texts) put_text(bytes, text);
}

void get_texts(FieldReader& in, std::vector<std::string>& texts) {
  std::size_t count = 0;
  in.number(count);
  for (std::size_t i = 0; i < count && in.ok(); ++i) in.text(texts.emplace_back());
}

}  // namespace

std::string training_order_bytes(const TrainingOrder& order) {
  std::string bytes;
  put(bytes, order.budget_s);
  put(bytes, order.cpu_s);
  put_text(bytes, order.checkpoint);
  return bytes;
}

std::optional<TrainingOrder> read_training_order(std::string_view bytes) {
  FieldReader in(bytes);
  TrainingOrder order;
  in.number(order.budget_s);
  in.number(order.cpu_s);
  in.text(order.checkpoint);
  if (!in.at_end()) return std::nullopt;
  return order;
}

std::string trained_part_bytes(const TrainedPart& part) {
  std::string bytes;
  put_text(bytes, part.checkpoint);
  put(bytes, part.reports.size());
  for (const IterationReport& report : part.reports) put_report(bytes, report);
  put_texts(bytes, part.notices);
  put(bytes, part.ended);
  put_text(bytes, part.triggers.text);
  put_texts(bytes, part.triggers.lines);
  return bytes;
}

std::optional<TrainedPart> read_trained_part(std::string_view bytes) {
  FieldReader in(bytes);
  TrainedPart part;
  in.text(part.checkpoint);
  std::size_t reports = 0;
  in.number(reports);
  for (std::size_t i = 0; i < reports && in.ok(); ++i) part.reports.push_back(get_report(in));
  get_texts(in, part.notices);
  in.number(part.ended);
  in.text(part.triggers.text);
  get_texts(in, part.triggers.lines);
  if (!in.at_end()) return std::nullopt;
  return part;
}

}  // namespace cclgym
