// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Copies the pages of the repository to where the site has them, with links that lead there. Links to other files of
// the repository lead to its home.
//
//   node stage.mjs REPOSITORY TARGET

import {execFileSync} from "node:child_process";
import {cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync} from "node:fs";
import path from "node:path";

const [repository, target] = process.argv.slice(2).map((folder) => path.resolve(folder));
const home = "https://github.com/metacontroller/metacontroller-apiserver";

const schema = /^docs\/schemas\/[^/]+\.json$/;

/** Returns the address of a page of the repository on the site, without the ending. */
function placeOf(page) {
  if (page === "README.md") return "index";
  if (page === "docs/README.md") return "contents";
  if (page === "artifacts/examples/README.md") return "examples/index";
  const example = page.match(/^artifacts\/examples\/([^/]+)\/README\.md$/);
  if (example) return `examples/${example[1]}`;
  if (page === "artifacts/deploy/README.md") return "deploy";
  return path.posix.basename(page, ".md").toLowerCase();
}

const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {cwd: repository, encoding: "utf8"});
const pages = new Map(listed.trim().split("\n").filter((page) => existsSync(path.join(repository, page))).map((page) => [page, placeOf(page)]));

/** Returns where a link of a page leads on the site. */
function rewrite(page, link) {
  const [file, anchor] = link.split("#");
  if (/^[a-z]+:/.test(link) || file === "") return link;
  const at = path.posix.normalize(path.posix.join(path.posix.dirname(page), file)).replace(/\/$/, "");
  if (schema.test(at)) return `/schemas/${path.posix.basename(at)}`;
  const onSite = pages.get(at) ?? pages.get(`${at}/README.md`);
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  if (onSite !== undefined) return `/${onSite.replace(/(^|\/)index$/, "$1")}${suffix}`;
  if (!existsSync(path.join(repository, at))) throw new Error(`${page} links to ${link}, which does not exist`);
  const isFolder = statSync(path.join(repository, at)).isDirectory();
  return `${home}/${isFolder ? "tree" : "blob"}/main/${at}${suffix}`;
}

/** Calls change for each stretch of a page that is no code. */
function outsideOfCode(text, change) {
  return text.split(/(^ *```[^]*?^ *```$|`[^`\n]+`)/m).map((part, i) => (i % 2 === 0 ? change(part) : part)).join("");
}

/** Returns the headings of the list of documents, each with the pages below it. */
function groups() {
  const list = readFileSync(path.join(repository, "docs/README.md"), "utf8");
  return list.split(/^## /m).slice(1).map((section) => ({
    text: section.split("\n")[0],
    items: [...section.matchAll(/^\* \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, text, link]) => ({text, link: rewrite("docs/README.md", link)})),
  }));
}

rmSync(target, {recursive: true, force: true});
for (const [page, place] of pages) {
  let text = readFileSync(path.join(repository, page), "utf8");
  const title = text.match(/^# (.*)$/m)?.[1] ?? page;
  // A link may have code in its text, so links are found in the whole page, and code is put back afterwards.
  text = outsideOfCode(text, (part) => part.replaceAll(/\]\(([^)\s]+)\)/g, (_, link) => `](${rewrite(page, link)})`));
  const file = path.join(target, `${place}.md`);
  mkdirSync(path.dirname(file), {recursive: true});
  writeFileSync(file, `---\nedit: ${home}/edit/main/${page}\ntitle: ${JSON.stringify(title)}\n---\n\n${text}`);
}
cpSync(path.join(repository, "docs/schemas"), path.join(target, "public/schemas"), {recursive: true});
const examples = [...pages].filter(([page]) => /^artifacts\/examples\/[^/]+\/README\.md$/.test(page)).map(([, place]) => ({text: path.posix.basename(place), link: `/${place}`}));
writeFileSync(path.join(target, "sidebar.json"), JSON.stringify({groups: groups(), examples}, null, 2));
console.log(`${pages.size} pages`);
