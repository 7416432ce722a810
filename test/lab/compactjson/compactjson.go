// Package compactjson writes JSON that is committed. An object that contains no other object is one line, such as the result of one test. Other
// objects and lists are one line if it is short, and otherwise have a line or more for each of their elements. A change of one result is then a
// change of one line, and files are much shorter than those of encoding/json.MarshalIndent.
package compactjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// width is the length, in bytes, from which a list, or an object with other objects, is more than one line.
const width = 150

// WriteFile writes a value to a file.
func WriteFile(file string, value any) error {
	text, err := Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// Marshal returns a value as JSON, with a newline at the end.
func Marshal(value any) ([]byte, error) {
	var text, out bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	if err := write(&out, "\n", bytes.TrimSpace(text.Bytes())); err != nil {
		return nil, fmt.Errorf("formatting JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// write writes a value without spaces. newline begins a line with the indentation of the value.
func write(out *bytes.Buffer, newline string, value []byte) error {
	list, object := value[0] == '[', value[0] == '{'
	innermost := object && !bytes.ContainsRune(value[1:], '{')
	if !list && !object || innermost || len(newline)+len(value) < width {
		out.Write(value)
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	out.WriteByte(value[0])
	for separator := ""; decoder.More(); separator = "," {
		out.WriteString(separator + newline + " ")
		if object {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			key, err := json.Marshal(name)
			if err != nil {
				return err
			}
			out.Write(append(key, ':'))
		}
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return err
		}
		if err := write(out, newline+" ", element); err != nil {
			return err
		}
	}
	out.WriteString(newline)
	out.WriteByte(value[len(value)-1])
	return nil
}
