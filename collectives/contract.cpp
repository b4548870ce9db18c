#include "collectives/contract.hpp"
