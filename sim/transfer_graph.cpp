#include "sim/transfer_graph.hpp"
