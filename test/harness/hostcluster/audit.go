// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// AuditLog is the record of every request that the host's kube-apiserver has answered. A request is in it before its
// answer is sent.
type AuditLog struct {
	path string
}

// Position is a place in the audit log: what is counted from it came later.
type Position int64

// Position returns the present end of the log.
func (a *AuditLog) Position() (Position, error) {
	info, err := os.Stat(a.path)
	if err != nil {
		return 0, fmt.Errorf("find the end of the audit log: %w", err)
	}
	return Position(info.Size()), nil
}

// Request chooses requests of the audit log. An event is chosen if it fits all fields that are set.
type Request struct {
	User      string   // who it is treated as: the impersonated user, if any
	Verbs     []string // get, list, watch, create, update, patch, delete, deletecollection
	Group     string   // API group; only looked at together with Resource
	Resource  string   // plural, such as "pods"
	Namespace string
	Name      string
}

// Writes are the verbs that change something.
func Writes() []string {
	return []string{"create", "update", "patch", "delete", "deletecollection"}
}

// Find returns the chosen requests from the given position on, oldest first. A watch counts when it starts.
func (a *AuditLog) Find(from Position, request Request) ([]auditv1.Event, error) {
	var found []auditv1.Event
	err := a.read(from, func(event auditv1.Event) {
		// Long requests other than watches are counted when they end.
		if (event.Verb == "watch") == (event.Stage == auditv1.StageResponseStarted) && request.fits(&event) {
			found = append(found, event)
		}
	})
	return found, err
}

// OpenWatches returns how many of the chosen watches have started and not ended.
func (a *AuditLog) OpenWatches(request Request) (int, error) {
	request.Verbs = []string{"watch"}
	open := 0
	err := a.read(0, func(event auditv1.Event) {
		switch {
		case !request.fits(&event):
		case event.Stage == auditv1.StageResponseStarted:
			open++
		case event.ResponseStatus == nil || event.ResponseStatus.Code < http.StatusBadRequest: // what was refused never started
			open--
		}
	})
	return open, err
}

// read calls visit with each event from a position on.
func (a *AuditLog) read(from Position, visit func(auditv1.Event)) error {
	log, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer log.Close()
	if _, err := log.Seek(int64(from), io.SeekStart); err != nil {
		return fmt.Errorf("read the audit log from byte %d: %w", from, err)
	}
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("find the end of the audit log: %w", err)
	}
	if info.Size() < int64(from) {
		return fmt.Errorf("the audit log has %d bytes, which is less than when it was to be counted from byte %d: it was cut or begun anew", info.Size(), from)
	}
	text, err := io.ReadAll(log)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	// A line that is just being written has no end yet; its request has no answer yet either.
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(text) {
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("read the audit log: %w in the line %q", err, line)
		}
		visit(event)
	}
	return nil
}

func (r Request) fits(event *auditv1.Event) bool {
	user := event.User.Username
	if event.ImpersonatedUser != nil {
		user = event.ImpersonatedUser.Username
	}
	if r.User != "" && r.User != user || len(r.Verbs) > 0 && !slices.Contains(r.Verbs, event.Verb) {
		return false
	}
	object := event.ObjectRef
	if object == nil {
		return r.Resource == "" && r.Namespace == "" && r.Name == ""
	}
	return (r.Resource == "" || r.Resource == object.Resource && r.Group == object.APIGroup) &&
		(r.Namespace == "" || r.Namespace == object.Namespace) &&
		(r.Name == "" || r.Name == object.Name)
}
