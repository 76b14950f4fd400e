// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// The script of docs/gitops.md tells Argo CD how a controller is. Argo CD runs it with the same interpreter.
func TestTheHealthThatArgoCDIsToldOf(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"no status yet":                       {`{metadata: {generation: 1}}`, "Progressing"},
		"the status of an earlier generation": {`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`, "Progressing"},
		"it runs":                             {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", message: m}]}}`, "Healthy m"},
		"it does not run":                     {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", message: m}]}}`, "Degraded m"},
		"it is not known":                     {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: Unknown, message: m}]}}`, "Progressing m"},
		"it is paused":                        {`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Paused, status: "True", message: p}, {type: Ready, status: "True", message: m}]}}`, "Suspended p"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
				t.Fatal(err)
			}
			if got := argoHealth(t, object); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// argoHealth returns the status and the message of the health that Argo CD shows of a controller.
func argoHealth(t *testing.T, object map[string]any) string {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(healthScript(t)); err != nil {
		t.Fatal(err)
	}
	health, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("the script returns %s", state.Get(-1))
	}
	return health.RawGetString("status").String() + " " + health.RawGetString("message").String()
}

func healthScript(t *testing.T) string {
	t.Helper()
	page, err := manual.Read("docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range page.Blocks {
		var settings struct{ Data map[string]string }
		if err := yaml.Unmarshal([]byte(block.Text), &settings); err != nil {
			continue // not all blocks are YAML
		}
		if script, found := settings.Data["resource.customizations.health.metacontroller.k8s.io_CompositeController"]; found {
			return script
		}
	}
	t.Fatal("docs/gitops.md has no script for the health of CompositeControllers")
	return ""
}

// value returns a value of YAML as one of Lua.
func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, element := range of {
			table.RawSetString(key, value(state, element))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range of {
			table.Append(value(state, element))
		}
		return table
	case string:
		return lua.LString(of)
	case float64:
		return lua.LNumber(of)
	case int64:
		return lua.LNumber(of)
	case bool:
		return lua.LBool(of)
	}
	return lua.LNil
}
