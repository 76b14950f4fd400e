// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestARedirectDoesNotTellTheQuery(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		headers := make(chan http.Header, 1)
		other := serve(t, func(w http.ResponseWriter, r *http.Request) {
			headers <- r.Header.Clone()
			_, _ = io.WriteString(w, "{}")
		})
		other = strings.Replace(other, "127.0.0.1", "localhost", 1)
		address := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/", status) })
		if _, err := webhook(t, address+"/sync?key=s3cret", "").SyncComposite(t.Context(), snapshot(t)); err != nil {
			t.Fatal(err)
		}
		for name, values := range <-headers {
			if strings.Contains(strings.Join(values, " "), "s3cret") {
				t.Errorf("the other host is sent %s: %s", name, values)
			}
		}
	}
}
