#!/usr/bin/env bash
# Builds and runs the consumer with the compiler and pkg-config alone:
# pkg_config.sh SOURCE FOLDER_OF_NORITE_PC COMPILER [FLAGS...]
set -euo pipefail
source=$1
export PKG_CONFIG_PATH=$2
shift 2
flags=$(pkg-config --cflags --libs norite)
# shellcheck disable=SC2086 # flags are words
"$@" -std=c++20 "$source" $flags -o consumer
./consumer
