#!/usr/bin/env node
"use strict";
// The hook of crd-roles: for a CustomResourceDefinition, a ClusterRole to read its objects and one to write them.

const http = require("node:http");

function sync({object: crd}) {
  const {group, names} = crd.spec;
  const role = (name, verbs) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: {name: `${crd.metadata.name}-${name}`},
    rules: [{apiGroups: [group], resources: [names.plural], verbs}],
  });
  const read = ["get", "list", "watch"];
  return {attachments: [role("reader", read), role("writer", [...read, "create", "update", "patch", "delete"])]};
}

const hooks = new Map([["/sync", sync]]);

/** Answers with what the function for the path returns, or with the stack of its error. */
const server = http.createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const answer = (status, type, text) => response.writeHead(status, {"Content-Type": type}).end(text);
    const hook = hooks.get(request.url);
    if (hook === undefined) {
      answer(404, "text/plain", `there is no hook ${request.url}, only ${[...hooks.keys()].join(", ")}`);
      return;
    }
    try {
      answer(200, "application/json", JSON.stringify(hook(JSON.parse(Buffer.concat(chunks)))));
    } catch (error) {
      console.error(error);
      answer(500, "text/plain", error.stack);
    }
  });
});

const port = Number(process.argv[2] ?? 8088);
const address = process.argv[3] ?? "127.0.0.1";
server.listen(port, address, () => console.log(`The hook listens on port ${port}.`));
