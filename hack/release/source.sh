# To be sourced. It says what is built: VERSION, which can be set from outside, COMMIT and SOURCE_DATE_EPOCH, the time
# of the commit. Without a version, that of the tag is taken, or one with the time of the commit.
COMMIT=${COMMIT:-$(git rev-parse HEAD)$(git diff --quiet HEAD || echo -dirty)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
if [[ -z "${VERSION:-}" ]]; then
  VERSION=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || true)
  if [[ -z "$VERSION" || "$COMMIT" == *-dirty ]]; then
    VERSION=v0.0.0-$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S)-${COMMIT:0:12}${COMMIT:40}
  fi
fi
if [[ ! "$VERSION" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
  echo "The version $VERSION is not of the form v1.2.3 or v1.2.3-rc.1." >&2
  exit 1
fi
export COMMIT SOURCE_DATE_EPOCH VERSION
