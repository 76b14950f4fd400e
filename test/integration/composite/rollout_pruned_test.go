// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// The schema of a parent may drop the time of the condition Updated, as those of Metacontroller's
// examples do, or all conditions. The status is written once all the same, and at most once more by
// a controller that is new.
func TestAConditionThatTheSchemaDropsIsWrittenOnce(t *testing.T) {
	t.Parallel()
	text := object{"type": "string"}
	withoutTime := object{"type": "object", "properties": object{"type": text, "status": text, "reason": text, "message": text}}
	for name, status := range map[string]object{
		"the time":       {"conditions": object{"type": "array", "items": withoutTime}, "observedGeneration": object{"type": "integer"}},
		"all conditions": {"observedGeneration": object{"type": "integer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := prepareRolling(t)
			r.Parents = env.Install(t, harness.CRD{Kind: "Thing", Schema: object{
				"spec":   object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				"status": object{"type": "object", "properties": status},
			}})
			spec := r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate)
			r.RunComposite(spec)
			r.CreateParent("a", object{"replicas": int64(2), "version": "1"})
			r.waitForVersions("1", "1")
			r.makeReady("a-0", "a-1")
			r.waitUntilPartsAreSeen()
			r.waitForRevisions(1)
			r.waitUntilTheDroppedConditionIsTold()
			r.expectStatusIsLeftAlone(0)
			r.rollOut("2")
			r.waitForVersions("2", "1")
			r.waitForRevisions(2)
			r.expectStatusIsLeftAlone(0)

			r.DeleteController()
			r.WaitUntilControllerIsGone()
			r.RunComposite(spec)
			r.expectStatusIsLeftAlone(1)
			r.expectStatusIsLeftAlone(0)
		})
	}
}

// waitUntilTheDroppedConditionIsTold waits until the controller says that the condition Updated, or its
// time, is dropped. The host may publish the schema a while after it serves the type.
func (r *rolling) waitUntilTheDroppedConditionIsTold() {
	r.Helper()
	env.WaitForEvent(r, r.Namespace, "a", "UnknownField", "the cluster does not know the field status.conditions")
	env.Eventually(r, func(context.Context) error {
		if said := r.fieldsKnown(); !strings.Contains(said, "so the condition Updated") {
			return fmt.Errorf("Warnings says %q", said)
		}
		return nil
	})
}

// expectStatusIsLeftAlone checks that parent a is written at most so many times although it is
// synced at several times. The times in a status are in seconds.
func (r *rolling) expectStatusIsLeftAlone(most int) {
	r.Helper()
	if most == 0 {
		r.Settle("a") // what is still to be written is
	}
	from := env.AuditEnd(r)
	r.Settle("a")
	unchanged := time.Now()
	env.Eventually(r, func(context.Context) error {
		if time.Since(unchanged) <= time.Second {
			return errors.New("it is still the same second")
		}
		return nil
	})
	r.Settle("a")
	writes := slices.DeleteFunc(r.RequestLines(from, writesOf(r.Parents)), func(made string) bool { return strings.HasSuffix(made, ": 409") })
	if len(writes) > most {
		r.Errorf("quiet syncs have written the parent, want at most %d: %v", most, writes)
	}
}
