#include "sim/call/config_wire.hpp"

#include "core/tasks/wire.hpp"

namespace cclgym {

void put_config(std::string& bytes, const Config& config) {
  put_text(bytes, config.algorithm);
  put(bytes, config.protocol);
  put(bytes, config.channels);
  put(bytes, config.instances);
  put(bytes, config.threads);
  put(bytes, config.tile_bytes);
  put(bytes, config.slots);
}

Config get_config(FieldReader& in) {
  Config config;
  in.text(config.algorithm);
  in.number(config.protocol);
  in.number(config.channels);
  in.number(config.instances);
  in.number(config.threads);
  in.number(config.tile_bytes);
  in.number(config.slots);
  return config;
}

}  // namespace cclgym
