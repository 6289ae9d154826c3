# Builds with sanitizers are not optimised, but for what computes: everything else is compiled sooner
# without, and fast enough.
string(FIND "${CMAKE_CXX_FLAGS}" "-fsanitize=" sanitizer_at)
if(sanitizer_at GREATER -1)
  set(NORITE_SANITIZED ON)
endif()

function(norite_optimise_sanitized target)
  target_compile_options(${target} PRIVATE $<$<BOOL:${NORITE_SANITIZED}>:-O1>)
endfunction()
