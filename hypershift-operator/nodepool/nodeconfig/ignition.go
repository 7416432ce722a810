package nodeconfig

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"
)

// renderIgnition writes the model as a configuration of Ignition 3.4. Ignition reads no compressed user data. It reads a
// configuration that only names another one, which may be compressed and part of the text.
func renderIgnition(c types.Config) ([]byte, error) {
	inner, err := compact(c)
	if err != nil {
		return nil, err
	}
	outer := types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	outer.Ignition.Config.Replace = types.Resource{Source: ptr.To(compressedURL(inner)), Compression: ptr.To("gzip")}
	text, err := compact(outer)
	if err != nil {
		return nil, err
	}
	if len(text) > Limit {
		return nil, tooLarge(len(text), c, func(part string) int { return len(compressedURL([]byte(part))) })
	}
	return text, nil
}

// compressedURL returns content as a data URL that is compressed with gzip.
func compressedURL(content []byte) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString(compress(content))
}

// dataURL returns content as a data URL that is not compressed.
func dataURL(content []byte) string { return "data:," + url.PathEscape(string(content)) }

// compress returns content in the format of gzip, without a time.
func compress(content []byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, err := w.Write(content)
	if err = cmp.Or(err, w.Close()); err != nil {
		panic(err) // a buffer does not fail
	}
	return packed.Bytes()
}

// compact returns the configuration without the empty values of its types.
func compact(c types.Config) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("writing Ignition: %w", err)
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("writing Ignition: %w", err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // one byte for ">" instead of six
	if err := encoder.Encode(withoutEmpty(tree)); err != nil {
		return nil, fmt.Errorf("writing Ignition: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if inner = withoutEmpty(inner); inner == nil {
				delete(value, key)
			} else {
				value[key] = inner
			}
		}
		if len(value) == 0 {
			return nil
		}
	case []any:
		for i := range value {
			value[i] = withoutEmpty(value[i])
		}
		if len(value) == 0 {
			return nil
		}
	}
	return value
}
