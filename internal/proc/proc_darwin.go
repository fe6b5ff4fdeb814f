package proc

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"unsafe"
)

// The parts of <sys/sysctl.h> and struct kinfo_proc used here.
const (
	ctlKern      = 1
	kernProc     = 14
	kernProcArgs = 49
	procAll      = 0
	procPID      = 1
	kinfoSize    = 648
	offSec       = 0
	offUsec      = 8
	offStat      = 36
	offPID       = 40
	offParent    = 560
)

// BootID returns an id of this boot of the machine, or "" if the kernel has none.
func BootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// sysctl asks the kernel for the size, then for the value. The kernel truncates a value that grew
// in between.
func sysctl(mib ...int32) []byte {
	call := func(out *byte, size *uintptr) bool {
		_, _, errno := syscall.Syscall6(syscall.SYS___SYSCTL, uintptr(unsafe.Pointer(&mib[0])), uintptr(len(mib)),
			uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(size)), 0, 0)
		return errno == 0
	}
	var size uintptr
	if !call(nil, &size) || size == 0 {
		return nil
	}
	b := make([]byte, size+16*kinfoSize)
	size = uintptr(len(b))
	if !call(&b[0], &size) {
		return nil
	}
	return b[:size]
}

func decode(b []byte) Stat {
	order := binary.LittleEndian
	s := Stat{
		Process: Process{
			PID:   int(int32(order.Uint32(b[offPID:]))),
			Start: order.Uint64(b[offSec:])*1e6 + uint64(order.Uint32(b[offUsec:])),
		},
		Parent:  int(int32(order.Uint32(b[offParent:]))),
		State:   'S',
		Threads: 1,
	}
	switch b[offStat] { // SSTOP, SZOMB
	case 4:
		s.State = 'T'
	case 5:
		s.State = 'Z'
	}
	return s
}

func ReadStat(pid int) (Stat, bool) {
	if pid <= 0 {
		return Stat{}, false
	}
	b := sysctl(ctlKern, kernProc, procPID, int32(pid))
	if len(b) < kinfoSize {
		return Stat{}, false
	}
	return decode(b), true
}

// processes returns all processes.
func processes() []Stat {
	var all []Stat
	for b := sysctl(ctlKern, kernProc, procAll, 0); len(b) >= kinfoSize; b = b[kinfoSize:] {
		all = append(all, decode(b))
	}
	return all
}

func pids() []int {
	var found []int
	for _, s := range processes() {
		found = append(found, s.PID)
	}
	return found
}

// Descendants returns the connected descendants of a process, parents first. A process that an
// agent detached with a double fork is launchd's child and not included.
func Descendants(root int) []Stat { return below(processes(), root) }

// environ returns the value of KERN_PROCARGS2: the argument count, then arguments and environment
// as NUL-terminated entries. It always returns true: the value during an exec is not known.
func environ(pid int) ([]byte, bool) {
	b := sysctl(ctlKern, kernProcArgs, int32(pid))
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[i:], true
	}
	return nil, true
}

// Argv returns the command line of a process; nil: not known. KERN_PROCARGS2 has the number of
// arguments and the program's path before them.
func Argv(pid int) []string {
	b := sysctl(ctlKern, kernProcArgs, int32(pid))
	if len(b) < 4 {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return nil
	}
	words := bytes.Split(bytes.TrimLeft(b[end:], "\x00"), []byte{0})
	var argv []string
	for _, w := range words[:max(0, min(n, len(words)))] {
		argv = append(argv, string(w))
	}
	return argv
}

// Children returns the children of a process.
func Children(pid int) []int {
	var found []int
	for _, s := range processes() {
		if s.Parent == pid {
			found = append(found, s.PID)
		}
	}
	return found
}

// OwnsTree is false: launchd gets the orphans, which only their mark identifies.
const OwnsTree = false
