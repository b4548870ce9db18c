// Event files of TensorBoard with the learning curves of a training.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cclgym {

/// The columns of a metrics.csv as scalars of an event file: records of TFRecord (length, masked
/// CRC-32C of the length, data, masked CRC-32C of the data; little-endian) with protobuf messages
/// tensorflow.Event, the first of which names the format ("brain.Event:2"). The step is the column
/// iteration, and a tag the name of a column, with "/" for ":". Wall times are 0 and the column
/// cpu_s is left out, so that equal trainings have equal files. Fields that are empty or no
/// numbers, and a last line without a line break, are left out.
[[nodiscard]] std::string tensorboard_events(std::string_view metrics_csv);

/// Path of the event file of a seed's folder. TensorBoard reads files with "tfevents" in the name.
[[nodiscard]] std::string tensorboard_path(const std::string& seed_folder);

/// CRC-32C (Castagnoli) of bytes, rotated and shifted by a constant, as in TFRecord.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace cclgym
