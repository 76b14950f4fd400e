#!/usr/bin/env node
"use strict";
// The hook of IndexedJob: Pods with the numbers 0 to completions-1, some of them at a time.

const http = require("node:http");

function sync({parent: job, children}) {
  const {completions, parallelism} = job.spec;
  const phases = new Map(); // of the Pods that there are, by number
  for (const pod of Object.values(children["Pod.v1"])) {
    const [, index] = pod.metadata.name.match(/-(\d+)$/) ?? [];
    if (pod.metadata.name === `${job.metadata.name}-${index}`) phases.set(Number(index), pod.status?.phase);
  }
  if ((job.status?.conditions ?? []).some(({type, status}) => type === "Complete" && status === "True")) {
    // It stays complete, also if somebody deletes the Pods.
    return {status: job.status, children: [...phases.keys()].map((index) => pod(job, index))};
  }

  const count = (...wanted) => [...phases.values()].filter((phase) => wanted.includes(phase)).length;
  const [succeeded, failed] = [count("Succeeded"), count("Failed")];
  let active = phases.size - succeeded - failed;
  const status = {
    active, succeeded, failed,
    conditions: [{type: "Complete", status: succeeded === completions ? "True" : "False"}],
  };

  const wanted = new Set(phases.keys());
  for (let index = 0; index < completions && active < parallelism; index++) {
    if (wanted.has(index)) continue;
    wanted.add(index);
    active++;
  }
  return {status, children: [...wanted].map((index) => pod(job, index))};
}

function pod(job, index) {
  const {metadata, spec} = job.spec.template;
  const env = {name: "JOB_INDEX", value: String(index)};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {...metadata, name: `${job.metadata.name}-${index}`},
    spec: {...spec, containers: spec.containers.map((container) => ({...container, env: [...(container.env ?? []), env]}))},
  };
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

const port = Number(process.argv[2] ?? 8092);
const address = process.argv[3] ?? "127.0.0.1";
server.listen(port, address, () => console.log(`The hook listens on port ${port}.`));
