package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	filePiece  = 128 << 10 // half of minPayload
	filePieces = load.MaxFileBytes/filePiece + 1
	headerFile = "Braid-File" // of each piece: the digest of the whole, and how many pieces there are
)

// PutSnapshot stores a snapshot under its id. Storing it again is no error; what was stored first stays.
func (b *Bus) PutSnapshot(ctx context.Context, s *load.Snapshot) error {
	if err := messages.CheckName(s.ID); err != nil {
		return fmt.Errorf("snapshot id: %w: %w", messages.ErrInvalid, err)
	}
	data, err := s.Encode()
	if err != nil {
		return err
	}
	// Its id leaves out when it was taken: another with the same content is as good.
	_, _, err = b.putFile(ctx, "snapshot "+s.ID, data, func(part string) string { return snapshotSubject(s.ID, part) })
	return err
}

// Snapshot reads a snapshot. The error wraps messages.ErrNotFound, or messages.ErrDamaged when it is not what was stored.
func (b *Bus) Snapshot(ctx context.Context, id string) (*load.Snapshot, error) {
	if err := messages.CheckName(id); err != nil {
		return nil, fmt.Errorf("snapshot id: %w: %w", messages.ErrInvalid, err)
	}
	data, err := b.file(ctx, "snapshot "+id, func(part string) string { return snapshotSubject(id, part) })
	if err != nil {
		return nil, err
	}
	return load.DecodeSnapshot(data)
}

// PinSnapshot makes a snapshot the one that a revision of a profile was last looked up with.
func (b *Bus) PinSnapshot(ctx context.Context, profile string, revision int, id string) error {
	if err := errors.Join(messages.CheckName(profile), messages.CheckName(id)); err != nil {
		return fmt.Errorf("pin a snapshot: %w: %w", messages.ErrInvalid, err)
	}
	return b.update(ctx, bucketLoad, pinOf(profile, revision), func([]byte) ([]byte, error) { return []byte(id), nil })
}

// PinnedSnapshot gives the id of the snapshot that a revision of a profile was last looked up with. The error wraps messages.ErrNotFound.
func (b *Bus) PinnedSnapshot(ctx context.Context, profile string, revision int) (string, error) {
	if err := messages.CheckName(profile); err != nil {
		return "", fmt.Errorf("profile id: %w: %w", messages.ErrInvalid, err)
	}
	id, _, err := b.get(ctx, bucketLoad, pinOf(profile, revision))
	if err == nil && len(id) == 0 {
		err = fmt.Errorf("snapshot of revision %d of profile %s: %w", revision, profile, messages.ErrNotFound)
	}
	return string(id), err
}

func pinOf(profile string, revision int) string {
	return fmt.Sprintf("%s%s.%d", pinKey, profile, revision)
}

// PutSelection stores what a run goes through. Storing the same again is no error; another one is refused with messages.ErrConflict.
func (b *Bus) PutSelection(ctx context.Context, run string, s *load.Selection) error {
	if err := checkRunID(run); err != nil {
		return err
	}
	data, err := s.Encode()
	if err != nil {
		return err
	}
	stored, own, err := b.putFile(ctx, "selection of "+run, data, func(part string) string { return selectionSubject(run, part) })
	if err == nil && stored != own {
		err = fmt.Errorf("store the selection of %s: %w: another is stored already", run, messages.ErrConflict)
	}
	return err
}

// Selection reads what a run goes through. The error wraps messages.ErrNotFound, or messages.ErrDamaged when it is not what was stored.
func (b *Bus) Selection(ctx context.Context, run string) (*load.Selection, error) {
	if err := checkRunID(run); err != nil {
		return nil, err
	}
	data, err := b.file(ctx, "selection of "+run, func(part string) string { return selectionSubject(run, part) })
	if err != nil {
		return nil, err
	}
	return load.DecodeSelection(data)
}

// putFile stores data once, compressed and in pieces of what a message carries. The head, which is the first piece, goes last: with it the
// file is there. The other pieces stand under the digest of what they belong to, so that one writer's do not get between another's. It
// gives the digest of what is stored in the end, which may be what somebody has stored before.
func (b *Bus) putFile(ctx context.Context, what string, data []byte, subject func(part string) string) (stored, own string, err error) {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if head, _, err := b.fileHead(ctx, what, subject); !errors.Is(err, messages.ErrNotFound) {
		return head.digest, digest, err
	}
	packed := compress(data)
	pieces := max(1, (len(packed)+filePiece-1)/filePiece)
	for i := pieces - 1; i >= 0; i-- {
		msg := nats.NewMsg(subject(partOf(digest, i)))
		msg.Data = packed[i*filePiece : min(len(packed), (i+1)*filePiece)]
		msg.Header.Set(headerFile, fmt.Sprintf("%s %d", digest, pieces))
		_, err := b.publish(ctx, msg)
		if err != nil && !errors.Is(err, messages.ErrExists) {
			return "", digest, fmt.Errorf("store the %s: %w", what, err)
		}
	}
	head, _, err := b.fileHead(ctx, what, subject)
	return head.digest, digest, err
}

// partOf names a piece in one token.
func partOf(digest string, i int) string {
	if i == 0 {
		return "0"
	}
	return fmt.Sprintf("%.32s-%d", digest, i)
}

// fileHead is what the first piece tells of a file.
type fileHead struct {
	digest string
	pieces int
}

func (b *Bus) fileHead(ctx context.Context, what string, subject func(part string) string) (head fileHead, first []byte, err error) {
	piece, err := b.lastOf(ctx, subject(partOf("", 0)))
	if err == nil && piece == nil {
		err = messages.ErrNotFound
	}
	if err != nil {
		return head, nil, fmt.Errorf("read the %s: %w", what, err)
	}
	header, err := nats.DecodeHeadersMsg(piece.Hdrs)
	if err == nil {
		_, err = fmt.Sscanf(header.Get(headerFile), "%64s %d", &head.digest, &head.pieces)
	}
	if err != nil || head.pieces < 1 || head.pieces > filePieces {
		return head, nil, fmt.Errorf("read the %s: %w: it does not say what it consists of", what, messages.ErrDamaged)
	}
	return head, piece.Data, nil
}

// file reads what putFile stored.
func (b *Bus) file(ctx context.Context, what string, subject func(part string) string) ([]byte, error) {
	head, first, err := b.fileHead(ctx, what, subject)
	if err != nil {
		return nil, err
	}
	packed := bytes.NewBuffer(first)
	for i := 1; i < head.pieces; i++ {
		piece, err := b.lastOf(ctx, subject(partOf(head.digest, i)))
		if err == nil && piece == nil {
			err = messages.ErrDamaged
		}
		if err != nil {
			return nil, fmt.Errorf("read the %s: piece %d of %d: %w", what, i, head.pieces, err)
		}
		packed.Write(piece.Data)
	}
	data, err := decompress(packed.Bytes(), load.MaxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w: %w", what, messages.ErrDamaged, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != head.digest {
		return nil, fmt.Errorf("read the %s: %w: it does not match its digest", what, messages.ErrDamaged)
	}
	return data, nil
}
