// Package lintersdb replaces the list of linters of golangci-lint by those that .golangci.yml enables. The others take most of the
// time of a build. An enabled linter that is missing here is an error of each run.
package lintersdb

import (
	"github.com/golangci/golangci-lint/v2/pkg/config"
	"github.com/golangci/golangci-lint/v2/pkg/golinters"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/bodyclose"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/containedctx"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/copyloopvar"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/depguard"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/errcheck"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/errorlint"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/forbidigo"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/gosec"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/govet"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/importas"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/ineffassign"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/loggercheck"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/misspell"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/nolintlint"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/staticcheck"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/unconvert"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/unused"
	"github.com/golangci/golangci-lint/v2/pkg/golinters/usestdlibvars"
	"github.com/golangci/golangci-lint/v2/pkg/lint/linter"
)

// LinterBuilder makes linters with the settings of a configuration.
type LinterBuilder struct{}

func NewLinterBuilder() *LinterBuilder { return &LinterBuilder{} }

// Build returns the linters.
func (LinterBuilder) Build(cfg *config.Config) ([]*linter.Config, error) {
	if cfg == nil {
		return nil, nil
	}
	settings := &cfg.Linters.Settings
	all := []*linter.Config{
		linter.NewConfig(golinters.NewTypecheck()).WithInternal(),
		linter.NewConfig(copyloopvar.New(&settings.CopyLoopVar)).WithAutoFix(),
		linter.NewConfig(depguard.New(&settings.Depguard, config.NewPlaceholderReplacer(cfg))),
		linter.NewConfig(ineffassign.New(&settings.Ineffassign)),
		linter.NewConfig(misspell.New(&settings.Misspell)).WithAutoFix(),
		linter.NewConfig(usestdlibvars.New(&settings.UseStdlibVars)).WithAutoFix(),
	}
	typed := []*linter.Config{
		linter.NewConfig(bodyclose.New(&settings.BodyClose)),
		linter.NewConfig(containedctx.New()),
		linter.NewConfig(errcheck.New(&settings.Errcheck)),
		linter.NewConfig(errorlint.New(&settings.ErrorLint)).WithAutoFix(),
		linter.NewConfig(forbidigo.New(&settings.Forbidigo)),
		linter.NewConfig(gosec.New(&settings.Gosec)),
		linter.NewConfig(govet.New(&settings.Govet)).WithAutoFix(),
		linter.NewConfig(importas.New(&settings.ImportAs)).WithAutoFix(),
		linter.NewConfig(loggercheck.New(&settings.LoggerCheck)),
		linter.NewConfig(staticcheck.New(&settings.Staticcheck)).WithAutoFix(),
		linter.NewConfig(unconvert.New(&settings.Unconvert)),
		linter.NewConfig(unused.New(&settings.Unused)).ConsiderSlow().WithChangeTypes(),
	}
	for _, l := range typed {
		all = append(all, l.WithLoadForGoAnalysis())
	}
	// nolintlint compares comments with what the linters before it have found.
	return append(all, linter.NewConfig(nolintlint.New(&settings.NoLintLint)).WithAutoFix()), nil
}
