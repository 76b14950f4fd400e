// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// quirks are those of Metacontroller: what is kept has a conformance test, what is fixed a regression test.
var quirks = []string{
	"Q1", "Q2", "Q2b", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10", "Q11", "Q12", "Q13", "Q14", "Q15", "Q16", "Q17", "Q18", "Q19", "Q20", "Q21", "Q22", "Q23", "Q24", "Q25",
	"Q26", "Q27", "Q28", "Q29", "Q30", "Q31", "Q32", "Q33", "Q34", "Q35", "Q36", "Q37", "Q38", "Q39", "Q40", "Q41", "Q42", "Q43", "Q44", "Q45", "Q46",
	"Q47", "Q48", "Q49",
}

func TestEveryQuirkHasATestOfItsName(t *testing.T) {
	named := regexp.MustCompile(`(?m)^func Test(Q[0-9]+b?)[A-Z]`)
	found := map[string]bool{}
	root := hostcluster.RepositoryRoot()
	for _, tree := range []string{"pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range named.FindAllSubmatch(text, -1) {
				found[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, quirk := range quirks {
		if !found[quirk] {
			t.Errorf("no test is called Test%s...", quirk)
		}
	}
}
