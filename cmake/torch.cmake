# LibTorch, for training agents (agents/*/*_torch.cpp): on if LibTorch and OpenBLAS are found, off under sanitizers, with
# which it is not compiled. Target cclgym_torch has both. They are found by path, because find_package(Torch) prints messages and looks for
# CUDA, protobuf and other packages that are not used here.
find_path(CCLGYM_TORCH_INCLUDE torch/csrc/autograd/grad_mode.h)
find_path(CCLGYM_TORCH_API_INCLUDE torch/torch.h PATH_SUFFIXES torch/csrc/api/include)
find_library(CCLGYM_TORCH_CPU torch_cpu)
find_library(CCLGYM_TORCH_C10 c10)
# Debian's LibTorch uses libblas.so.3, which may be the slow reference implementation. A program that is
# itself linked to OpenBLAS gets the functions from there.
find_library(CCLGYM_OPENBLAS openblas)
set(torch_found OFF)
if(CCLGYM_TORCH_INCLUDE AND CCLGYM_TORCH_API_INCLUDE AND CCLGYM_TORCH_CPU AND CCLGYM_TORCH_C10
    AND CCLGYM_OPENBLAS AND NOT CCLGYM_SANITIZE)
  set(torch_found ON)
endif()
cclgym_found_option(CCLGYM_TORCH "Build what trains agents" ${torch_found})
if(CCLGYM_TORCH AND NOT torch_found)
  message(FATAL_ERROR "CCLGYM_TORCH is ON, but LibTorch or OpenBLAS is missing (install libtorch-dev, "
    "libopenblas-dev)")
endif()
if(CCLGYM_TORCH)
  add_library(cclgym_torch INTERFACE)
  target_include_directories(cclgym_torch SYSTEM INTERFACE ${CCLGYM_TORCH_INCLUDE}
    ${CCLGYM_TORCH_API_INCLUDE})
  target_link_libraries(cclgym_torch INTERFACE ${CCLGYM_TORCH_CPU} ${CCLGYM_TORCH_C10}
    ${CCLGYM_OPENBLAS})
endif()
