// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// A hook is sent its controller, with the addresses of all hooks.
func TestWhatIsSecretInTheAddressesOfHooksIsNotShown(t *testing.T) {
	echo := ""
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, echo) })
	sync := strings.Replace(address, "http://", "http://robot:open-sesame@", 1) + "/sync?key=7f3a-9b2c&pretty=true"
	const finalize = "http://other:say%20friend@hooks.example/finalize"
	about := snapshot(t)
	about.Controller = []byte(`{"kind":"CompositeController","metadata":{"annotations":{"applied":` + strconv.Quote(`{"url":"`+sync+`"}`) + `}},` +
		`"spec":{"hooks":{"sync":{"webhook":{"url":` + strconv.Quote(sync) + `}},"finalize":{"webhook":{"url":` + strconv.Quote(finalize) + `}}}}}`)
	for name, answered := range map[string]string{
		"in a status":                 `{"status":"open-sesame 7f3a-9b2c say friend"}`,
		"in a field that is unknown":  `{"open-sesame":1,"7f3a-9b2c":2,"say friend":3}`,
		"in the header that was sent": `Basic cm9ib3Q6b3Blbi1zZXNhbWU=`,
		"in what is no JSON":          `robot:open-sesame@ key=7f3a-9b2c say%20friend`,
	} {
		t.Run(name, func(t *testing.T) {
			echo = answered
			var logged strings.Builder
			logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: 6})
			response, err := webhook(t, sync, "").SyncComposite(klog.NewContext(t.Context(), logger), about)
			shown := logged.String()
			if err != nil {
				shown += err.Error()
			}
			if response != nil {
				for _, warning := range response.Warnings {
					shown += warning.Message
				}
			}
			for _, hidden := range []string{"robot:", "open-sesame", "7f3a", "pretty", "say friend", "say%20friend", "cm9ib3Q"} {
				if strings.Contains(shown, hidden) {
					t.Errorf("%s is in\n%s", hidden, shown)
				}
			}
			if !strings.Contains(shown, "hooks.example/finalize") {
				t.Errorf("the rest of an address is not shown:\n%s", shown)
			}
		})
	}
}
