// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"
)

// Whichever way an object is changed, kubectl prints a sentence for each field that cannot be read.
func TestChangesThatCannotBeReadAreToldByField(t *testing.T) {
	published(t)
	name := created(t, "  resyncPeriodSeconds: 60")
	const (
		number  = `spec.resyncPeriodSeconds: must be an integer, and is the string "3"; write it without quotation marks`
		unknown = `spec.resyncPeriodSecond: unknown field; did you mean "resyncPeriodSeconds"?`
	)
	for what, test := range map[string]struct {
		args []string
		file string
		want string
	}{
		"apply, a value":             {[]string{"apply", "-f", "-"}, manifest(name, `  resyncPeriodSeconds: "3"`), number},
		"apply, a field":             {[]string{"apply", "-f", "-"}, manifest(name, `  resyncPeriodSecond: 3`), unknown},
		"server-side apply, a value": {[]string{"apply", "--server-side", "-f", "-"}, manifest(name, `  resyncPeriodSeconds: "3"`), number},
		"server-side apply, a field": {[]string{"apply", "--server-side", "-f", "-"}, manifest(name, `  resyncPeriodSecond: 3`), unknown},
		"replace, a value":           {[]string{"replace", "-f", "-"}, manifest(name, `  resyncPeriodSeconds: "3"`), number},
		"replace, a field":           {[]string{"replace", "-f", "-"}, manifest(name, `  resyncPeriodSecond: 3`), unknown},
		"merge patch":                {[]string{"patch", "cc", name, "--type=merge", "-p", `{"spec":{"resyncPeriodSeconds":"3"}}`}, "", number},
		"JSON patch":                 {[]string{"patch", "cc", name, "--type=json", "-p", `[{"op":"add","path":"/spec/resyncPeriodSeconds","value":"3"}]`}, "", number},
		"JSON patch, no such path": {
			[]string{"patch", "cc", name, "--type=json", "-p", `[{"op":"add","path":"/spec/hoks/sync","value":{}}]`}, "", `spec.hoks: unknown field; did you mean "hooks"?`,
		},
	} {
		t.Run(what, func(t *testing.T) {
			cmd := env.Host.KubectlCommand(t.Context(), test.args...)
			cmd.Stdin = strings.NewReader(test.file)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Error("it is accepted")
			}
			contains(t, string(out), test.want)
			if strings.Contains(string(out), "map[") || len(out) > 400 {
				t.Errorf("kubectl prints more than a sentence:\n%s", out)
			}
		})
	}
}
