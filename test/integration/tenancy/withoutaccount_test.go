// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A controller from before accounts were required has none that the policy could ask about. It takes a
// restart of the server, so no other test may run.
func TestAControllerWithoutAnAccountBelongsToNoTeam(t *testing.T) {
	f := prepare(t, hook.Answering(t, func(composite) object { return object{} }))
	team := harness.Name("late")
	found(t, f.Parents.Group, team)

	flags := env.Server.Args
	env.StopServer(t)
	env.Server.Args = nil
	env.StartServer(t)
	f.RunComposite(f.CompositeSpec())
	env.StopServer(t)
	env.Server.Args = flags
	env.StartServer(t)

	env.Kubectl(t, "create", "clusterrolebinding", team+"-admins", "--clusterrole=cluster-admin", "--group="+team+"-admins")
	waitUntilMay(t, team+"-admins", authorizationv1.ResourceAttributes{Group: "metacontroller.k8s.io", Resource: "compositecontrollers", Verb: "escalate"})
	for _, attempt := range []string{
		"annotate cc NAME metacontroller.k8s.io/skip-drain=true",
		`patch cc NAME --type=merge -p {"spec":{"serviceAccount":{"namespace":"TEAM","name":"websites"}}}`,
		"delete cc NAME",
	} {
		args := append(strings.Fields(strings.NewReplacer("NAME", f.Controller.Name, "TEAM", team).Replace(attempt)), "--as=anybody", "--as-group="+team+"-team")
		if answer := env.KubectlError(t, args...); !strings.Contains(answer, "only who has the verb escalate on controllers may change or delete it") {
			t.Errorf("kubectl %s says %s", attempt, answer)
		}
	}
	env.Kubectl(t, "delete", "cc", f.Controller.Name, "--as=anybody", "--as-group="+team+"-admins")
}
