// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import "testing"

const (
	stored = "$ kubectl apply -f controller.yaml\ncompositecontroller.metacontroller.k8s.io/websites created\n\n"
	row    = "$ kubectl get compositecontroller websites -o wide\n" +
		"NAME  PARENT  READY  PARENTS  FAILING  WARNED  AGE  CHILDREN  SYNCED  OUTDATED  HOOK  REASON  RESYNC\n" +
		"websites  websites  "
	well = row + "True  1  0  0  <age>  configmaps  True  0  http://<hook>/sync  Running  <none>\n"
)

func TestWhatSeemsHealthy(t *testing.T) {
	for name, test := range map[string]struct {
		shown string
		want  bool
	}{
		"nothing is wrong":                    {shown: stored + well + "\n$ kubectl events\nNo events found.\n", want: true},
		"there are normal events":             {shown: stored + well + "\n$ kubectl events\nNormal  SyncRecovered  Website/shop  Synced\n", want: true},
		"a Warning event":                     {shown: stored + well + "\n$ kubectl events\nWarning  SyncError  Website/shop  no\n"},
		"a Warning event below a description": {shown: stored + well + "Events:\n  Warning  CreateError  metacontroller  no\n"},
		"a warning of kubectl apply":          {shown: "$ kubectl apply -f controller.yaml\nWarning: spec: no\ncreated\n\n" + well},
		"the controller is refused":           {shown: "$ kubectl apply -f controller.yaml\nError from server (BadRequest): no\n"},
		"it is not ready":                     {shown: stored + row + "False  <unknown>  <unknown>  <unknown>  <age>  configmaps  Unknown  <unknown>  http://<hook>/sync  UnknownType  <none>\n"},
		"a parent fails":                      {shown: stored + row + "True  1  1  0  <age>  configmaps  False  0  http://<hook>/sync  ParentsFailing  <none>\n"},
		"a parent is warned of":               {shown: stored + row + "True  1  0  1  <age>  configmaps  True  0  http://<hook>/sync  UnknownField  <none>\n"},
		"a child is outdated":                 {shown: stored + row + "True  1  0  0  <age>  configmaps  True  1  http://<hook>/sync  Running  <none>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := healthy(test.shown); got != test.want {
				t.Errorf("healthy = %v, want %v", got, test.want)
			}
		})
	}
}

func TestEventsAreSortedWithoutAgesAndCounts(t *testing.T) {
	got := eventRows(`LAST SEEN              TYPE      REASON      OBJECT         MESSAGE
5s (x3 over 10s)       Warning   SyncError   Website/shop   two
lines
2s                     Normal    Done        Website/shop   all is well
1s                     Normal    Done        Website/shop   all is well
`)
	want := "Normal  Done  Website/shop  all is well\nWarning  SyncError  Website/shop  two\nlines\n"
	if got != want {
		t.Errorf("the events are\n%s, want\n%s", got, want)
	}
}

func TestADescriptionHasTheStateAndTheEvents(t *testing.T) {
	got := description(`Name:         websites
Labels:       <none>
API Version:  metacontroller.k8s.io/v1alpha1
Metadata:
  Generation:          1
Spec:
  Generate Selector:  true
Status:
  Conditions:
    Last Transition Time:  2026-01-01T00:00:00Z
    Message:               all is well
    Observed Generation:   1
    Reason:                Running
    Status:                True
    Type:                  Ready
    Last Transition Time:  2026-01-01T00:00:00Z
    Message:               a text
ErrorOfTheHook: in two lines
    Observed Generation:   1
    Reason:                ParentsFailing
    Status:                False
    Type:                  ParentsSynced
  Observed Generation:     1
  Parents:
    Failing:  1
Events:
  Type     Reason     Age               From            Message
  ----     ------     ----              ----            -------
  Warning  SyncError  1s (x2 over 10s)  metacontroller  no
`)
	want := `Name:  websites
Status:
  Conditions:
    Message:  a text
ErrorOfTheHook: in two lines
    Reason:  ParentsFailing
    Status:  False
    Type:  ParentsSynced
  Parents:
    Failing:  1
Events:
  Warning  SyncError  metacontroller  no
`
	if got != want {
		t.Errorf("the description is\n%s, want\n%s", got, want)
	}
}
