// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// The tests of this file play Metacontroller's examples of copying an object into namespaces.

const propagation = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Propagation, resource: propagations, labelSelector: {$SELECTED}}
  childResources:
  - {apiVersion: v1, resource: $COPIES, updateStrategy: {method: InPlace}}
  hooks:
    sync: {webhook: {url: $HOOK/sync}}
    customize: {webhook: {url: $HOOK/customize}}
`

// copies returns copies of the related object of a kind, one for each namespace.
func copies(asked object, kind string, namespaces []string) list {
	copied := list{}
	for _, source := range scenario.At(asked, "related", kind+".v1").(object) {
		for _, namespace := range namespaces {
			copied = append(copied, object{
				"apiVersion": "v1", "kind": kind, "data": scenario.At(source.(object), "data"),
				"metadata": object{"name": scenario.At(source.(object), "metadata", "name"), "namespace": namespace},
			})
		}
	}
	return copied
}

// otherNamespaces returns the related namespaces without that of the source.
func otherNamespaces(asked object) []string {
	var names []string
	for name := range scenario.At(asked, "related", "Namespace.v1").(object) {
		if name != scenario.At(asked, "parent", "spec", "sourceNamespace") {
			names = append(names, name)
		}
	}
	return names
}

// source returns the rule that selects the object to copy.
func source(asked object, resource string) object {
	spec := scenario.At(asked, "parent", "spec").(object)
	return object{"apiVersion": "v1", "resource": resource, "namespace": spec["sourceNamespace"], "names": list{spec["sourceName"]}}
}

// namespaces creates a namespace for each word. They have the label unless it is empty.
func namespaces(s *scenario.Scenario, label string, words ...string) {
	s.Helper()
	for _, word := range words {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
		if label != "" {
			namespace.Labels = map[string]string{label: "true"}
		}
		created, err := env.Kube.CoreV1().Namespaces().Create(s.Context(), namespace, metav1.CreateOptions{})
		if err != nil {
			s.Fatal(err)
		}
		s.Say(word, created.Name)
	}
}

// In the example, a cluster-scoped parent lists the namespaces. A parent that is not selected has
// no effect.
func TestExampleConfigMapPropagation(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Propagation", ClusterScoped: true})
		s.Say("$COPIES", "configmaps")
		s.Say("$SELECTED", "matchLabels: {version: v1}")
		namespaces(s, "", "$ONE", "$TWO", "$THREE", "$FOUR")
		s.Answers(answers{
			"/customize": func(asked object) object {
				return object{"relatedResources": list{source(asked, "configmaps")}}
			},
			"/sync": func(asked object) object {
				var targets []string
				for _, target := range scenario.At(asked, "parent", "spec", "targetNamespaces").(list) {
					targets = append(targets, target.(string))
				}
				return object{
					"status":   object{"expected_copies": len(targets), "actual_copies": len(scenario.At(asked, "children", "ConfigMap.v1").(object))},
					"children": copies(asked, "ConfigMap", targets),
				}
			},
		})
		s.Create(propagation + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: $NAMESPACE}
data: {colour: blue}
---
apiVersion: $Propagation
kind: Propagation
metadata: {name: $NAME-unselected, labels: {version: v2}}
spec: {sourceName: settings, sourceNamespace: $NAMESPACE, targetNamespaces: [$FOUR]}
---
apiVersion: $Propagation
kind: Propagation
metadata: {name: $NAME, labels: {version: v1}}
spec: {sourceName: settings, sourceNamespace: $NAMESPACE, targetNamespaces: [$ONE, $TWO, $THREE]}
`)
		for _, namespace := range []string{"$ONE", "$TWO", "$THREE"} {
			s.Exists(settingsIn(namespace), scenario.Has("data.colour", "blue"))
		}
		parent := ref{APIVersion: "$Propagation", Kind: "Propagation", Name: "$NAME"}
		s.Exists(parent, scenario.Has("status", object{
			"expected_copies": int64(3), "actual_copies": int64(3), "observedGeneration": int64(1),
		}))
		s.Absent(settingsIn("$FOUR"))

		s.Patch(settingsIn("$NAMESPACE"), `{data: {colour: red}}`)
		s.Exists(settingsIn("$TWO"), scenario.Has("data.colour", "red"))
		s.Delete(settingsIn("$NAMESPACE"))
		s.Gone(settingsIn("$THREE"))
		s.Exists(parent, scenario.Has("status.actual_copies", int64(0)))
	})
}

func settingsIn(namespace string) ref {
	return ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "settings"}
}

// In the example, a ConfigMap is copied into all namespaces. Here it is not copied into those of
// other tests, which are only watched.
func TestExampleGlobalConfigMap(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Propagation", ClusterScoped: true})
		s.Say("$COPIES", "configmaps")
		s.Say("$SELECTED", "")
		label := "of-" + s.Unique
		namespaces(s, label, "$FIRST", "$SECOND")
		s.Answers(answers{
			"/customize": func(asked object) object {
				return object{"relatedResources": list{
					source(asked, "configmaps"),
					object{"apiVersion": "v1", "resource": "namespaces", "labelSelector": object{}},
				}}
			},
			"/sync": func(asked object) object {
				var targets []string
				for _, name := range otherNamespaces(asked) {
					if scenario.At(asked, "related", "Namespace.v1", name, "metadata", "labels", label) != nil {
						targets = append(targets, name)
					}
				}
				return object{"status": object{"working": "fine"}, "children": copies(asked, "ConfigMap", targets)}
			},
		})
		s.Create(propagation + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: $NAMESPACE}
data: {colour: blue}
---
apiVersion: $Propagation
kind: Propagation
metadata: {name: $NAME}
spec: {sourceName: settings, sourceNamespace: $NAMESPACE}
`)
		s.Exists(settingsIn("$FIRST"), scenario.Has("data.colour", "blue"))
		s.Exists(settingsIn("$SECOND"), scenario.Has("data.colour", "blue"))
		s.Exists(ref{APIVersion: "$Propagation", Kind: "Propagation", Name: "$NAME"}, scenario.Has("status.working", "fine"))
		namespaces(s, label, "$THIRD")
		s.Exists(settingsIn("$THIRD"), scenario.Has("data.colour", "blue"))
	})
}

func TestExampleSecretPropagation(t *testing.T) {
	underBothEngines(t, func(_ *testing.T, s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Propagation", ClusterScoped: true})
		s.Say("$COPIES", "secrets")
		s.Say("$SELECTED", "")
		label := "of-" + s.Unique
		s.Say("$LABEL", label)
		namespaces(s, label, "$ALPHA", "$BETA")
		namespaces(s, "", "$GAMMA")
		s.Answers(answers{
			"/customize": func(asked object) object {
				return object{"relatedResources": list{
					source(asked, "secrets"),
					object{"apiVersion": "v1", "resource": "namespaces", "labelSelector": scenario.At(asked, "parent", "spec", "targetNamespaceLabelSelector")},
				}}
			},
			"/sync": func(asked object) object {
				return object{"status": object{"working": "fine"}, "children": copies(asked, "Secret", otherNamespaces(asked))}
			},
		})
		s.Create(propagation + `
---
apiVersion: v1
kind: Secret
metadata: {name: shareable, namespace: $NAMESPACE}
data: {some: dmFsdWUK}
---
apiVersion: $Propagation
kind: Propagation
metadata: {name: $NAME}
spec: {sourceName: shareable, sourceNamespace: $NAMESPACE, targetNamespaceLabelSelector: {matchLabels: {$LABEL: "true"}}}
`)
		secretIn := func(namespace string) ref {
			return ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: "shareable"}
		}
		s.Exists(secretIn("$ALPHA"), scenario.Has("data.some", "dmFsdWUK"))
		s.Exists(secretIn("$BETA"), scenario.Has("data.some", "dmFsdWUK"))
		s.Exists(ref{APIVersion: "$Propagation", Kind: "Propagation", Name: "$NAME"}, scenario.Has("status.working", "fine"))
		s.Absent(secretIn("$GAMMA"))
		// A copy is created in a namespace that gets the label.
		s.Patch(ref{APIVersion: "v1", Kind: "Namespace", Name: "$GAMMA"}, fmt.Sprintf(`{metadata: {labels: {%s: "true"}}}`, label))
		s.Exists(secretIn("$GAMMA"), scenario.Has("data.some", "dmFsdWUK"))
	})
}
