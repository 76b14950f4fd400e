// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"testing"
)

func TestTextReplacesWordsAndNothingElse(t *testing.T) {
	s := &Scenario{TB: t, words: map[string]string{}}
	s.Say("$NAME", "n")
	s.Say("$NAMESPACE", "ns")
	s.Say("$Thing", "$NAME.example.com/v1")
	s.Say("$EMPTY", "")
	for text, want := range map[string]string{
		"name: $NAME":             "name: n",
		"$NAMESPACE/$NAME":        "ns/n",
		"$NAME-later, $NAME.x, $": "n-later, n.x, $",
		"apiVersion: $Thing":      "apiVersion: n.example.com/v1",
		"{a: b, $EMPTY}":          "{a: b, }",
		"$NAMES, $UNKNOWN, $name": "$NAMES, $UNKNOWN, $name",
		"NAME, Thing":             "NAME, Thing",
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	s.Say("$NAME", "m")
	if got := s.Text("$NAME of $Thing"); got != "m of n.example.com/v1" {
		t.Errorf("after a word got another meaning, the text is %q", got)
	}
}

// recorder records that a test has failed, and lets it go on.
type recorder struct {
	testing.TB
	failure string
}

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

func TestSayRefusesWhatIsNotAWord(t *testing.T) {
	for name, refused := range map[string]bool{
		"$NAME": false, "$Thing": false, "": true, "$": true, "NAME": true, "InPlace": true, "$NAME-later": true, "url: $HOOK": true, "$A $B": true,
	} {
		r := &recorder{TB: t}
		s := &Scenario{TB: r, words: map[string]string{}}
		s.Say(name, "x")
		if got := r.failure != ""; got != refused {
			t.Errorf("%q is refused: %v, want %v", name, got, refused)
		}
	}
}
