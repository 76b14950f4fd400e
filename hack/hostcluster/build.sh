#!/usr/bin/env bash
# Builds the programs of the host cluster (etcd, kube-apiserver, kube-controller-manager, kubectl)
# from the Go module proxy, once per version. They are stored in the user's cache, so that other
# clones find them.
#
#   build.sh               build the missing programs
#   build.sh --print-dir   print the folder of the programs, build nothing
#
# If KUBEBUILDER_ASSETS is set, the programs in that folder are used and nothing is built.
# KUBERNETES_VERSION, such as 1.30.14, builds another version than that of go.mod, with the same etcd.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

programs=(etcd kube-apiserver kube-controller-manager kubectl)
tested=$(awk '$1 == "k8s.io/kubernetes" {print $2}' go.mod)
version=${KUBERNETES_VERSION:-$tested}
version=v${version#v}

# The name of the folder depends on everything that decides its content.
cache_dir() {
  local hash parent
  hash=$({ cat go.mod go.sum; linker_flags; } | git hash-object --stdin | cut -c1-12)
  parent=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  # Without a home folder, as in some CI jobs, use bin/ of this clone, which git ignores.
  parent=${parent:-$(cd ../.. && pwd)/bin}
  echo "$parent/metacontroller-apiserver/host-$version-$(go env GOOS)-$(go env GOARCH)-$hash"
}

missing() {
  local program
  for program in "${programs[@]}"; do
    [[ -x $1/$program ]] || echo "$program"
  done
}

# Kubernetes programs get their version from the linker. Without it they report v0.0.0-master, and
# some checks go wrong.
linker_flags() {
  local package major minor
  IFS=. read -r major minor _ <<<"${version#v}"
  printf -- '-s -w'
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s' \
      "$package" "$version" "$package" "$major" "$package" "$minor"
  done
}

# Writes a go.mod for a version other than that of ours. k8s.io/kubernetes names its staging modules v0.0.0; the
# replacements are the ones it was released with.
other_module() {
  local dir=$1 required
  required=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
  {
    printf 'module hostcluster\n\n'
    grep -E '^go ' "$required"
    printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$version"
    awk -v version="v0${version#v1}" '$1 ~ /^k8s\.io\// && $2 == "v0.0.0" {print "\t" $1 " => " $1 " " version}' "$required"
    printf ')\n'
  } >"$dir/go.mod"
}

# Prints the progress of a running `go build -v` every 15 seconds. The log has one line for each
# compiled package.
report_progress() {
  local pid=$1 log=$2 total=$3 last='' now
  while kill -0 "$pid" 2>/dev/null; do
    now="$(grep -vc '^go: ' "$log" || true) of up to $total packages compiled"
    # Linking writes nothing to the log, so only the clock shows that the build continues.
    printf '  %d:%02d  %s%s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$now" \
      "$([[ $now == "$last" ]] && echo ' (linking, or one large package)')"
    last=$now
    for _ in {1..15}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 1
    done
  done
}

build() {
  local target=$1 work packages total log pid
  packages=$(go list tool)
  work=$(mktemp -d "$target.XXXXXX")
  if [[ $version != "$tested" ]]; then
    other_module "$work"
    cp "$(KUBERNETES_VERSION='' ./build.sh --print-dir)/etcd" "$work/server"
    packages=$(grep -v /etcd/ <<<"$packages")
    cd "$work"
    export GOFLAGS="${GOFLAGS:-} -mod=mod"
  fi
  log=$work/build.log
  pid=
  # shellcheck disable=SC2064 # the present name of the folder is meant
  trap "rm -rf '$work'" EXIT
  trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null; exit 130' INT TERM

  echo "Building the programs of the host cluster (Kubernetes $version and its etcd) into"
  echo "  $target"
  echo "Only the first build takes long: five to eight minutes on two cores, after the modules are downloaded."
  SECONDS=0
  echo "  0:00  downloading modules"
  # shellcheck disable=SC2086 # a list of package paths
  total=$(go list -deps $packages | wc -l)

  : >"$log"
  # shellcheck disable=SC2086
  go build -v -trimpath -ldflags "$(linker_flags)" -o "$work/" $packages 2>"$log" &
  pid=$!
  report_progress "$pid" "$log" "$total"
  wait "$pid" || { echo "The build failed:" >&2; tail -n 40 "$log" >&2; return 1; }

  mv "$work/server" "$work/etcd" # go build names it after its package
  mkdir -p "$target"
  local program
  for program in "${programs[@]}"; do
    mv -f "$work/$program" "$target/$program"
  done
  printf '  %d:%02d  done\n' $((SECONDS / 60)) $((SECONDS % 60))
}

if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
  absent=$(missing "$KUBEBUILDER_ASSETS")
  if [[ -n $absent ]]; then
    echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS lacks" $absent "- add what is missing, or unset the variable to build all four programs." >&2
    exit 1
  fi
  target=$KUBEBUILDER_ASSETS
else
  target=$(cache_dir)
fi
if [[ ${1:-} == --print-dir ]]; then
  echo "$target"
  exit 0
fi
[[ -n $(missing "$target") ]] || exit 0
[[ $version == "$tested" ]] || KUBERNETES_VERSION='' ./build.sh # for its etcd

mkdir -p "$(dirname "$target")"
# If two makes run at once, only one builds. Without flock (macOS) both build, and the files of the
# last one stay: this is slower, but correct.
exec 9>"$target.lock"
if command -v flock >/dev/null && ! flock -n 9; then
  echo "Another build of the programs of the host cluster is running; waiting for it."
  flock 9
fi
[[ -n $(missing "$target") ]] || exit 0
build "$target"
