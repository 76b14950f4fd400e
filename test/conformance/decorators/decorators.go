// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorators

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

type (
	object  = scenario.Object
	list    = []any
	ref     = scenario.Ref
	answers = scenario.Answers
)

// Run runs all tests.
func Run(t *testing.T, env *harness.Env) {
	t.Parallel()
	for name, test := range map[string]func(*scenario.Scenario){
		// Metacontroller's own tests.
		"SyncWebhook":        syncWebhook("v1"),
		"SyncWebhookV2":      syncWebhook("v2"),
		"ResyncAfter":        resyncAfter,
		"CustomizeWebhook":   customizeWebhook("v1"),
		"CustomizeWebhookV2": customizeWebhook("v2"),

		"UpdateMethod":                       updateMethod("", kept),
		"UpdateMethodOnDelete":               updateMethod("OnDelete", kept),
		"UpdateMethodRecreate":               updateMethod("Recreate", replaced),
		"UpdateMethodInPlace":                updateMethod("InPlace", updated),
		"UpdateMethodRollingRecreate":        updateMethod("RollingRecreate", replaced),
		"UpdateMethodRollingInPlace":         updateMethod("RollingInPlace", updated),
		"FieldsOfOthersStayAndDroppedOnesGo": fieldsOfOthers,
		"DriftIsRepaired":                    drift,
		"ANameThatIsTakenIsTold":             nameTaken,
		"AnAttachmentOfAnotherIsNotSeen":     otherAnnotation,
		"QuietSyncsWriteNothing":             quiet,
		"OptingOutUndoesWhatWasDone":         optingOut,
		"AttachmentsOfAClusterScopedTarget":  clusterScoped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(scenario.New(t, env))
		})
	}
}

// controller has $RESOURCE, $ATTACHMENTS and $HOOKS. Its label is for a process that runs only
// those that have it.
const controller = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: $NAME, labels: {run: here}}
spec:
  resources: [{$RESOURCE}]
  attachments: $ATTACHMENTS
  hooks: {$HOOKS}
`

// things are all objects of the kind Thing.
const things = "apiVersion: $Thing, resource: things"

const thing = `
apiVersion: $Thing
kind: Thing
metadata: {name: a, namespace: $NAMESPACE, labels: {test: $NAME}}
spec: {value: "1"}
`

var theThing = ref{APIVersion: "$Thing", Kind: "Thing", Namespace: "$NAMESPACE", Name: "a"}

// start defines the kind Thing and runs a controller of things with ConfigMaps as attachments. Rule
// adds to the attachment rule. There is a hook for each answer.
func start(s *scenario.Scenario, rule string, hooks answers) {
	s.Helper()
	s.Define(harness.CRD{Kind: "Thing"})
	s.Say("$RESOURCE", things)
	s.Say("$ATTACHMENTS", "[{apiVersion: v1, resource: configmaps, "+rule+"}]")
	run(s, "v1", hooks)
}

// run runs a controller after the words of its manifest were said. Its hooks have a version of the
// protocol.
func run(s *scenario.Scenario, version string, hooks answers) {
	s.Helper()
	named := ""
	for path := range hooks {
		named += path[1:] + ": {version: " + version + ", webhook: {url: " + s.Hook.URL(path) + "}}, "
	}
	s.Say("$HOOKS", named)
	s.Answers(hooks)
	s.Create(controller)
}

func inPlace(s *scenario.Scenario, sync func(asked object) object) {
	s.Helper()
	start(s, "updateStrategy: {method: InPlace}", answers{"/sync": sync})
}

// value returns the value in the target's spec.
func value(asked object) any { return scenario.At(asked, "object", "spec", "value") }
