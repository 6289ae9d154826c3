# Installs the library, its headers, the command, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/norite)
install(TARGETS norite EXPORT noriteTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT noriteTargets NAMESPACE norite:: DESTINATION ${package_dir})
if(NORITE_BUILD_CLI)
  install(TARGETS norite_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(NORITE_BUILD_CLI AND BUILD_SHARED_LIBS)
  # The command finds its library wherever the prefix was moved to.
  file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(norite_cli PROPERTIES
    INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>/${bin_to_lib})
endif()

configure_package_config_file(cmake/noriteConfig.cmake.in noriteConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(noriteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/noriteConfig.cmake
              ${PROJECT_BINARY_DIR}/noriteConfigVersion.cmake
        DESTINATION ${package_dir})

# A static library leaves its dependencies to whoever links it.
set(link_dependencies "libhwy, tbb, fmt")
if(BUILD_SHARED_LIBS)
  set(pc_requires "")
  set(pc_requires_private "${link_dependencies}")
  set(pc_libs "")
else()
  set(pc_requires "${link_dependencies}")
  set(pc_requires_private "")
  # Boost has no pkg-config files; what its libraries need of each other is named too.
  set(pc_libs " -lboost_wave -lboost_thread -lboost_filesystem -lboost_context")
endif()
string(REGEX REPLACE "[^/]+" ".." pc_to_prefix ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/norite.pc.in norite.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/norite.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
