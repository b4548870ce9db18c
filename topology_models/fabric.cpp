#include "topology_models/fabric.hpp"
