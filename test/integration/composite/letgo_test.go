// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// patchWarned patches the controller with kubectl, and fails the test unless kubectl prints the warning, with a dry
// run, too. The server leaves out what a busy cluster does not tell it in time, so a dry run may have to be repeated.
func (f *fixture) patchWarned(patch object, warning string) {
	f.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		f.Fatal(err)
	}
	try := func(ctx context.Context, dryRun string) error {
		out, err := env.Host.KubectlCommand(ctx, "patch", "cc", f.Controller.Name, "--type=merge", "--dry-run="+dryRun, "-p", string(body)).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Warning: "+warning) {
			return fmt.Errorf("--dry-run=%s: error %w, no warning %q in:\n%s", dryRun, err, warning, out)
		}
		return nil
	}
	env.Eventually(f, func(ctx context.Context) error { return try(ctx, "server") })
	if err := try(f.Context(), "none"); err != nil {
		f.Error(err)
	}
}

// elsewhere selects parents that there are not.
func elsewhere() object {
	return object{"spec": object{"parentResource": object{"labelSelector": object{"matchLabels": object{"run": "elsewhere"}}}}}
}

func TestANarrowerSelectorWithoutAFinalizeHookSaysSo(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, scripted(t, notFinalized).handle))
	f.RunComposite(f.CompositeSpec(running("here")))
	f.labelled("a", "here")
	f.labelled("b", "here")
	f.labelled("c", "there")
	f.waitForSynced("a")
	f.waitForSynced("b")
	f.patchWarned(elsewhere(), fmt.Sprintf("spec.parentResource.labelSelector: the controller releases parents (%s) that no longer match: it stops syncing them, and their children stay as they are", f.Parents.GroupResource()))
	for _, parent := range []string{"a", "b"} {
		env.WaitForEvent(t, f.Namespace, parent, "NoLongerSelected", "the server stops syncing it")
	}
	if !f.HasConfigMap("a") {
		t.Error("the children are gone")
	}
}
