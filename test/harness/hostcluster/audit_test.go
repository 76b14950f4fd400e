// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const auditLines = `
{"stage":"ResponseComplete","verb":"create","user":{"username":"admin"},"objectRef":{"resource":"pods","namespace":"a","name":"p","apiVersion":"v1"}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"admin"},"impersonatedUser":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"a","name":"p","apiVersion":"v1"}}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"server"},"objectRef":{"resource":"pods","apiVersion":"v1"}}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"server"},"objectRef":{"resource":"pods","apiVersion":"v1"}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"server"},"objectRef":{"resource":"pods","namespace":"b","name":"p","apiGroup":"other.example.com","apiVersion":"v1"}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"server"}}
`

func TestFindChoosesRequests(t *testing.T) {
	log := &AuditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	unfinished := `{"stage":"ResponseCompl`
	if err := os.WriteFile(log.path, []byte(strings.TrimPrefix(auditLines, "\n")+unfinished), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		request Request
		want    []string // verbs
	}{
		"everything, a watch only once":          {Request{}, []string{"create", "get", "watch", "patch", "get"}},
		"by user, impersonated ones are those":   {Request{User: "jane"}, []string{"get"}},
		"by user, not who impersonates":          {Request{User: "admin"}, []string{"create"}},
		"by verb":                                {Request{Verbs: Writes()}, []string{"create", "patch"}},
		"by resource, in its group only":         {Request{Resource: "pods"}, []string{"create", "get", "watch"}},
		"by resource of another group":           {Request{Resource: "pods", Group: "other.example.com"}, []string{"patch"}},
		"by namespace":                           {Request{Namespace: "b"}, []string{"patch"}},
		"by name, requests of no object are out": {Request{User: "server", Name: "p"}, []string{"patch"}},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := log.Find(0, test.request)
			if err != nil {
				t.Fatal(err)
			}
			var verbs []string
			for _, event := range events {
				verbs = append(verbs, event.Verb)
			}
			if got, want := strings.Join(verbs, " "), strings.Join(test.want, " "); got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}

// Of a line that is just being written a part may be there: its request is still to be answered.
func TestFindCountsOnlyWhatCameLater(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimPrefix(auditLines, "\n"), "\n")
	for name, test := range map[string]struct {
		there string
		want  int // requests that come later
	}{
		"in an empty log":            {"", 5},
		"at the end":                 {strings.Join(lines[:4], ""), 2},
		"in the middle of a line":    {strings.Join(lines[:4], "") + lines[4][:30], 2},
		"in the middle of the first": {lines[0][:30], 5},
		"before the end of a line":   {strings.TrimSuffix(strings.Join(lines[:5], ""), "\n"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			log := &AuditLog{path: filepath.Join(t.TempDir(), "audit.log")}
			if err := os.WriteFile(log.path, []byte(test.there), 0o600); err != nil {
				t.Fatal(err)
			}
			position, err := log.Position()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(log.path, []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			if later, err := log.Find(position, Request{}); err != nil || len(later) != test.want {
				t.Errorf("%d requests come later, want %d: %v", len(later), test.want, err)
			}
		})
	}
}

// Nothing found after such a position would be taken for nothing done.
func TestAPositionBeyondTheEndIsAnError(t *testing.T) {
	log := &AuditLog{path: filepath.Join(t.TempDir(), "audit.log")}
	if err := os.WriteFile(log.path, []byte(strings.TrimPrefix(auditLines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := log.Position()
	if err != nil {
		t.Fatal(err)
	}
	if events, err := log.Find(end, Request{}); err != nil || len(events) > 0 {
		t.Errorf("from the end on there are %v, error %v", events, err)
	}
	if events, err := log.Find(end+1, Request{}); err == nil || !strings.Contains(err.Error(), "was cut or begun anew") {
		t.Errorf("beyond the end there are %v, error %v", events, err)
	}
}

func TestOpenWatches(t *testing.T) {
	const (
		pods    = `"verb":"watch","user":{"username":"server"},"objectRef":{"resource":"pods","apiVersion":"v1"}`
		started = `{"stage":"ResponseStarted","auditID":"1",` + pods + `,"responseStatus":{"code":200}}`
		second  = `{"stage":"ResponseStarted","auditID":"2",` + pods + `,"responseStatus":{"code":200}}`
		ended   = `{"stage":"ResponseComplete","auditID":"1",` + pods + `,"responseStatus":{"code":200}}`
		cut     = `{"stage":"Panic","auditID":"1",` + pods + `,"responseStatus":{"code":500}}`
		late    = `{"stage":"ResponseStarted","auditID":"3",` + pods + `,"responseStatus":{"code":429}}`
		refused = `{"stage":"ResponseComplete","auditID":"3",` + pods + `,"responseStatus":{"code":429}}`
		another = `{"stage":"ResponseStarted","auditID":"4","verb":"watch","user":{"username":"other"},"objectRef":{"resource":"pods","apiVersion":"v1"}}`
	)
	for name, test := range map[string]struct {
		lines []string
		want  int
	}{
		"one that has started":     {[]string{started}, 1},
		"one that has ended":       {[]string{started, ended}, 0},
		"one that was cut off":     {[]string{started, cut}, 0},
		"two, one of which ended":  {[]string{started, second, ended}, 1},
		"one that is refused":      {[]string{late}, 0},
		"one that was refused":     {[]string{late, refused}, 0},
		"another user's":           {[]string{another}, 0},
		"one that was begun again": {[]string{late, refused, started, ended, second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			log := &AuditLog{path: filepath.Join(t.TempDir(), "audit.log")}
			if err := os.WriteFile(log.path, []byte(strings.Join(test.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if open, err := log.OpenWatches(Request{User: "server", Resource: "pods"}); err != nil || open != test.want {
				t.Errorf("%d are open, error %v, want %d", open, err, test.want)
			}
		})
	}
}
