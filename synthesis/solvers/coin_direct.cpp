// For programs that contain CLP and CBC.
#include "synthesis/solvers/coin_adapter.hpp"

namespace cclgym::synthesis {

const CoinSolvers& coin_solvers() { return *cclgym_coin_solvers(); }

}  // namespace cclgym::synthesis
