package bed

import "testing"

func TestSubstitute(t *testing.T) {
	got, err := Substitute("arn:aws:iam::${ACCOUNT}:role/cpo", map[string]string{"ACCOUNT": "222222222222"})
	if want := "arn:aws:iam::222222222222:role/cpo"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got, err := Substitute("${VPC} ${ZONE}", map[string]string{"VPC": "vpc-1"}); err == nil {
		t.Errorf("a variable without a value gave %q and no error", got)
	}
}

func TestDecodeSkipsDocumentsOfComments(t *testing.T) {
	objects, err := Decode("# about this file\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: a}\n---\n# the end\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || objects[0].GetName() != "a" {
		t.Errorf("got %v, want the namespace a", objects)
	}
}
