// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks the search of the built site what users of Metacontroller have asked in its issues, in their words. Fails if the
// answer is not among the first results.
//
//   node questions.mjs SITE MODULES

import {readdirSync} from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {pathToFileURL} from "node:url";

const [site, modules] = process.argv.slice(2).map((folder) => path.resolve(folder));
const MiniSearch = createRequire(path.join(modules, "package.json"))("minisearch");
const {searchOptions} = await import(pathToFileURL(path.join(modules, ".vitepress/search.mjs")));

/** Questions, and where the answers are. */
const questions = [
  ["CompositeController goes into a hot loop", "/faq.html#why-is-my-hook-called-again-and-again-in-a-hot-loop"],
  ["sync webhook called continually, generation of the parent rises", "/faq.html#why-does-the-generation-of-my-parent-rise-with-every-sync"],
  ["what does a null field in a child do", "/faq.html#what-does-a-null-field-in-a-child-mean"],
  ["adopt existing resources by label selector", "/faq.html#a-child-already-exists-how-do-i-take-over-existing-objects"],
  ["create children in another namespace", "/faq.html#can-a-parent-have-children-in-another-namespace"],
  ["parent with finalizer is stuck in deletion", "/faq.html#why-does-my-parent-hang-in-its-deletion"],
  ["in which order are children deleted", "/faq.html#in-which-order-are-children-deleted"],
  ["finalizer stays on objects after the controller was deleted", "/operations.html#controllers-with-a-finalize-hook"],
  ["how to trigger an immediate sync", "/observing.html#syncs-on-request"],
  ["resync period for external state", "/growing-up.html#state-outside-of-the-cluster"],
  ["bearer token and TLS certificate for webhooks", "/connections.html"],
  ["change of a child does not update it", "/faq.html#why-does-a-changed-child-stay-as-it-is"],
  ["children are deleted and recreated all the time", "/faq.html#why-are-my-children-deleted-and-created-all-the-time"],
  ["autoscaler HPA replicas set back by hook", "/faq.html#the-autoscaler-sets-the-number-of-replicas-and-my-hook-sets-it-back-what-do-i-do"],
  ["status subresource is not enabled", "/faq.html#why-does-the-generation-of-my-parent-rise-with-every-sync"],
  ["current status missing in webhook request", "/faq.html#why-is-there-no-status-in-the-request"],
  ["memory usage with many pods", "/operations.html#which-parents-are-kept"],
  ["thousands of objects, updates take minutes, slow", "/faq.html#thousands-of-objects-and-it-is-slow-why"],
  ["restrict controllers to a namespace", "/tenancy.html#what-namespaces-do"],
  ["upgrade to a new version, what happens", "/install.html#upgrade-and-downgrade"],
  ["migrate from Metacontroller", "/migrate.html"],
  ["go back to Metacontroller after a migration", "/migrate.html#back"],
  ["server-side apply", "/children.html"],
  ["rolling update waits for a pod that is not ready", "/rolling-updates.html#progress"],
  ["see another namespace with customize hook related resources", "/hooks.html#related-objects"],
  ["dry run, what would a change of my hook do", "/plugin.html#preview-changes"],
  ["test a hook without a cluster", "/testing.html"],
  ["debug a hook: see its request and answer", "/faq.html#how-do-i-debug-a-hook"],
  ["roll back a rolling update", "/faq.html#how-do-i-take-a-rolling-update-back"],
  ["pause a controller", "/operations.html#pausing"],
  ["pipeline in CI with GitHub Actions or GitLab", "/ci.html"],
];

const chunks = path.join(site, "assets/chunks");
const file = readdirSync(chunks).find((name) => name.startsWith("@localSearchIndexroot"));
const {default: index} = await import(pathToFileURL(path.join(chunks, file)));
const search = MiniSearch.loadJSON(index, {fields: ["title", "titles", "text"], storeFields: ["title", "titles"], ...searchOptions});

const seen = 5;
let missed = 0;
for (const [question, answer] of questions) {
  const found = search.search(question).map(({id}) => id);
  const rank = found.findIndex((id) => id === answer || (!answer.includes("#") && id.split("#")[0] === answer));
  if (rank < 0 || rank >= seen) {
    missed++;
    console.error(`"${question}" should lead to ${answer}, but it is result ${rank + 1} and the first ones are:\n  ${found.slice(0, seen).join("\n  ")}`);
  }
}
console.log(`${questions.length - missed} of ${questions.length} questions find their answer`);
process.exit(missed > 0 ? 1 : 0);
