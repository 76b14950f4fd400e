#!/usr/bin/env node
"use strict";
// The hook of Websites.

const http = require("node:http");

/** Gets a Website and its existing children, and returns its status and its desired children. */
function sync({parent, children}) {
  const {name, namespace} = parent.metadata;
  const observed = children["Deployment.apps/v1"][`${namespace}/${name}`];
  return {
    status: {readyReplicas: observed?.status?.readyReplicas ?? 0},
    children: [deployment(name, parent.spec)],
  };
}

function deployment(name, {image, replicas}) {
  const labels = {"website": name};
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {name},
    spec: {
      replicas,
      selector: {matchLabels: labels},
      template: {
        metadata: {labels},
        spec: {containers: [{name: "main", image}]},
      },
    },
  };
}

const hooks = new Map([["/sync", sync]]);

/** Answers with the result of the function for the path, or with the stack of its error. */
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

const port = Number(process.argv[2] ?? 8080);
const address = process.argv[3] ?? "127.0.0.1";
server.listen(port, address, () => console.log(`The hook listens on port ${port}.`));
