package awsx_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// textLimit contains the constraints of a text in a service model.
type textLimit struct {
	Min, Max *int
	Pattern  string

	compiled *regexp.Regexp
}

func (l *textLimit) allows(text string) bool {
	if l.compiled == nil {
		l.compiled = regexp.MustCompile("^(?:" + l.Pattern + ")$")
	}
	n := utf8.RuneCountInString(text)
	return (l.Min == nil || n >= *l.Min) && (l.Max == nil || n <= *l.Max) && (l.Pattern == "" || l.compiled.MatchString(text))
}

// TestTagsAreThoseThatTheModelsAllow compares random tags with the models of the services that get them. A tag that one of
// them refuses is refused beforehand, and no other tag is.
func TestTagsAreThoseThatTheModelsAllow(t *testing.T) {
	if testing.Short() {
		t.Skip("the models belong to the emulator, which needs Python")
	}
	text, err := awsemulator.Constraints(t.Context(), map[string][]string{
		"ec2": {"CreateTags"}, "iam": {"TagRole"}, "elasticloadbalancing": {"AddTags"}, "route53": {"ChangeTagsForResource"}, "s3": {"PutBucketTagging"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var models struct {
		Services map[string]struct{ Shapes map[string]*textLimit }
	}
	if err := json.Unmarshal(text, &models); err != nil {
		t.Fatal(err)
	}
	var keys, values []*textLimit
	for service, names := range map[string][2]string{
		"ec2": {"Tag.Key", "Tag.Value"}, "iam": {"tagKeyType", "tagValueType"}, "elasticloadbalancing": {"TagKey", "TagValue"},
		"route53": {"TagKey", "TagValue"}, "s3": {"ObjectKey", ""},
	} {
		shapes := models.Services[service].Shapes
		if shapes[names[0]] == nil || names[1] != "" && shapes[names[1]] == nil {
			t.Fatalf("the model of %s has no limits for tags", service)
		}
		keys = append(keys, shapes[names[0]])
		if names[1] != "" {
			values = append(values, shapes[names[1]])
		}
	}
	allow := func(limits []*textLimit, text string) bool {
		for _, l := range limits {
			if !l.allows(text) {
				return false
			}
		}
		return true
	}

	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("azAZ09_.:/=+-@ äß字é٣Ⅷ,;[]{}()<>!?*&%$#'\"\\|~^`\t\n")
	word := func(most int) string {
		letters := alphabet
		if random.IntN(2) == 0 {
			letters = alphabet[:21] // those that all services allow
		}
		n := random.IntN(12)
		if random.IntN(4) == 0 {
			n = most - 2 + random.IntN(4) // about the limit
		}
		text := make([]rune, n)
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		return string(text)
	}
	valid, invalid := 0, 0
	for range 20_000 {
		key, value := word(127), word(256)
		want := allow(keys, key) && allow(values, value)
		errs := awsx.Tags{key: value}.Validate(field.NewPath("--additional-tags"), func(string) bool { return false })
		if (len(errs) == 0) != want {
			t.Fatalf("%q=%q: the models allow it: %v; Validate: %v", key, value, want, errs)
		}
		if want {
			valid++
		} else {
			invalid++
		}
	}
	if valid < 1000 || invalid < 1000 {
		t.Errorf("%d valid and %d invalid tags are too few of one kind", valid, invalid)
	}
}
