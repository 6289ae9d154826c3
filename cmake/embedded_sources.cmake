# Kernel text that travels inside the library: norite_embedded_sources lists the generated files.
set(norite_embedded_sources "")

# norite_embed(<name>.cpp ROOT folder HEADER header NAMESPACE namespace FUNCTION function FILES globs…)
function(norite_embed name)
  cmake_parse_arguments(PARSE_ARGV 1 embed "" "ROOT;HEADER;NAMESPACE;FUNCTION" "FILES")
  list(TRANSFORM embed_FILES PREPEND ${embed_ROOT}/)
  file(GLOB_RECURSE files RELATIVE ${embed_ROOT} CONFIGURE_DEPENDS ${embed_FILES})
  list(TRANSFORM files PREPEND ${embed_ROOT}/ OUTPUT_VARIABLE paths)
  set(out ${PROJECT_BINARY_DIR}/generated/${name})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${embed_ROOT} "-DFILES=${files}" -DHEADER=${embed_HEADER}
            -DNAMESPACE=${embed_NAMESPACE} -DFUNCTION=${embed_FUNCTION} -DOUT=${out} -P ${script}
    DEPENDS ${paths} ${script}
    COMMENT "Embedding ${name}" VERBATIM)
  set(norite_embedded_sources ${norite_embedded_sources} ${out} PARENT_SCOPE)
endfunction()

norite_embed(shim_files.cpp ROOT ${PROJECT_SOURCE_DIR}/src/msl FILES shim/*.h
  HEADER msl/shim.hpp NAMESPACE norite::msl FUNCTION shim_files)
norite_embed(kernel_files.cpp ROOT ${PROJECT_SOURCE_DIR}/kernels FILES *.metal *.h
  HEADER core/kernel_files.hpp NAMESPACE norite::core FUNCTION kernel_files)
