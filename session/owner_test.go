package session

import "testing"

func TestOwnerDiffers(t *testing.T) {
	base := Owner{Host: "vm", Machine: "m1", BootID: "b1", UID: 1000, Project: "/p", DataDir: "/p/.agentform", Lineage: "l"}
	with := func(change func(*Owner)) Owner {
		o := base
		change(&o)
		return o
	}
	inside := func(namespace string) Owner {
		return with(func(o *Owner) { o.PIDNamespace = namespace })
	}
	for _, c := range []struct {
		what    string
		o, here Owner
		want    OwnerDifference
	}{
		{"the same", base, base, SameOwner},
		{"a record without an owner", Owner{}, base, SameOwner},
		{"nothing is known of this host", base, Owner{}, SameOwner},
		{"the host was rebooted", base, with(func(o *Owner) { o.BootID = "b2" }), SameOwner},
		{"the boot is unknown", base, with(func(o *Owner) { o.BootID = "" }), SameOwner},
		{"the host was renamed while it runs", base, with(func(o *Owner) { o.Host, o.Machine = "new", "m2" }), SameOwner},
		{"another machine", base, with(func(o *Owner) { o.Host, o.Machine, o.BootID = "other", "m2", "b2" }), OtherHost},
		{"another machine, with boots unknown", with(func(o *Owner) { o.BootID = "" }), with(func(o *Owner) { o.BootID, o.Machine = "", "m2" }), OtherHost},
		{"a container on the host", base, with(func(o *Owner) { o.Host, o.Machine, o.PIDNamespace = "c1", "m2", "77" }), OtherHost},
		{"the host, of what a container started", with(func(o *Owner) { o.Host, o.Machine, o.PIDNamespace = "c1", "m2", "77" }), base, OtherHost},
		{"another pid namespace with the host's name", base, inside("77"), OtherNamespace},
		{"the host, of what such a namespace started", inside("77"), base, OtherNamespace},
		{"the same container", inside("77"), inside("77"), SameOwner},
		{"the container was restarted", inside("77"), inside("78"), Restarted},
		{"the container and its host were restarted", inside("77"), with(func(o *Owner) { o.PIDNamespace, o.BootID = "78", "b2" }), SameOwner},
		{"another user", base, with(func(o *Owner) { o.UID = 0 }), OtherUser},
		{"another user after a restart", inside("77"), with(func(o *Owner) { o.PIDNamespace, o.UID = "78", 0 }), OtherUser},
		{"another data directory", base, with(func(o *Owner) { o.DataDir = "/q/.agentform" }), OtherDataDir},
		{"another data directory at the same path", with(func(o *Owner) { o.DataDirID = "1" }), with(func(o *Owner) { o.DataDirID = "2" }), OtherDataDir},
		{"one that may be another", with(func(o *Owner) { o.DataDirID = "1" }), base, SameOwner},
		{"another host and data directory", base, with(func(o *Owner) { o.Machine, o.BootID, o.DataDir = "m2", "b2", "/q" }), OtherHost},
	} {
		if got := c.o.Differs(c.here); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestRecordDiffers(t *testing.T) {
	here := Owner{Host: "vm", Machine: "m1", BootID: "b1", DataDir: "/p/.agentform"}
	for _, c := range []struct {
		kind string
		o    Owner
		want OwnerDifference
	}{
		{"kubernetes", Owner{Host: "ci", Machine: "m2", BootID: "b2", UID: 7, DataDir: "/p/.agentform"}, SameOwner},
		{"kubernetes", Owner{Host: "ci", Machine: "m2", BootID: "b2", DataDir: "/q"}, SameOwner},
		{"kubernetes", Owner{Host: "vm", Machine: "m1", BootID: "b1", DataDir: "/q"}, SameOwner},
		{"tmux", Owner{Host: "ci", Machine: "m2", BootID: "b2", DataDir: "/p/.agentform"}, OtherHost},
	} {
		r := Record{Owner: c.o, Spec: Spec{Runtime: RuntimeSpec{Kind: c.kind}}}
		if got := r.Differs(here); got != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.kind, c.o, got, c.want)
		}
	}
}
