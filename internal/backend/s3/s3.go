// Package s3 stores a state in an object of an S3 bucket, and its lock in another.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/sleep"
)

// Settings are those of Terraform's s3 backend. Credentials, and what is empty here, are
// read from the environment and files of AWS.
type Settings struct {
	Bucket, Key               string
	Region, Endpoint, Profile string
	UsePathStyle              bool
	Lease                     time.Duration // backend.Lease if it is 0
	// DialContext connects to the store; nil: as net.Dialer does.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Backend is a state in a bucket. The version of a state is the ETag of its object.
//
// The lock is the object KEY.lock. Each of its writes has as its condition the ETag that was
// read before, so that of two who take, renew or release it at the same time one wins. It is
// never deleted, since not every store has conditional deletes: an object without ID is a
// lock that nobody has.
type Backend struct {
	settings Settings
	client   *s3.Client
	taken    sync.Map    // the IDs of the locks that this Backend took and did not release
	proved   atomic.Bool // that the store honors conditions
}

// New returns a backend with these settings. It connects to nothing.
func New(ctx context.Context, s Settings) (*Backend, error) {
	if s.Bucket == "" || s.Key == "" {
		return nil, errors.New("bucket and key must be set")
	}
	options := []func(*config.LoadOptions) error{
		config.WithRegion(s.Region), config.WithSharedConfigProfile(s.Profile),
		// Many stores other than AWS refuse the checksums that the SDK adds unasked.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	if s.DialContext != nil {
		client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DialContext = s.DialContext })
		options = append(options, config.WithHTTPClient(client))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	s.Lease = cmp.Or(s.Lease, backend.Lease)
	b := &Backend{settings: s}
	b.client = s3.NewFromConfig(loaded, func(o *s3.Options) {
		o.UsePathStyle = s.UsePathStyle
		if s.Endpoint != "" {
			o.BaseEndpoint = &s.Endpoint
		}
		if o.BaseEndpoint != nil {
			o.Region = cmp.Or(o.Region, "us-east-1") // a store of one's own has no regions
		}
	})
	if b.client.Options().Region == "" {
		return nil, errors.New("region must be set, in the backend or as AWS_REGION")
	}
	return b, nil
}

func (b *Backend) Read(ctx context.Context) ([]byte, backend.Version, error) {
	o, err := b.get(ctx, b.settings.Key)
	return o.text, backend.Version(o.etag), err
}

// Write relies on its condition alone: a process that takes the lock after the check finds a
// changed state.
func (b *Backend) Write(ctx context.Context, text []byte, seen backend.Version, id string) (backend.Version, error) {
	l, err := b.readLock(ctx)
	if err != nil {
		return "", err
	}
	if l.ID != id {
		return "", &backend.LostError{Holder: l.holder()}
	}
	etag, err := b.put(ctx, b.settings.Key, text, string(seen))
	if !errors.Is(err, errCondition) {
		return backend.Version(etag), err
	}
	return backend.Refused(ctx, b, text, seen)
}

func (b *Backend) Lock(ctx context.Context, i backend.Info) (time.Duration, error) {
	_, took := b.taken.Load(i.ID)
	for {
		l, err := b.readLock(ctx)
		if err != nil {
			return 0, err
		}
		if l.ID != i.ID {
			if took {
				return 0, &backend.LostError{Holder: l.holder()}
			}
			if l.held() {
				return 0, &backend.HeldError{Holder: l.holder()}
			}
		}
		next := lock{Info: i, Lease: b.settings.Lease.Seconds(), Number: l.Number + 1}
		err = b.writeLock(ctx, next, l.etag)
		if errors.Is(err, errCondition) {
			continue // another was faster, or the answer to an attempt was lost
		}
		if err != nil {
			return 0, err
		}
		if err := b.prove(ctx, next); err != nil {
			return 0, errors.Join(err, b.Unlock(ctx, i))
		}
		b.taken.Store(i.ID, nil)
		return b.settings.Lease, nil
	}
}

func (b *Backend) Unlock(ctx context.Context, i backend.Info) error {
	b.taken.Delete(i.ID)
	for {
		l, err := b.readLock(ctx)
		if err != nil {
			return err
		}
		if l.ID != i.ID {
			if l.held() {
				return &backend.LostError{Holder: l.Info}
			}
			return nil
		}
		err = b.writeLock(ctx, lock{}, l.etag)
		if !errors.Is(err, errCondition) {
			return err
		}
	}
}

func (b *Backend) Holder(ctx context.Context) (backend.Info, error) {
	l, err := b.readLock(ctx)
	if err == nil && !l.held() {
		err = backend.ErrNone
	}
	return l.holder(), err
}

// prove verifies once that the store honors the conditions that the lock relies on. It writes
// the lock that was just taken, so that a store that ignores them is left with the same lock.
func (b *Backend) prove(ctx context.Context, l lock) error {
	if b.proved.Load() {
		return nil
	}
	for _, c := range []struct{ name, etag string }{
		{"If-None-Match", ""},
		{"If-Match", `"00000000000000000000000000000000"`},
	} {
		switch err := b.writeLock(ctx, l, c.etag); {
		case err == nil:
			return fmt.Errorf("%s: the store ignores the condition %s of a write, so that two could have the lock: use another store", b.name(b.lockKey()), c.name)
		case !errors.Is(err, errCondition):
			return err
		}
	}
	b.proved.Store(true)
	return nil
}

// lock is the lock as its object describes it.
type lock struct {
	backend.Info
	Lease  float64 `json:"Lease"`  // in seconds
	Number int     `json:"Number"` // of the write, so that each has another ETag

	etag string
	age  time.Duration // since it was written, by the clock of the store
}

// held reports whether the lock is held. The store's times are whole seconds.
func (l lock) held() bool {
	return l.ID != "" && l.age < time.Duration(l.Lease*float64(time.Second))+time.Second
}

// holder returns the lock's holder, zero for none.
func (l lock) holder() backend.Info {
	if !l.held() {
		return backend.Info{}
	}
	return l.Info
}

func (b *Backend) lockKey() string { return b.settings.Key + ".lock" }

// readLock returns the lock, without etag if it was never taken.
func (b *Backend) readLock(ctx context.Context) (l lock, err error) {
	o, err := b.get(ctx, b.lockKey())
	if errors.Is(err, backend.ErrNone) {
		return lock{}, nil
	}
	if err != nil {
		return lock{}, err
	}
	if err := json.Unmarshal(o.text, &l); err != nil {
		return lock{}, fmt.Errorf("%s is not a lock of agentform: %w", b.name(b.lockKey()), err)
	}
	l.Renewed, l.etag, l.age = o.modified, o.etag, o.age
	return l, nil
}

func (b *Backend) writeLock(ctx context.Context, l lock, etag string) error {
	text := []byte("{}\n")
	if l.ID != "" {
		var err error
		if text, err = json.Marshal(l); err != nil {
			return err
		}
	}
	_, err := b.put(ctx, b.lockKey(), text, etag)
	return err
}

type object struct {
	text     []byte
	etag     string
	modified time.Time
	age      time.Duration // by the clock of the store
}

// get returns an object. The error is backend.ErrNone if there is none.
func (b *Backend) get(ctx context.Context, key string) (object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, backend.AnswerTimeout, errSilent)
	defer cancel()
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.settings.Bucket, Key: &key})
	if code(err) == "NoSuchKey" {
		return object{}, backend.ErrNone
	}
	if err != nil {
		return object{}, b.refusal("read", key, orSilent(ctx, err))
	}
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	if err != nil {
		return object{}, b.refusal("read", key, orSilent(ctx, err))
	}
	o := object{text: text, etag: aws.ToString(out.ETag), modified: aws.ToTime(out.LastModified)}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok || o.modified.IsZero() || o.etag == "" {
		return object{}, fmt.Errorf("%s: the answer lacks ETag, Last-Modified or Date: use another store", b.name(key))
	}
	o.age = now.Sub(o.modified)
	return o, nil
}

// errSilent reports that the store has not answered, in all attempts of one request.
var errSilent = fmt.Errorf("it does not answer for %s", backend.AnswerTimeout)

// orSilent returns errSilent if a request failed because it took too long.
func orSilent(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// errCondition reports that an object is not as the condition of its write says.
var errCondition = errors.New("the object has changed")

// conflicts is how often a write is repeated that met another one in the store.
const conflicts = 10

// put writes an object if it has that ETag, or if there is none and etag is empty, and
// returns the new one. The error is errCondition if the object is another.
func (b *Backend) put(ctx context.Context, key string, text []byte, etag string) (string, error) {
	in := &s3.PutObjectInput{Bucket: &b.settings.Bucket, Key: &key, ContentType: aws.String("application/json")}
	if etag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &etag
	}
	ctx, cancel := context.WithTimeoutCause(ctx, backend.AnswerTimeout, errSilent)
	defer cancel()
	for try := 1; ; try++ {
		in.Body = bytes.NewReader(text)
		out, err := b.client.PutObject(ctx, in)
		switch status := status(err); {
		case err == nil && aws.ToString(out.ETag) == "":
			return "", fmt.Errorf("%s: the answer lacks an ETag: use another store", b.name(key))
		case err == nil:
			return *out.ETag, nil
		case status == http.StatusPreconditionFailed, code(err) == "NoSuchKey":
			return "", errCondition
		case status == http.StatusNotImplemented:
			return "", fmt.Errorf("%s: the store has no conditional writes, which the lock relies on: use another store: %w", b.name(key), err)
		case status != http.StatusConflict || try == conflicts:
			return "", b.refusal("write", key, orSilent(ctx, err))
		}
		if !sleep.For(ctx, 100*time.Millisecond) {
			return "", b.refusal("write", key, orSilent(ctx, ctx.Err()))
		}
	}
}

func (b *Backend) name(key string) string { return "s3://" + b.settings.Bucket + "/" + key }

// refusal returns the error of a request that failed.
func (b *Backend) refusal(do, key string, err error) error {
	if status(err) == http.StatusForbidden {
		err = fmt.Errorf("allow s3:GetObject, s3:PutObject and s3:ListBucket (without it a missing object is forbidden too): %w", err)
	}
	return fmt.Errorf("cannot %s %s: %w", do, b.name(key), err)
}

// status returns the status of the answer that is an error, 0 for none.
func status(err error) int {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}
