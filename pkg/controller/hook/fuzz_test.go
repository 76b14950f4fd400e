// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzDecodeComposite holds for any answer that it is read or refused as unreadable,
// and that what is read is fit for what comes after.
func FuzzDecodeComposite(f *testing.F) {
	for _, seed := range []string{
		`{"status":{"a":1},"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}}}],"resyncAfterSeconds":1.5,"finalized":true}`,
		`null`, `{}`, `[]`, ``, `{"children":[null]}`, `{"children":{}}`, `{"status":"x"}`, `{"resyncAfterSeconds":-1e309}`,
		`{"children":[{"kind":"Pod","kind":null}],"children":null}`, "{\"\xff\":{\"kind\":\"\xff\"}}", `{"status":`, `<html>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		response, err := (&reader{}).composite(body)
		if err != nil {
			if response != nil || !errors.Is(err, ErrUnreadable) {
				t.Errorf("response %v with error %v", response, err)
			}
			return
		}
		if response.ResyncAfter < 0 || response.ResyncAfter > longestWait {
			t.Errorf("sync again after %s", response.ResyncAfter)
		}
		if response.Status != nil && response.Status[0] != '{' {
			t.Errorf("status %s", response.Status)
		}
		for _, child := range response.Children {
			if child == nil || child.Kind == "" {
				t.Errorf("child %v", child)
			}
		}
		if !json.Valid(body) {
			t.Errorf("%q was read, but is no JSON", body)
		}
	})
}
