// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// AuditLog is the record of every request that the host's kube-apiserver has answered. A request is
// in it before its answer is sent.
type AuditLog struct {
	path string
}

// Position is a place in the audit log, at the beginning of a line: what is counted from it came
// later.
type Position int64

// longestLine is more bytes than a line of the audit log has.
const longestLine = 256 << 10

// Position returns the present end of the log. A line that is just being written comes after it:
// its request has no answer yet.
func (a *AuditLog) Position() (Position, error) {
	log, err := os.Open(a.path)
	if err != nil {
		return 0, fmt.Errorf("read the audit log: %w", err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return 0, fmt.Errorf("find the end of the audit log: %w", err)
	}
	begin := max(info.Size()-longestLine, 0)
	end := make([]byte, info.Size()-begin)
	if _, err := log.ReadAt(end, begin); err != nil {
		return 0, fmt.Errorf("read the end of the audit log: %w", err)
	}
	newline := bytes.LastIndexByte(end, '\n')
	if newline < 0 && begin > 0 {
		return 0, fmt.Errorf("the last line of the audit log has more than %d bytes", longestLine)
	}
	return Position(begin + int64(newline) + 1), nil
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

// Find returns the chosen requests from the given position on, oldest first. A watch counts when it
// starts.
func (a *AuditLog) Find(from Position, request Request) ([]auditv1.Event, error) {
	var found []auditv1.Event
	err := a.read(from, request, func(event auditv1.Event) {
		// Long requests other than watches are counted when they end.
		if (event.Verb == "watch") == (event.Stage == auditv1.StageResponseStarted) {
			found = append(found, event)
		}
	})
	return found, err
}

// OpenWatches returns how many of the chosen watches have started and not ended.
func (a *AuditLog) OpenWatches(request Request) (int, error) {
	request.Verbs = []string{"watch"}
	open := map[types.UID]bool{}
	err := a.read(0, request, func(event auditv1.Event) {
		if event.Stage == auditv1.StageResponseStarted && !Refused(event) {
			open[event.AuditID] = true
		} else { // it has ended, in whatever way
			delete(open, event.AuditID)
		}
	})
	return len(open), err
}

// Refused reports whether the request was answered with an error. The host refuses watches of a new
// type for a moment.
func Refused(event auditv1.Event) bool {
	return event.ResponseStatus != nil && event.ResponseStatus.Code >= http.StatusBadRequest
}

// read calls visit with each chosen event from a position on, whatever its stage.
func (a *AuditLog) read(from Position, request Request, visit func(auditv1.Event)) error {
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
	lines := bufio.NewReaderSize(log, longestLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil // A line that is just being written has no end yet. Its request has no answer yet either.
		}
		if err != nil {
			return fmt.Errorf("read a line of the audit log, which must have less than %d bytes: %w", longestLine, err)
		}
		if !request.mayMatch(line) {
			continue
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("read the audit log: %w in the line %q", err, line)
		}
		if request.fits(&event) {
			visit(event)
		}
	}
}

// mayMatch reports whether a line may fit. It is a cheap filter: decoding all lines of a long log
// repeatedly would keep the machine busy.
func (r Request) mayMatch(line []byte) bool {
	for _, word := range []string{r.User, r.Resource, r.Namespace, r.Name} {
		if word != "" && !bytes.Contains(line, []byte(strconv.Quote(word))) {
			return false
		}
	}
	return true
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
