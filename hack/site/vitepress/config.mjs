// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

import {readFileSync} from "node:fs";
import {defineConfig} from "vitepress";
import {slug} from "./slug.mjs";
import {searchOptions} from "./search.mjs";

const home = "https://github.com/metacontroller/metacontroller-apiserver";
const {groups, examples} = JSON.parse(readFileSync(new URL("../pages/sidebar.json", import.meta.url), "utf8"));

// A build that is no release is called by its commit.
const [, commit] = process.env.VERSION.match(/^v0\.0\.0-\d{14}-([0-9a-f]{7})/) ?? [];
const version = commit === undefined ? process.env.VERSION : `main, ${commit}`;

/** Returns the groups of the list of documents, with the examples below their own page. */
function sidebar() {
  return groups.map(({text, items}) => ({
    text,
    items: items.map((item) => (item.link === "/examples/" ? {...item, collapsed: true, items: examples} : item)),
  }));
}

export default defineConfig({
  title: "metacontroller-apiserver",
  description: "Write a Kubernetes controller as one small HTTP function, in any language, or as one file with expressions.",
  srcDir: "pages",
  outDir: "public",
  cleanUrls: false,
  metaChunk: false,
  buildConcurrency: 1, // pages come into the index of the search in this order, so that the same pages make the same site
  markdown: {
    anchor: {slugify: slug},
    toc: {slugify: slug},
    headers: {slugify: slug},
  },
  themeConfig: {
    nav: [
      {text: "Concepts", link: "/concepts"},
      {text: "First hook", link: "/first-hook"},
      {text: "Examples", link: "/examples/"},
      {text: "Questions", link: "/faq"},
      {text: version, items: [{text: "Changes", link: "/changelog"}, {text: "Versions", link: "/versioning"}, {text: "Source", link: home}]},
    ],
    sidebar: sidebar(),
    outline: {level: [2, 3]},
    search: {provider: "local", options: {detailedView: true, miniSearch: searchOptions}},
    // The function runs in the browser, alone.
    editLink: {pattern: ({frontmatter}) => frontmatter.edit, text: "Edit this page"},
    footer: {message: `Version ${version}. Apache License 2.0.`},
  },
});
