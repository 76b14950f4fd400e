// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// Page is a Markdown file of the repository.
type Page struct {
	Path   string // from the root of the repository
	Blocks []*Block
	// FollowedBy is the package whose tests follow the page, if it says one.
	FollowedBy string
}

// Block is a fenced block of a page, or hidden commands.
type Block struct {
	Line     int // of its first line
	Heading  string
	Language string
	Text     string
	// NotRun is why the block is left out.
	NotRun string
	// RunBy is the file of another test that runs the block.
	RunBy string
	// Files are the names that the block, or what the reader brings, is saved under.
	Files []string
	// PartOf is the kind of the object that the block has fields of.
	PartOf string
	// JSON is the name of the schema that the block is an instance of.
	JSON string
	// Prints is what the commands of the block come to print, if the page shows it.
	Prints string
}

// Indented is the language of blocks that are not fenced. No page should have one.
const Indented = "indented"

var (
	comment    = regexp.MustCompile(`^<!-- (file|not run|run by|part of|json|followed by): (.*) -->$`)
	saveAs     = regexp.MustCompile("Save\\s+this\\s+as\\s+`([^`]+)`")
	heading    = regexp.MustCompile(`^#+ +(.*)$`)
	fence      = regexp.MustCompile("^( *)```(.*)$")
	hidden     = "<!-- run"
	inList     = regexp.MustCompile(`^ *([-*]|\d+\.) `)
	isIndented = regexp.MustCompile(`^ {4,}\S`)
)

// Pages returns the paths of all Markdown files of the repository, from its root.
func Pages(ctx context.Context) ([]string, error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	list.Dir = hostcluster.RepositoryRoot()
	listed, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	var pages []string
	for path := range strings.FieldsSeq(string(listed)) {
		if _, err := os.Stat(filepath.Join(list.Dir, path)); err == nil { // it may have been deleted
			pages = append(pages, path)
		}
	}
	return pages, nil
}

// Read reads a page. Its path is from the root of the repository.
func Read(path string) (*Page, error) {
	content, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), path))
	if err != nil {
		return nil, err
	}
	return parse(path, string(content))
}

func parse(path, content string) (*Page, error) {
	r := reader{page: &Page{Path: path}, next: &Block{}}
	for i, line := range strings.Split(content, "\n") {
		r.line(i+1, line)
	}
	if r.open != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", path, r.open.Line)
	}
	return r.page, nil
}

// reader reads a page line by line.
type reader struct {
	page *Page
	// next is what comments have said about the next block, and heading and prose are what stands before it.
	next    *Block
	heading string
	prose   []string
	open    *Block // a block that has begun
	indent  string // of the fence that began it
	isList  bool   // an indented line continues an item of a list
}

func (r *reader) line(number int, line string) {
	begin := fence.FindStringSubmatch(line)
	switch {
	case r.open != nil && r.open.Language == hidden:
		if line == "-->" {
			r.open.Language = "sh"
			r.end()
			return
		}
		r.add(line)
	case r.open != nil:
		if begin != nil && begin[2] == "" {
			r.end()
			return
		}
		r.add(strings.TrimPrefix(line, r.indent))
	case begin != nil:
		r.begin(number+1, begin[2])
		r.indent = begin[1]
	case line == hidden:
		r.begin(number+1, hidden)
	default:
		r.betweenBlocks(number, line)
	}
}

// betweenBlocks notes what a line says about the block that follows.
func (r *reader) betweenBlocks(number int, line string) {
	said := comment.FindStringSubmatch(line)
	switch {
	case said != nil:
		r.comment(number, said[1], said[2])
	case heading.MatchString(line):
		r.heading, r.isList = heading.FindStringSubmatch(line)[1], false
		r.prose = append(r.prose, line)
	case isIndented.MatchString(line) && !r.isList && (len(r.prose) == 0 || r.prose[len(r.prose)-1] == ""):
		r.page.Blocks = append(r.page.Blocks, &Block{Line: number, Heading: r.heading, Language: Indented, Text: line})
	default:
		if line != "" {
			r.isList = inList.MatchString(line) || r.isList && strings.HasPrefix(line, " ")
		}
		r.prose = append(r.prose, line)
	}
}

func (r *reader) comment(number int, what, text string) {
	switch what {
	case "not run":
		r.next.NotRun = text
	case "run by":
		r.next.RunBy = text
	case "part of":
		r.next.PartOf = text
	case "json":
		r.next.JSON = text
	case "followed by":
		r.page.FollowedBy = text
	case "file":
		r.next.Files = strings.Fields(text)
		r.next.Line, r.next.Heading = number, r.heading
	}
}

func (r *reader) begin(number int, language string) {
	if len(r.next.Files) > 0 && language == "sh" { // the reader brings the files
		brought := &Block{Line: r.next.Line, Heading: r.next.Heading, Files: r.next.Files}
		r.page.Blocks, r.next.Files = append(r.page.Blocks, brought), nil
	}
	r.open, r.next = r.next, &Block{}
	r.open.Line, r.open.Heading, r.open.Language = number, r.heading, language
	if names := saveAs.FindAllStringSubmatch(strings.Join(r.prose, "\n"), -1); len(names) > 0 && language != "sh" && language != "text" {
		r.open.Files = []string{names[len(names)-1][1]}
	}
}

func (r *reader) add(line string) { r.open.Text += line + "\n" }

func (r *reader) end() {
	block := r.open
	r.open = nil
	if block.Language == "text" && len(r.page.Blocks) > 0 && strings.TrimSpace(strings.Join(r.prose, "")) == "" {
		if before := r.page.Blocks[len(r.page.Blocks)-1]; before.Language == "sh" {
			before.Prints = block.Text
			return
		}
	}
	r.prose = nil
	r.page.Blocks = append(r.page.Blocks, block)
}

// IsRun reports whether the block has commands that a reader types.
func (b *Block) IsRun() bool {
	return b.Language == "sh" && b.NotRun == "" && b.RunBy == "" && len(b.Files) == 0
}

// Where returns where the block is, for messages.
func (p *Page) Where(block *Block) string { return fmt.Sprintf("%s:%d", p.Path, block.Line) }
