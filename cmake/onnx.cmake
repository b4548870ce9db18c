# ONNX, for `cclgym export --format onnx`: on if its protobuf classes are found. Target cclgym_onnx_format has
# them. Only libonnx_proto is linked, not libonnx, whose operators are not used here.
find_path(CCLGYM_ONNX_INCLUDE onnx/onnx_pb.h)
find_library(CCLGYM_ONNX_PROTO onnx_proto)
find_path(CCLGYM_PROTOBUF_INCLUDE google/protobuf/message.h)
find_library(CCLGYM_PROTOBUF protobuf)
set(onnx_found OFF)
if(CCLGYM_ONNX_INCLUDE AND CCLGYM_ONNX_PROTO AND CCLGYM_PROTOBUF_INCLUDE AND CCLGYM_PROTOBUF)
  set(onnx_found ON)
endif()
cclgym_found_option(CCLGYM_ONNX "Build what writes policies as ONNX" ${onnx_found})
if(CCLGYM_ONNX AND NOT onnx_found)
  message(FATAL_ERROR "CCLGYM_ONNX is ON, but ONNX or protobuf is missing (install libonnx-dev, libprotobuf-dev)")
endif()
if(CCLGYM_ONNX)
  add_library(cclgym_onnx_format INTERFACE)
  target_include_directories(cclgym_onnx_format SYSTEM INTERFACE ${CCLGYM_ONNX_INCLUDE}
    ${CCLGYM_PROTOBUF_INCLUDE})
  # The names by which Debian's library was built.
  target_compile_definitions(cclgym_onnx_format INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
  target_link_libraries(cclgym_onnx_format INTERFACE ${CCLGYM_ONNX_PROTO} ${CCLGYM_PROTOBUF})
endif()
