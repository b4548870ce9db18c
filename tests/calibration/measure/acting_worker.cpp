// A worker for tests of the driver. It speaks the protocol of
// calibration/measure/worker_process.hpp but measures nothing: its times are made up, 1 us per
// byte, and the size of a call selects its behaviour. In mode `recite` it answers the first request
// with the line in the file named by its second argument (with `@` replaced by the request's id)
// and ends. In mode `introduce` that line is the first line that it prints. In mode `nccl` it is a
// worker of NCCL on 8 ranks of one node: the policy takes 0.8 of the default's time, and named
// algorithms 0.9; its log says that every call ran by tree/LL/2.
// In mode `stuck` it never answers the request after as many as its second argument says.
// 1004 B: says so and never answers   1008 B: ends   1012 B: an error   1016 B: refuses   1020 B:
// no samples
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

namespace {

std::string line_of(const char* path, const std::string& id) {
  std::ifstream file(path, std::ios::binary);
  std::string line(std::istreambuf_iterator<char>(file), {});
  if (const std::size_t at = line.find('@'); at != std::string::npos) line.replace(at, 1, id);
  return line;
}

// The arguments after the mode, which a driver gives to the worker.
std::string joined(int argc, char** argv) {
  std::string text;
  for (int i = 3; i < argc; ++i) text += std::string(i == 3 ? "" : " ") + argv[i];
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  using nlohmann::json;
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "introduce") {
    std::cout << line_of(argv[2], "") << std::endl;
    return 0;
  }
  if (mode == "silent") ::pause();
  if (mode == "wrong") {
    std::cout << "mpirun: no such host" << std::endl;
    return 1;
  }
  const bool nccl = mode == "nccl";
  std::cout << "a line of the launcher's\n"
            << (nccl ? R"({"worker":"nccl","environment":{"ranks":"8","nodes":"1",)"
                       R"("device":"acting GPU","nccl":"2.28.9","label":"one rank a GPU"}})"
                     : R"({"worker":"mpi","environment":{"ranks":"4","nodes":"2",)"
                       R"("library":"acting, 1"}})")
            << std::endl;
  std::string line;
  int answered = 0;
  while (std::getline(std::cin, line)) {
    const json request = json::parse(line);
    const int bytes = std::stoi(request.at("cell").at("size_bytes").get<std::string>());
    json answer{{"id", request.at("id")}};
    if (mode == "recite") {
      std::cout << line_of(argv[2], request.at("id").dump()) << std::endl;
      return 0;
    }
    if (mode == "stuck" && answered++ == std::stoi(argv[2])) ::pause();
    if (bytes == 1004) {
      std::cout << "this one hangs" << std::endl;
      ::pause();
    }
    if (bytes == 1008 || mode == "dying") {
      std::cout << "something is wrong here" << std::endl;
      return 1;
    }
    if (bytes == 1012) {
      answer["error"] = "the result is wrong, here";
    } else if (bytes == 1016) {
      answer["refused"] = "not here";
    } else if (bytes == 1020) {
      answer["samples_s"] = json::array();
    } else {
      const std::string algorithm = request.at("cell").at("algorithm").get<std::string>();
      const double share = !nccl || algorithm == "default" ? 1 : algorithm == "policy" ? 0.8 : 0.9;
      const double least_s = bytes * 1e-6 * share;
      for (int i = 0; i < request.at("repeats").get<int>(); ++i) {
        answer["samples_s"].push_back(i == 2 ? 100 * least_s : least_s * (1 + 0.01 * i));
      }
      answer["extra"] = {{"used", algorithm}};
      if (nccl) {
        answer["extra"] = {{"used_algorithm", "tree"},
                           {"used_protocol", "LL"},
                           {"used_channels", "2"},
                           {"arguments", joined(argc, argv)}};
        if (algorithm != "default") answer["extra"]["as_asked"] = "as chosen";
      }
    }
    std::cout << "log text between messages\n" << answer.dump() << std::endl;
  }
}
