package awsx_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// onePage are the calls of paginated operations without a paginator, by file and operation, with the reason why the answer is
// on one page. A request for resources by their ids or names needs no entry: AWS answers with all of them.
var onePage = map[string]string{
	"internal/cli/aws/infra/discover.go DescribeTags":         "the filter selects one tag of one resource",
	"internal/cli/aws/infra/zones.go ListResourceRecordSets":  "the list begins at the SOA record that is wanted, and has one item",
	"internal/cli/aws/oidcbucket/oidcbucket.go ListObjectsV2": "one object is enough to keep the bucket",

	"internal/awsx/registrybucket/delete.go ListMultipartUploads": "the items of the page are deleted, and the next reconcile reads the rest",
	"internal/awsx/registrybucket/delete.go ListObjectVersions":   "the items of the page are deleted, and the next page is the new beginning of the list",
}

// TestPaginatedListsAreReadToTheEnd looks for calls that read only the first page of a list with pages in the service model.
func TestPaginatedListsAreReadToTheEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("the models belong to the emulator, which needs Python")
	}
	models := map[string]string{
		"ec2": "ec2", "elasticloadbalancingv2": "elbv2", "iam": "iam", "kms": "kms", "ram": "ram", "route53": "route53", "s3": "s3",
		"servicequotas": "service-quotas", "sts": "sts",
	}
	var services []string
	for _, name := range models {
		services = append(services, name)
	}
	paginated, err := awsemulator.Paginators(t.Context(), services...)
	if err != nil {
		t.Fatal(err)
	}
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	calls, unused := 0, map[string]bool{}
	for key := range onePage {
		unused[key] = true
	}
	for _, dir := range []string{"internal", "cmd", "hypershift-operator", "control-plane-operator"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			services := map[string]string{} // the model by the name of the import
			for _, i := range file.Imports {
				imported, _ := strconv.Unquote(i.Path.Value)
				name, ok := strings.CutPrefix(imported, "github.com/aws/aws-sdk-go-v2/service/")
				if !ok {
					continue
				}
				if models[name] == "" && !strings.Contains(name, "/") {
					t.Errorf("%s imports service %s, which this test does not know", path, name)
				}
				local := name
				if i.Name != nil {
					local = i.Name.Name
				}
				services[local] = models[name]
			}
			relative, err := filepath.Rel(root, path)
			ast.Inspect(file, func(node ast.Node) bool {
				operation, service, input := callOf(node)
				if operation == "" || !slices.Contains(paginated[services[service]], operation) {
					return true
				}
				calls++
				key := filepath.ToSlash(relative) + " " + operation
				delete(unused, key)
				if onePage[key] == "" && !asksByName(input) {
					t.Errorf("%s reads the first page only: use %s.New%sPaginator, or give the reason in onePage", key, service, operation)
				}
				return true
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls < 5 {
		t.Errorf("only %d calls were found", calls)
	}
	for key := range unused {
		t.Errorf("onePage has %s, which is no such call", key)
	}
}

// callOf returns the operation of a call of an SDK client with a literal input, such as api.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{}).
func callOf(node ast.Node) (operation, service string, input *ast.CompositeLit) {
	call, ok := node.(*ast.CallExpr)
	if !ok || len(call.Args) < 2 {
		return "", "", nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || strings.HasPrefix(method.Sel.Name, "New") {
		return "", "", nil
	}
	address, ok := call.Args[1].(*ast.UnaryExpr)
	if !ok {
		return "", "", nil
	}
	literal, ok := address.X.(*ast.CompositeLit)
	if !ok {
		return "", "", nil
	}
	typ, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || typ.Sel.Name != method.Sel.Name+"Input" {
		return "", "", nil
	}
	return method.Sel.Name, typ.X.(*ast.Ident).Name, literal
}

// asksByName reports whether the resources are given by their ids or names.
func asksByName(input *ast.CompositeLit) bool {
	for _, element := range input.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name := field.Key.(*ast.Ident).Name
		if strings.HasSuffix(name, "Ids") || name == "Names" || name == "LoadBalancerArns" || name == "TargetGroupArns" {
			return true
		}
	}
	return false
}
