# What shortens builds and changes nothing in their result, where it is installed: ccache, and lld
# for the many test executables. Choices that the user made stay.
include(CheckLinkerFlag)

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Unless told so, ccache leaves alone whatever uses a precompiled header, and runs the preprocessor
  # for what the compiler says anyway. The locale changes nothing but messages.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,locale CCACHE_DEPEND=1 ${CCACHE_PROGRAM})
endif()

check_linker_flag(CXX -fuse-ld=lld NORITE_HAS_LLD)
if(NORITE_HAS_LLD AND NOT APPLE)
  add_link_options(-fuse-ld=lld)
endif()
