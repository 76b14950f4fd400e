// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Fails if a link of the built site leads to a page or a heading that is not there.
//
//   node check.mjs SITE

import {existsSync, readdirSync, readFileSync} from "node:fs";
import path from "node:path";

const site = path.resolve(process.argv[2]);
const pages = readdirSync(site, {recursive: true}).filter((file) => file.endsWith(".html"));
const html = new Map(pages.map((page) => [`/${page.replaceAll(path.sep, "/")}`, readFileSync(path.join(site, page), "utf8")]));
const anchors = new Map([...html].map(([page, text]) => [page, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]));

let links = 0;
const broken = [];
for (const [page, text] of html) {
  for (const [, link] of text.matchAll(/<a [^>]*?href="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(link)) continue;
    links++;
    const {pathname, hash} = new URL(link, `http://site${page}`);
    const at = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const anchor = decodeURIComponent(hash.slice(1));
    if (!anchors.has(at) && !existsSync(path.join(site, at))) broken.push(`${page} links to ${link}, which is not there`);
    else if (anchor !== "" && !anchors.get(at)?.has(anchor)) broken.push(`${page} links to ${link}, and there is no such heading`);
  }
}
console.log(`${links} links on ${html.size} pages`);
if (links < 1000) broken.push(`only ${links} links were found`);
for (const line of broken) console.error(line);
process.exit(broken.length > 0 ? 1 : 0);
