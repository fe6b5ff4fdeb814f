package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var bootID atomic.Pointer[string] // nil: not read yet

// BootID returns an id of this boot of the machine, or "" if it cannot be read, as without a free
// file descriptor.
func BootID() string {
	if id := bootID.Load(); id != nil {
		return *id
	}
	var buf [64]byte
	b, err := readProc("/proc/sys/kernel/random/boot_id", buf[:])
	id := strings.TrimSpace(string(b))
	if err == nil && id != "" {
		bootID.Store(&id)
	}
	return id
}

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// ReadStat reads /proc/PID/stat. It counts fields from the last parenthesis, since the command's name
// may contain anything.
func ReadStat(pid int) (Stat, bool) {
	if pid <= 0 {
		return Stat{}, false
	}
	var buf [1 << 10]byte // 52 numbers and a name of at most 64 bytes
	b, err := readProc(procPath(pid, "stat"), buf[:])
	if err != nil {
		return Stat{}, false
	}
	s, n := Stat{Process: Process{PID: pid}}, 0
	for f := range bytes.FieldsSeq(b[bytes.LastIndexByte(b, ')')+1:]) {
		switch n++; n {
		case 1:
			s.State = f[0]
		case 2:
			s.Parent, _ = strconv.Atoi(string(f))
		case 18:
			s.Threads, _ = strconv.Atoi(string(f))
		case 20:
			s.Start, err = strconv.ParseUint(string(f), 10, 64)
			return s, err == nil
		}
	}
	return Stat{}, false
}

// readProc reads the start of a file in /proc with three system calls, in a third of the time of
// os.ReadFile.
func readProc(path string, buf []byte) ([]byte, error) {
	var fd, n int
	err := IgnoringEINTR(func() (err error) {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	err = IgnoringEINTR(func() (err error) {
		n, err = syscall.Read(fd, buf)
		return err
	})
	return buf[:max(n, 0)], err
}

// Descendants returns the descendants of a process, parents first. It walks
// /proc/PID/task/TID/children, which costs only what exists; on a kernel without those files it
// reads every process.
func Descendants(root int) []Stat {
	if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err != nil {
		return below(processes(), root)
	}
	var found []Stat
	seen := map[int]bool{root: true}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range Children(queue[0]) {
			s, ok := ReadStat(pid)
			if !ok || seen[pid] {
				continue
			}
			seen[pid] = true
			found = append(found, s)
			queue = append(queue, pid)
		}
	}
	return found
}

// Children returns the children of all threads of a process.
func Children(pid int) []int {
	tasks, err := os.ReadDir(procPath(pid, "task"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		b, err := os.ReadFile(procPath(pid, "task/"+t.Name()+"/children"))
		if err != nil {
			continue
		}
		for f := range bytes.FieldsSeq(b) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var found []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// processes returns all processes.
func processes() []Stat {
	var all []Stat
	for _, pid := range pids() {
		if s, ok := ReadStat(pid); ok {
			all = append(all, s)
		}
	}
	return all
}

// environ returns the initial environment of a process as NUL-terminated entries, or nothing for a
// process of another user. It returns false during an exec, while the process has no environment.
// Until execve(2) has laid out the new memory (load_elf_binary in fs/binfmt_elf.c), the start of
// the program's code, which differs between execs, is 0. A kernel thread, a zombie and an exiting
// process have no program.
func environ(pid int) ([]byte, bool) {
	if env := readEnviron(pid); len(env) > 0 {
		return env, true
	}
	if _, err := os.Readlink(procPath(pid, "exe")); err != nil {
		return nil, true
	}
	code := startCode(pid)
	if env := readEnviron(pid); len(env) > 0 {
		return env, true
	}
	return nil, code != 0 && code == startCode(pid)
}

// startCode returns start_code, field 26 of stat; 0 also for a process that is gone.
func startCode(pid int) uint64 {
	var buf [1 << 10]byte
	stat, err := readProc(procPath(pid, "stat"), buf[:])
	f := statFields(stat)
	if err != nil || len(f) < 24 {
		return 0
	}
	code, _ := strconv.ParseUint(string(f[23]), 10, 64)
	return code
}

// readEnviron reads the environment in one read: a second one could return another program's. A
// sweep reads that of every process.
func readEnviron(pid int) []byte {
	for size := 8 << 10; ; size *= 16 { // the kernel takes 6 MB at most (execve(2))
		b, err := readProc(procPath(pid, "environ"), make([]byte, size))
		if err != nil {
			return nil
		}
		if len(b) < size {
			return b
		}
	}
}
