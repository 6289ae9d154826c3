# Sourced by ./run and ./test: build PRESET [TARGET...] sets up, configures and builds. Everything it
# says goes to stderr: stdout belongs to the program that runs next.

# Clang 19 where the set-up brought it: Debian's default compilers give slower kernels or lack
# sanitizers. A compiler that the user chose stays.
if [[ -z ${CC:-}${CXX:-} ]] && command -v clang++-19 >/dev/null; then
  export CC=clang-19 CXX=clang++-19
fi

build() {
  local preset=$1 log folder=$root/build/$1
  shift
  mkdir -p "$folder"
  log=$folder/configure.log
  cmake -S "$root" --preset "$preset" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "configure failed ($preset)" >&2
    return 1
  }
  local ninja=()
  [[ -t 2 ]] || ninja=(-- --quiet)
  echo "building: $preset" >&2
  cmake --build "$folder" ${1:+--target "$@"} ${ninja[@]+"${ninja[@]}"} >&2
}
