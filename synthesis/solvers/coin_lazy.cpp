// For programs that load CLP and CBC when they first need them.
#include "core/files/companion_library.hpp"
#include "synthesis/solvers/coin_adapter.hpp"

namespace cclgym::synthesis {

const CoinSolvers& coin_solvers() {
  static const CoinSolvers& solvers = *reinterpret_cast<decltype(&cclgym_coin_solvers)>(
      companion_function("libcclgym-coin.so", "cclgym_coin_solvers", "synthesis by linear programs",
                         "install cclgym and its libraries again (docs/install.md)"))();
  return solvers;
}

}  // namespace cclgym::synthesis
