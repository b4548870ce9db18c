// Compares docs/workloads-reference.md with the records of the keys. With CCLGYM_UPDATE_DOCS=1 in
// the environment, the test writes the tables into the page.
#include "support/doc_page.hpp"
#include "workloads/readers/job_file.hpp"

using namespace cclgym;
using namespace cclgym::test;

TEST_CASE("docs/workloads-reference.md has the tables of the records", "[workloads][readers]") {
  DocPage page("workloads-reference.md");
  page.put("job", job_options());
  page.put("job-communicator", job_communicator_options());
  page.put("job-program", job_program_options());
  page.put("job-op", job_op_options());
  page.check();
}

TEST_CASE("the job of docs/workloads-reference.md is valid", "[workloads][readers]") {
  const std::string text = DocPage("workloads-reference.md").text();
  const std::string begin = "```yaml\n";
  const std::size_t from = text.find(begin) + begin.size();
  const JobGraph job =
      read_job(parse_yaml(text.substr(from, text.find("```", from) - from), "page.yaml"));
  CHECK(job.ranks == 4);
  CHECK(job.program(2).size() == 10);
}
