package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// block is a section of the page.
type block struct {
	title, text string
	lines       []line
}

// line is one constant: its value, and the text that follows it.
type line struct{ word, text string }

// read returns the blocks of the source, sorted by file name.
func (src source) read(root string) ([]block, error) {
	names, err := filepath.Glob(filepath.Join(root, src.dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var blocks []block
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		found, err := src.blocks(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(src.dir, filepath.Base(name)), err)
		}
		blocks = append(blocks, found...)
	}
	return blocks, nil
}

func (src source) blocks(file *ast.File) ([]block, error) {
	var blocks []block
	for _, decl := range file.Decls {
		constants, ok := decl.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST || !src.belongs(constants.Doc.Text()) {
			continue
		}
		b := block{title: src.title}
		if b.title == "" {
			b.title, b.text, _ = strings.Cut(flat(constants.Doc.Text()), ". ")
			b.title = strings.TrimSuffix(b.title, ".")
		}
		for _, spec := range constants.Specs {
			l, err := lineOf(spec.(*ast.ValueSpec))
			if err != nil {
				return nil, err
			}
			if l.word != "" {
				b.lines = append(b.lines, l)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// lineOf replaces the name of the constant, with which its comment begins, by its value.
func lineOf(constant *ast.ValueSpec) (line, error) {
	name := constant.Names[0].Name
	literal, ok := constant.Values[0].(*ast.BasicLit)
	if !ok {
		return line{}, fmt.Errorf("%s is not a literal", name)
	}
	word, err := strconv.Unquote(literal.Value)
	if err != nil {
		return line{}, fmt.Errorf("%s: %w", name, err)
	}
	text, ok := strings.CutPrefix(flat(constant.Doc.Text()), name)
	if !ok {
		return line{}, fmt.Errorf("%s has no comment that begins with its name", name)
	}
	// The introduction of the page explains the short form.
	if when, ok := strings.CutPrefix(text, " is True when "); ok {
		text = ": " + when
	}
	return line{word: word, text: text}, nil
}

func (src source) belongs(comment string) bool {
	for _, prefix := range src.begins {
		if strings.HasPrefix(comment, prefix) {
			return true
		}
	}
	return false
}

// flat returns the comment as one line.
func flat(comment string) string { return strings.Join(strings.Fields(comment), " ") }
