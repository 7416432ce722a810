package backupstorage

import (
	"strings"
	"testing"
)

func TestCredentialsFiles(t *testing.T) {
	for text, want := range map[string]string{
		"[default]\naws_access_key_id = A\naws_secret_access_key=B\n":                                                                        "A/B/ ",
		"# mine\n[other]\nrole_arn=x\n[default]\naws_access_key_id=A\naws_secret_access_key=B\naws_session_token=C\nrole_arn=r\nregion=eu-1": "A/B/C r",
		"[default]\nrole_arn = r":        " r",
		"":                               "error: the profile [default] has neither",
		"[default]\naws_access_key_id=A": "error: the profile [default] has only one",
		"[default]\nweb_identity_token_file=/etc/key": `error: the setting "web_identity_token_file"`,
		"[default]\nendpoint_url=http://evil":         `error: the setting "endpoint_url"`,
		"[default]\nSECRET":                           "error: a line of the profile",
		"[default]\n" + strings.Repeat("x", 100<<10):  "error: it is not a credentials file",
	} {
		key, role, err := parseCredentials([]byte(text))
		got := ""
		switch {
		case err != nil:
			got = "error: " + err.Error()
		case key != nil:
			got = key.ID + "/" + key.Secret + "/" + key.Token + " " + role
		default:
			got = " " + role
		}
		if !strings.HasPrefix(got, want) || strings.Contains(got, "SECRET") {
			t.Errorf("%.60q: got %s, want %s", text, got, want)
		}
	}
}
