#!/usr/bin/env node
"use strict";
// The hook of Poster: the same text in three children, each of a type with another update method.

const http = require("node:http");

function sync({parent: poster}) {
  const {name} = poster.metadata;
  const {text} = poster.spec;
  const configMap = {apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {text}};
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {name},
    spec: {containers: [{name: "show", image: "busybox", command: ["sh", "-c", `echo ${text}; sleep 1000000`]}], terminationGracePeriodSeconds: 1},
  };
  const secret = {apiVersion: "v1", kind: "Secret", metadata: {name}, stringData: {text}};
  return {status: {}, children: [configMap, pod, secret]};
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

const port = Number(process.argv[2] ?? 8096);
const address = process.argv[3] ?? "127.0.0.1";
server.listen(port, address, () => console.log(`The hook listens on port ${port}.`));
