#!/usr/bin/env node
"use strict";
// The sync and finalize hook of catset: ordered Pods with stable names, each with volumes of its own.

const http = require("node:http");

/** Returns the children that a CatSet should have. To finalize a CatSet, scale it down to zero. */
function sync({parent, children, finalizing}) {
  const replicas = finalizing ? 0 : parent.spec.replicas;
  const templates = parent.spec.volumeClaimTemplates ?? [];
  const pods = byOrdinal(children["Pod.v1"], parent.metadata.name);

  let ready = 0; // the number of Pods that are ready before the first one that is not
  while (ready < replicas && isReady(pods.get(ready))) ready++;

  const ordinals = new Set(pods.keys());
  if (ready < replicas) {
    ordinals.add(ready); // all before it are ready: create the next one
  } else if (Math.max(...ordinals) >= replicas) {
    ordinals.delete(Math.max(...ordinals)); // all that stay are ready: delete the last one
  }

  // Pods move to a new template in the order of this list, so the last one is first.
  const descending = [...ordinals].sort((a, b) => b - a);
  return {
    status: {replicas: pods.size, readyReplicas: ready},
    children: [
      ...descending.map((ordinal) => pod(parent, ordinal, templates)),
      ...templates.flatMap((template) => claims(parent, template, ordinals, children["PersistentVolumeClaim.v1"])),
    ],
    finalized: finalizing && pods.size === 0,
  };
}

/** Returns the objects with the name <prefix>-<number>, by their numbers. */
function byOrdinal(objects, prefix) {
  const found = new Map();
  for (const object of Object.values(objects)) {
    const [, ordinal] = object.metadata.name.match(/^.*-(\d+)$/) ?? [];
    if (object.metadata.name === `${prefix}-${ordinal}`) found.set(Number(ordinal), object);
  }
  return found;
}

function isReady(pod) {
  return pod !== undefined && pod.metadata.deletionTimestamp === undefined && pod.status?.phase === "Running" &&
    (pod.status.conditions ?? []).some(({type, status}) => type === "Ready" && status === "True");
}

function pod(parent, ordinal, claimTemplates) {
  const name = `${parent.metadata.name}-${ordinal}`;
  const {metadata, spec} = parent.spec.template;
  const claimed = claimTemplates.map(({metadata}) => metadata.name);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {...metadata, name},
    spec: {
      ...spec,
      hostname: name,
      subdomain: parent.spec.serviceName,
      volumes: [
        ...(spec.volumes ?? []).filter((volume) => !claimed.includes(volume.name)),
        ...claimed.map((volume) => ({name: volume, persistentVolumeClaim: {claimName: `${volume}-${name}`}})),
      ],
    },
  };
}

/** Returns the claims of one template: those of the Pods, and those that deleted Pods have left. */
function claims(parent, template, ordinals, existing) {
  const prefix = `${template.metadata.name}-${parent.metadata.name}`;
  const wanted = new Set([...ordinals, ...byOrdinal(existing, prefix).keys()]);
  return [...wanted].map((ordinal) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {...template.metadata, name: `${prefix}-${ordinal}`},
    spec: template.spec,
  }));
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

const port = Number(process.argv[2] ?? 8090);
const address = process.argv[3] ?? "127.0.0.1";
server.listen(port, address, () => console.log(`The hook listens on port ${port}.`));
