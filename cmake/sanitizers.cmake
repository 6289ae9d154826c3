# The sanitizers' presets have no build type and are not optimised, but for what computes: everything
# else is compiled sooner without, and fast enough.
string(FIND "${CMAKE_CXX_FLAGS}" "-fsanitize=" sanitizer_at)
if(sanitizer_at GREATER -1)
  set(NORITE_SANITIZED ON)
endif()

function(norite_optimise_sanitized target)
  if(NORITE_SANITIZED AND PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL "None")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()
