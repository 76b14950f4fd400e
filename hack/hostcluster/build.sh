#!/usr/bin/env bash
# Builds the host cluster's programs (etcd, kube-apiserver, kube-controller-manager, kubectl) from the Go
# module proxy, once per version: they land in the user's cache, so that another clone finds them.
#
#   build.sh               build what is missing
#   build.sh --print-dir   print the folder they are in, build nothing
#
# With KUBEBUILDER_ASSETS set, that folder is used as it is and nothing is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

programs=(etcd kube-apiserver kube-controller-manager kubectl)
version=$(awk '$1 == "k8s.io/kubernetes" {print $2}' go.mod)

# The folder's name carries everything that decides what is in it.
cache_dir() {
  local hash parent
  hash=$({ cat go.mod go.sum; linker_flags; } | git hash-object --stdin | cut -c1-12)
  parent=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  # No home, as in some CI jobs: the ignored bin/ of this clone.
  parent=${parent:-$(cd ../.. && pwd)/bin}
  echo "$parent/metacontroller-apiserver/host-$version-$(go env GOOS)-$(go env GOARCH)-$hash"
}

missing() {
  local program
  for program in "${programs[@]}"; do
    [[ -x $1/$program ]] || echo "$program"
  done
}

# Kubernetes programs learn their version from the linker; without it they say v0.0.0-master and some checks misfire.
linker_flags() {
  local package major minor
  IFS=. read -r major minor _ <<<"${version#v}"
  printf -- '-s -w'
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s' \
      "$package" "$version" "$package" "$major" "$package" "$minor"
  done
}

# Says every few seconds how far a running `go build -v` is; the log has one line for each package compiled.
report_progress() {
  local pid=$1 log=$2 total=$3 last='' now
  while kill -0 "$pid" 2>/dev/null; do
    now="$(grep -vc '^go: ' "$log" || true) of up to $total packages compiled"
    # Linking writes nothing to the log, so the clock alone must show that it goes on.
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
  log=$work/build.log
  pid=
  # shellcheck disable=SC2064 # the folder's name of now is meant
  trap "rm -rf '$work'" EXIT
  trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null; exit 130' INT TERM

  echo "Building the host cluster's programs (Kubernetes $version and its etcd) into"
  echo "  $target"
  echo "Only the first build takes long: five to eight minutes on two cores, after the download of the modules."
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
    echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no" $absent "- put it there, or unset the variable to have all four built." >&2
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

mkdir -p "$(dirname "$target")"
# Two makes at once build once. Where there is no flock (macOS) both build and the last one's files stay: slower, not wrong.
exec 9>"$target.lock"
if command -v flock >/dev/null && ! flock -n 9; then
  echo "Another build of the host cluster's programs is running; waiting for it."
  flock 9
fi
[[ -n $(missing "$target") ]] || exit 0
build "$target"
