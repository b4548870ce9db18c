// Products of two 64-bit numbers.
#pragma once

namespace cclgym::synthesis {

__extension__ using Product = __int128;

}  // namespace cclgym::synthesis
