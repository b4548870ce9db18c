#include "cli/support/command.hpp"

namespace cclgym {

const std::vector<const Command*>& all_commands() {
  static const std::vector<const Command*> all{&run_command(),
                                               &merge_command(),
                                               &report_command(),
                                               &simulate_command(),
                                               &workload_command(),
                                               &describe_command(),
                                               &list_command(),
                                               &compile_command(),
                                               &verify_command(),
                                               &synthesize_command(),
                                               &check_certificate_command(),
                                               &tune_dispatch_command(),
                                               &fit_command(),
                                               &compare_command(),
                                               &calibrate_command(),
                                               &train_command(),
                                               &evaluate_command(),
                                               &validate_command(),
                                               &loop_command(),
                                               &export_command(),
                                               &deploy_command(),
                                               &reference_command()};
  return all;
}

}  // namespace cclgym
