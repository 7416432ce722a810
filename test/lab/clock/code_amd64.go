package clock

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// replacements are the functions of the vDSO that read the wall clock. Each calls the kernel and adds seconds.
var replacements = map[string]func(seconds int32) []byte{
	"__vdso_clock_gettime": func(seconds int32) []byte {
		return join([]byte{
			0xb8, unix.SYS_CLOCK_GETTIME, 0, 0, 0, // mov eax, SYS_CLOCK_GETTIME
			0x0f, 0x05, // syscall
			0x85, 0xc0, // test eax, eax
			0x75, 0x10, // jnz end
			0x85, 0xff, // test edi, edi: CLOCK_REALTIME
			0x74, 0x05, // jz add
			0x83, 0xff, unix.CLOCK_REALTIME_COARSE, // cmp edi, CLOCK_REALTIME_COARSE
			0x75, 0x07, // jnz end
			0x48, 0x81, 0x06, // add: add qword [rsi], seconds
		}, seconds, 0xc3) // end: ret
	},
	"__vdso_gettimeofday": func(seconds int32) []byte {
		return join([]byte{
			0xb8, unix.SYS_GETTIMEOFDAY, 0, 0, 0, // mov eax, SYS_GETTIMEOFDAY
			0x0f, 0x05, // syscall
			0x85, 0xc0, // test eax, eax
			0x75, 0x0c, // jnz end
			0x48, 0x85, 0xff, // test rdi, rdi
			0x74, 0x07, // jz end
			0x48, 0x81, 0x07, // add qword [rdi], seconds
		}, seconds, 0xc3) // end: ret
	},
	"__vdso_time": func(seconds int32) []byte {
		return join([]byte{
			0x57,       // push rdi
			0x31, 0xff, // xor edi, edi
			0xb8, unix.SYS_TIME, 0, 0, 0, // mov eax, SYS_TIME
			0x0f, 0x05, // syscall
			0x5f,       // pop rdi
			0x48, 0x05, // add rax, seconds
		}, seconds,
			0x48, 0x85, 0xff, // test rdi, rdi
			0x74, 0x03, // jz end
			0x48, 0x89, 0x07, // mov [rdi], rax
			0xc3) // end: ret
	},
}

func join(before []byte, seconds int32, behind ...byte) []byte {
	return append(binary.LittleEndian.AppendUint32(before, uint32(seconds)), behind...)
}

// code returns functions whose wall clock is wrong by a duration.
func (v *vdso) code(by time.Duration) (functions, error) {
	seconds := int64(by / time.Second)
	if seconds > math.MaxInt32 || seconds < math.MinInt32 {
		return nil, errors.New("a clock can be wrong by 68 years at most")
	}
	code := functions{}
	for name, f := range replacements {
		s, exists := v.symbols[name]
		if !exists {
			continue
		}
		bytes := f(int32(seconds))
		if uint64(len(bytes)) > s.Size {
			return nil, errors.New("the kernel's " + name + " is too short to be replaced")
		}
		code[s.Value] = bytes
	}
	return code, nil
}

// instruction is the address at which a stopped thread goes on.
func instruction(thread int) (int64, error) {
	var registers unix.PtraceRegs
	if err := unix.PtraceGetRegs(thread, &registers); err != nil {
		return 0, err
	}
	return int64(registers.Rip), nil
}
