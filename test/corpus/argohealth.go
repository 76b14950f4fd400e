// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// ArgoHealth returns the health that Argo CD shows of a CompositeController. It runs the script of docs/gitops.md with
// the interpreter that Argo CD uses.
func ArgoHealth(controller map[string]any) (status, message string, err error) {
	script, err := healthScript()
	if err != nil {
		return "", "", err
	}
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", luaValue(state, controller))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	health, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", "", fmt.Errorf("the script returns %s", state.Get(-1))
	}
	return health.RawGetString("status").String(), health.RawGetString("message").String(), nil
}

func healthScript() (string, error) {
	page, err := manual.Read("docs/gitops.md")
	if err != nil {
		return "", err
	}
	for _, block := range page.Blocks {
		var settings struct{ Data map[string]string }
		if err := yaml.Unmarshal([]byte(block.Text), &settings); err != nil {
			continue // not all blocks are YAML
		}
		if script, found := settings.Data["resource.customizations.health.metacontroller.k8s.io_CompositeController"]; found {
			return script, nil
		}
	}
	return "", errors.New("docs/gitops.md has no script for the health of CompositeControllers")
}

// luaValue returns a value of YAML as one of Lua.
func luaValue(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, element := range of {
			table.RawSetString(key, luaValue(state, element))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range of {
			table.Append(luaValue(state, element))
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
