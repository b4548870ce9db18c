#include "cost_models/cost_model.hpp"
