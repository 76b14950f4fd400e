#!/usr/bin/env bash
# Builds the site of the documentation in bin/site/public, and checks it: its links, its search, and the programs on its
# pages. With the argument serve, it shows the site until it is ended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/source.sh
out=bin/site

mkdir -p "$out"
if ! cmp -s hack/site/package-lock.json "$out/package-lock.json" || [[ ! -d $out/node_modules ]]; then
  cp hack/site/package.json hack/site/package-lock.json "$out/"
  (cd "$out" && npm ci --no-audit --no-fund --loglevel=error)
fi
rm -rf "$out/.vitepress" "$out/public"
cp -r hack/site/vitepress "$out/.vitepress"
node hack/site/stage.mjs . "$out/pages"
"$out/node_modules/.bin/vitepress" build "$out"
# The types of the hook in TypeScript are right.
mkdir -p "$out/typescript"
sed -n '/^```typescript$/,/^```$/p' docs/first-hook.md | grep -v '^```' >"$out/typescript/hook.ts"
"$out/node_modules/.bin/tsc" --noEmit --strict --noUncheckedIndexedAccess --skipLibCheck --target es2022 --module nodenext --types node --typeRoots "$out/node_modules/@types" \
  "$out/typescript/hook.ts"
node hack/site/check.mjs "$out/public"
node hack/site/questions.mjs "$out/public" "$out"
if [[ "${1:-}" == serve ]]; then
  exec "$out/node_modules/.bin/vitepress" preview "$out" --host 127.0.0.1
fi
