#!/usr/bin/env bash
# Removes the server and what belongs to it from the cluster of $KUBECONFIG: the APIService first, because
# without its server it blocks the deletion of namespaces.
#
#   undeploy.sh FOLDER    the folder of the kustomization.yaml that was applied
#
# It removes nothing while there are controllers: the server's volume goes, too, and nobody else removes the
# finalizers that controllers have put on their parents. FORCE=1 does not look. The namespace stays: hooks may
# be in it, and Metacontroller. To give a migration up, do `metacontroller-apiserver migrate back` first.
set -euo pipefail
kubectl=${KUBECTL:-kubectl}
apiservice=v1alpha1.metacontroller.k8s.io

service=$($kubectl get apiservice "$apiservice" --ignore-not-found -o jsonpath='{.spec.service.name}')
# Without a Service, the controllers are those of Metacontroller.
if [[ ${FORCE:-} != 1 && -n $service ]]; then
  if ! controllers=$($kubectl get "compositecontrollers.metacontroller.k8s.io,decoratorcontrollers.metacontroller.k8s.io" -o name); then
    echo "The controllers cannot be listed, so some may be lost: make the server answer, or remove it all the same with FORCE=1." >&2
    exit 1
  fi
  if [[ -n $controllers ]]; then
    printf 'There are controllers: delete them first, or remove the server all the same with FORCE=1.\n%s\n' "$controllers" >&2
    exit 1
  fi
fi
namespace=$($kubectl get apiservice "$apiservice" --ignore-not-found -o jsonpath='{.spec.service.namespace}')
if [[ -n $service ]]; then
  $kubectl delete apiservice "$apiservice" --ignore-not-found
fi
$kubectl delete -k "$1" --ignore-not-found
$kubectl -n metacontroller delete persistentvolumeclaim -l app.kubernetes.io/name=metacontroller-apiserver --ignore-not-found
# Its Lease keeps servers with another storage from running, also where the namespace stays.
if [[ -n $namespace ]]; then
  $kubectl delete lease --namespace "$namespace" --selector metacontroller.k8s.io/storage --ignore-not-found
fi
