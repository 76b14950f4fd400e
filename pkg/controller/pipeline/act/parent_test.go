// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// shopAs is the JSON of the parent with that resource version and more metadata.
func shopAs(version int, more string) string {
	return fmt.Sprintf(`{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","resourceVersion":"%d",%s}}`, version, more)
}

// Others write the parent while it is written. Each of their writes is one conflict of ours.
func TestAWriteOfTheParentStartsAgainFromWhatIsThere(t *testing.T) {
	const same, changed = `"uid":"u","generation":3`, `"uid":"u","generation":4`
	deleted := same + `,"deletionTimestamp":"2026-03-04T05:06:07Z"`
	tests := map[string]struct {
		conflicts     int
		live          string // metadata
		anyGeneration bool
		done          bool // nothing is left to do on the live object
		writes        []string
		gets          int
		result        bool
		conflict      bool
	}{
		"nobody else writes":                               {live: same, writes: []string{"1"}, result: true},
		"one write of another":                             {conflicts: 1, live: same, writes: []string{"1", "2"}, gets: 1, result: true},
		"three writes of others":                           {conflicts: 3, live: same, writes: []string{"1", "2", "3", "4"}, gets: 3, result: true},
		"more writes than it is tried":                     {conflicts: 9, live: same, writes: []string{"1", "2", "3", "4"}, gets: 3, conflict: true},
		"another generation":                               {conflicts: 1, live: changed, writes: []string{"1"}, gets: 1, conflict: true},
		"another object of the name":                       {conflicts: 1, live: `"uid":"v","generation":3`, anyGeneration: true, writes: []string{"1"}, gets: 1, conflict: true},
		"it is gone":                                       {conflicts: 1, writes: []string{"1"}, gets: 1, conflict: true},
		"it is being deleted":                              {conflicts: 1, live: deleted, writes: []string{"1"}, gets: 1, conflict: true},
		"no hook was asked":                                {conflicts: 1, live: changed, anyGeneration: true, writes: []string{"1", "2"}, gets: 1, result: true},
		"the other wrote the same":                         {conflicts: 1, live: same, done: true, writes: []string{"1"}, gets: 1},
		"it is deleted and none asked":                     {conflicts: 1, live: deleted, anyGeneration: true, writes: []string{"1", "2"}, gets: 1, result: true},
		"a type that has no generations, of other content": {conflicts: 1, live: `"uid":"u"},"data":{"a":"changed"`, writes: []string{"1"}, gets: 1, conflict: true},
		"a type that has no generations":                   {conflicts: 1, live: `"uid":"u"`, writes: []string{"1", "2"}, gets: 1, result: true},
	}
	for name, test := range tests {
		for _, op := range []pipeline.Op{pipeline.Status, pipeline.Metadata, pipeline.Finalizer} {
			t.Run(name+", "+string(op), func(t *testing.T) {
				version, gets := 1, 0
				var writes []string
				_, actor := serve(t, func(asked request) (int, string) {
					if asked.method == "GET" {
						gets++
						if test.live == "" {
							return 404, failure(404, metav1.StatusReasonNotFound, "gone")
						}
						return 200, shopAs(version, test.live)
					}
					writes = append(writes, asked.body)
					if version <= test.conflicts {
						version++
						return 409, failure(409, metav1.StatusReasonConflict, "no")
					}
					return 200, shopAs(version+1, test.live)
				})
				observed := same
				if strings.HasPrefix(name, "a type that has no generations") {
					observed = `"uid":"u"`
				}
				s := pipeline.Step{Op: op, Type: webs, Namespace: "default", Name: "shop", AnyGeneration: test.anyGeneration}
				s.Observed, s.Body = parsed(t, shopAs(1, observed)), []byte("1")
				s.Rebase = func(current *object.Object) ([]byte, error) {
					if test.done {
						return nil, nil
					}
					return []byte(current.ResourceVersion), nil
				}
				outcome := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{s}})[0]
				if diff := cmp.Diff(test.writes, writes); diff != "" || gets != test.gets {
					t.Errorf("it was read %d times, want %d, and written as (-want +got):\n%s", gets, test.gets, diff)
				}
				if outcome.Err != nil || outcome.Conflict != test.conflict || (outcome.Result != nil) != test.result {
					t.Errorf("the outcome is %+v", outcome)
				}
				if latest := outcome.Latest().ResourceVersion; !test.conflict && latest != fmt.Sprint(version+len(test.writes)-test.conflicts) {
					t.Errorf("the latest form seen is %s", latest)
				}
			})
		}
	}
}

// Where the status is no subresource, its own write makes a new generation.
func TestTheFinalizerIsRemovedInTheGenerationThatTheStatusMade(t *testing.T) {
	live := shopAs(5, `"uid":"parent-uid","generation":1`)
	_, actor := serve(t, func(asked request) (int, string) {
		switch {
		case asked.method == "GET":
			return 200, live
		case asked.body == `{"a":"shop"}`:
			live = shopAs(7, `"uid":"parent-uid","generation":2`) // the status, and one more write
			return 200, shopAs(6, `"uid":"parent-uid","generation":2`)
		case string(object.Lookup([]byte(asked.body), "metadata", "resourceVersion")) != `"7"`:
			return 409, failure(409, metav1.StatusReasonConflict, "no")
		}
		return 200, live
	})
	outcomes := actor.Act(t.Context(), snapshot(t), &pipeline.Plan{Steps: []pipeline.Step{step(t, pipeline.Status, "shop"), lettingGo(t)}})
	if last := outcomes[len(outcomes)-1]; len(outcomes) != 2 || last.Result == nil || last.Observed.ResourceVersion != "7" {
		t.Errorf("the outcomes are %+v", outcomes)
	}
}
