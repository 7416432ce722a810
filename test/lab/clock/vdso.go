package clock

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// vdso is the image of the vDSO, which is the same in all processes.
type vdso struct {
	image   []byte
	symbols map[string]elf.Symbol
}

// functions are the first bytes of functions of the vDSO, by their offset.
type functions map[uint64][]byte

// find reads the vDSO of this process.
func find() (*vdso, error) {
	from, to, err := mapped(os.Getpid())
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, errors.New("the kernel has no vDSO")
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, fmt.Errorf("reading the vDSO: %w", err)
	}
	defer memory.Close()
	v := &vdso{image: make([]byte, to-from), symbols: map[string]elf.Symbol{}}
	if _, err := memory.ReadAt(v.image, from); err != nil {
		return nil, fmt.Errorf("reading the vDSO: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(v.image))
	if err != nil {
		return nil, fmt.Errorf("parsing the vDSO: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("parsing the vDSO: %w", err)
	}
	for _, s := range symbols {
		v.symbols[s.Name] = s
	}
	return v, nil
}

// mapped returns the addresses of the vDSO of a process. They are equal if it has none.
func mapped(pid int) (from, to int64, err error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("looking for the vDSO: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		addresses, isVDSO := strings.CutSuffix(lines.Text(), "[vdso]")
		if !isVDSO {
			continue
		}
		first, rest, _ := strings.Cut(addresses, "-")
		last, _, _ := strings.Cut(rest, " ")
		if from, err = strconv.ParseInt(first, 16, 64); err == nil {
			to, err = strconv.ParseInt(last, 16, 64)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("looking for the vDSO: %w", err)
		}
	}
	return from, to, nil
}

// original returns all functions that code returns, as the kernel has them.
func (v *vdso) original() functions {
	code := functions{}
	for name, f := range replacements {
		if s, exists := v.symbols[name]; exists {
			code[s.Value] = v.image[s.Value:][:len(f(0))]
		}
	}
	return code
}

// write writes functions into a process that has others.
func (v *vdso) write(pid int, code functions) error {
	base, to, err := mapped(pid)
	if errors.Is(err, fs.ErrNotExist) || base == to {
		return nil // it ends
	}
	if err != nil {
		return err
	}
	if to-base != int64(len(v.image)) {
		return errors.New("it has another vDSO, such as that of a program of 32 bits")
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	different := functions{}
	for offset, want := range code {
		got := make([]byte, len(want))
		if _, err := memory.ReadAt(got, base+int64(offset)); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			different[offset] = want
		}
	}
	if len(different) == 0 {
		return nil
	}
	return whileStopped(pid, base, to, func() error {
		for offset, bytes := range different {
			if _, err := memory.WriteAt(bytes, base+int64(offset)); err != nil {
				return err
			}
		}
		return nil
	})
}
