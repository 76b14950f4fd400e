// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestTheHealthOfAControllerIsMeasured(t *testing.T) {
	c := made(t)
	defer c.Close()
	for name, err := range map[string]error{"a": nil, "b": nil, "c": errors.New("no")} {
		c.reporter.Update(web(name), err)
	}
	c.pause(web("d"), &parentState{})
	c.reporter.SetFindings(web("a"), []pipeline.Warning{{Reason: pipeline.UnknownField, Message: "spec.x"}}, 3)
	err := testutil.CollectAndCompare(status.NewMetrics(c, c.spec.Kind.Name, c.spec.Name, c.planner.Hooks.ByName()), strings.NewReader(`
# HELP metacontroller_children_outdated [ALPHA] Children that the update method OnDelete, or none, leaves as they are.
# TYPE metacontroller_children_outdated gauge
metacontroller_children_outdated{controller_name="webs",controller_type="CompositeController"} 3
# HELP metacontroller_controller_ready [ALPHA] 1 if the running controller sees the cluster and reaches its hooks, 0 if not.
# TYPE metacontroller_controller_ready gauge
metacontroller_controller_ready{controller_name="webs",controller_type="CompositeController"} 0
# HELP metacontroller_hook_down [ALPHA] 1 if the hook has not answered several calls in a row, 0 if it has.
# TYPE metacontroller_hook_down gauge
metacontroller_hook_down{controller_name="webs",controller_type="CompositeController",hook="sync"} 0
# HELP metacontroller_parents [ALPHA] Parents of the controller by how their last sync ended: synced, failing, paused, or pending if there was none.
# TYPE metacontroller_parents gauge
metacontroller_parents{controller_name="webs",controller_type="CompositeController",state="failing"} 1
metacontroller_parents{controller_name="webs",controller_type="CompositeController",state="paused"} 1
metacontroller_parents{controller_name="webs",controller_type="CompositeController",state="synced"} 2
# HELP metacontroller_parents_warned [ALPHA] Parents whose last sync found what is probably a mistake.
# TYPE metacontroller_parents_warned gauge
metacontroller_parents_warned{controller_name="webs",controller_type="CompositeController"} 1
# HELP metacontroller_write_loops [ALPHA] Writes that are slowed down because they would be repeated again and again.
# TYPE metacontroller_write_loops gauge
metacontroller_write_loops{controller_name="webs",controller_type="CompositeController"} 0
`))
	if err != nil {
		t.Error(err)
	}
}
