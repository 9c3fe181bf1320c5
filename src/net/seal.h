/* One TCP connection between two daemons, authenticated and sealed: docs/spec/seal.md.
 *
 * Bytes in, bytes out: no socket, clock or thread here, and no memory but this struct and one
 * buffer of the caller.  A connection goes
 *
 *     mu_seal_init();  then, until it is over:
 *     mu_seal_output() -> the socket         mu_seal_consume()
 *     the socket -> mu_seal_input()          and what it returns says what to do
 *
 * Whoever has the machine's key is a member of the machine.  Which one, it only says. */
#ifndef MU_NET_SEAL_H
#define MU_NET_SEAL_H

#include "wire/peer/frame.h"

#include <sodium.h>

enum mu_seal_role { MU_SEAL_DIALLER = 1, MU_SEAL_ACCEPTOR = 2 };

/* What the connection is for; said in the handshake, so that one is never taken for the other. */
enum mu_seal_kind {
    MU_SEAL_ANY = 0,     /* of an acceptor only: whichever the dialler says */
    MU_SEAL_NOTICES = 1, /* each sealed frame is one frame of wire/peer/frame.h */
    MU_SEAL_BULK = 2,    /* each sealed frame but the first and the last is bytes of the caller */
    /* The same, dialled by who has no slot and commands a job: its 'from' is the machine's size. */
    MU_SEAL_LAUNCHER = 3,
    /* Of a daemon that has ended, by its witness: 'from' and incarnation are that daemon's.  Each
     * frame is a word (wire/peer/word.h). */
    MU_SEAL_WITNESS = 4,
};

enum {
    MU_SEAL_KEY_BYTES = 32, /* of the machine's key */
    MU_SEAL_HEAD = 6,       /* magic, version and step, at the start of every handshake message */
    MU_SEAL_TAG = 32,
    MU_SEAL_SAID = 79,                            /* CALL or ANSWER before the tag */
    MU_SEAL_CALL = MU_SEAL_SAID + MU_SEAL_TAG,    /* the dialler's first, the acceptor's only */
    MU_SEAL_CONFIRM = MU_SEAL_HEAD + MU_SEAL_TAG, /* the dialler's second */
    MU_SEAL_HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    MU_SEAL_CIPHER_EXTRA = crypto_secretstream_xchacha20poly1305_ABYTES,
    MU_SEAL_OVERHEAD = 4 + MU_SEAL_CIPHER_EXTRA, /* what sealing adds to a frame */

    /* The longest frame by kind, and the buffer that takes it. */
    MU_SEAL_NOTICES_MAX = MU_WIRE_FRAME_MAX,
    MU_SEAL_NOTICES_BUFFER = MU_SEAL_NOTICES_MAX + MU_SEAL_CIPHER_EXTRA,
    MU_SEAL_WITNESS_MAX = 4096, /* a witness has little memory, and little to say */
    MU_SEAL_BULK_MAX = 256 * 1024,
    MU_SEAL_BULK_BUFFER = MU_SEAL_BULK_MAX + MU_SEAL_CIPHER_EXTRA,

    /* The most that output ever holds: CONFIRM, header, HELLO and REFUSE. */
    MU_SEAL_OUT = MU_SEAL_CONFIRM + MU_SEAL_HEADER + (54 + MU_SEAL_OVERHEAD) +
                  (8 + MU_WIRE_REASON_MAX + MU_SEAL_OVERHEAD),

    MU_SEAL_BYTES_MAX = 1136, /* of struct mu_seal: all that a stranger's connection takes */
};

enum mu_seal_event {
    MU_SEAL_MORE,       /* all bytes are taken; bring more */
    MU_SEAL_PEER_KNOWN, /* it is a member and says who: mu_seal_accept() or mu_seal_refuse() next */
    MU_SEAL_OPEN,       /* its HELLO is here: mu_seal_peer()->has is good */
    MU_SEAL_FRAME,      /* mu_seal_plain() has it */
    MU_SEAL_REFUSED,    /* the other side's last word: mu_seal_refusal() */
    MU_SEAL_GOODBYE,    /* the other side's last word: it leaves and is not dead */
    MU_SEAL_BAD,        /* send what output has, which mostly is nothing; close; count the class */
};

enum mu_seal_error {
    MU_SEAL_OK = 0,
    MU_SEAL_BAD_MAGIC,
    MU_SEAL_BAD_STEP,      /* no message of a handshake */
    MU_SEAL_STEP_ORDER,    /* one, but not the next one: reflected, repeated, or out of order */
    MU_SEAL_CALL_TAG,      /* not made with the machine's key */
    MU_SEAL_ANSWER_TAG,    /* the same, or the answer to another call */
    MU_SEAL_CONFIRM_TAG,   /* whoever sent this call cannot go on with it: it was recorded */
    MU_SEAL_WEAK_KEY,      /* an ephemeral key of small order */
    MU_SEAL_VERSION_NEWER, /* told to the other side with a REFUSE, as the next one */
    MU_SEAL_VERSION_OLDER,
    MU_SEAL_OTHER_MACHINE,
    MU_SEAL_OTHER_SIZE,
    MU_SEAL_NOT_MEANT,    /* this is another slot */
    MU_SEAL_NOT_CALLED,   /* another slot answers */
    MU_SEAL_NO_SUCH_SLOT, /* it says to be one that the machine has not */
    MU_SEAL_OWN_SLOT,     /* it says to be this one */
    MU_SEAL_NO_INCARNATION,
    MU_SEAL_NO_KIND,
    MU_SEAL_OTHER_KIND,
    MU_SEAL_LENGTH,        /* of a sealed frame */
    MU_SEAL_FRAME_TAG,     /* forged, altered, repeated, left out or out of order */
    MU_SEAL_STREAM_TAG,    /* neither a frame nor the last one */
    MU_SEAL_FIRST_FRAME,   /* not a HELLO or REFUSE; 'wire' says why, when it cannot be read */
    MU_SEAL_LAST_FRAME,    /* not a BYE or REFUSE; the same */
    MU_SEAL_HELLO_DIFFERS, /* from the handshake */
    MU_SEAL_AFTER_LAST,
    MU_SEAL_CUT, /* ended without a last frame: the peer died, or somebody cut it off */
};

/* What a daemon counts. */
enum mu_seal_class {
    MU_SEAL_CLASS_NONE = 0,
    MU_SEAL_CLASS_FORGED,
    MU_SEAL_CLASS_MALFORMED,
    MU_SEAL_CLASS_ORDER, /* replayed, or not the next one */
    MU_SEAL_CLASS_VERSION,
    MU_SEAL_CLASS_MACHINE,
    MU_SEAL_CLASS_SLOT,
    MU_SEAL_CLASS_KIND,
    MU_SEAL_CLASS_CUT,
    MU_SEAL_CLASSES,
};

struct mu_seal_result {
    enum mu_seal_error error;
    uint64_t value;             /* that broke the rule */
    uint64_t bound;             /* that it broke */
    struct mu_wire_result wire; /* FIRST_FRAME, LAST_FRAME */
};

/* Room for every sentence. */
enum { MU_SEAL_TEXT_MAX = MU_WIRE_TEXT_MAX + 128 };

/* One sentence with value and rule, cut off at 'room'.  For the log here, never for the other side.
 * Returns 'text'. */
const char *mu_seal_text(struct mu_seal_result result, char *text, size_t room);

enum mu_seal_class mu_seal_class(enum mu_seal_error error);

/* One word, for metrics. */
const char *mu_seal_class_name(enum mu_seal_class class);

enum mu_seal_state {
    MU_SEAL_WAIT_CALL = 1,
    MU_SEAL_WAIT_ANSWER,
    MU_SEAL_WAIT_CONFIRM,
    MU_SEAL_DECIDE, /* PEER_KNOWN was returned, and the caller has not said what it wants */
    MU_SEAL_WAIT_HEADER,
    MU_SEAL_WAIT_LENGTH,
    MU_SEAL_WAIT_CIPHER,
    MU_SEAL_ENDED, /* by the other side's last frame */
    MU_SEAL_DEAF,  /* refused by this side, which wants to hear no more */
    MU_SEAL_FAILED,
};

struct mu_seal_keys {
    uint8_t dialler[32];    /* seals what the dialler sends */
    uint8_t acceptor[32];   /* and the acceptor */
    uint8_t confirm[32];    /* of CONFIRM's tag */
    uint8_t transcript[32]; /* no key: the hash of CALL and ANSWER */
};

/* Plain, so that it can stand in the caller's own struct; only functions below look inside. */
struct mu_seal {
    enum mu_seal_state state;
    enum mu_seal_role role;
    uint8_t kind;         /* enum mu_seal_kind; ANY until the CALL is there */
    uint8_t peer_version; /* from the handshake on */
    bool known;           /* the handshake is over */
    bool open;            /* the other side's HELLO is there */
    bool sending, sent_last;
    const uint8_t *key; /* of the caller; NULL once the handshake is over */
    struct mu_hello self, peer;
    struct mu_seal_result result; /* FAILED */

    uint8_t *buffer;       /* of the caller: ciphertext, opened in place */
    size_t filled, wanted; /* of what the state waits for */
    size_t plain_count;
    uint64_t frames; /* opened so far */
    struct mu_refuse refusal;
    uint8_t shake[2 * MU_SEAL_CALL]; /* CALL, ANSWER */
    uint8_t small[MU_SEAL_CONFIRM];  /* CONFIRM, then a header, then lengths */

    uint16_t out_used, out_sent;
    uint8_t out[MU_SEAL_OUT];

    struct {
        uint8_t ephemeral[32];
        struct mu_seal_keys keys;
        crypto_secretstream_xchacha20poly1305_state send, receive;
    } secret; /* wiped as a whole */
};

_Static_assert(sizeof(struct mu_seal) <= MU_SEAL_BYTES_MAX, "keep the stated bound");

/* 'key' stays the caller's and there until PEER_KNOWN or BAD.  'self' is this daemon: machine,
 * size, from (its slot), incarnation, and of a dialler 'to', the slot that it calls; the rest is
 * not looked at.  All of it passes the rules of docs/wire.md.  A dialler's kind is not ANY. */
void mu_seal_init(struct mu_seal *seal, enum mu_seal_role role, const uint8_t *key,
                  enum mu_seal_kind kind, const struct mu_hello *self);

/* Wipes it all, keys before anything.  The caller's buffer is left as it is. */
void mu_seal_free(struct mu_seal *seal);

/* What is to be sent now; returns how many bytes.  Every other function may add to it, and before
 * the next mu_seal_send() the caller takes all of it, into its own queue if the socket is full: the
 * order on the wire is the order of the calls. */
size_t mu_seal_output(const struct mu_seal *seal, const uint8_t **bytes);
void mu_seal_consume(struct mu_seal *seal, size_t count);

/* Takes up to the next event: *used says how much of it.  Call again with the rest until MORE.
 * After REFUSED, GOODBYE and BAD nothing good follows; BAD stays BAD.  'bytes' are never kept. */
enum mu_seal_event mu_seal_input(struct mu_seal *seal, const uint8_t *bytes, size_t count,
                                 size_t *used);

/* The stream has ended.  GOODBYE: as it should, after the other side's last frame or our REFUSE.
 * Else BAD: CUT, or what was wrong before. */
enum mu_seal_event mu_seal_end(struct mu_seal *seal);

/* After PEER_KNOWN: goes on, with a HELLO that says 'has'.  The buffer is the caller's, takes
 * mu_seal_buffer_bytes(), and stays there until mu_seal_free(). */
void mu_seal_accept(struct mu_seal *seal, uint64_t has, uint8_t *buffer, size_t room);
size_t mu_seal_buffer_bytes(const struct mu_seal *seal);

/* From PEER_KNOWN on: this side's last frame, a REFUSE; then the caller closes, and what still
 * comes in is thrown away.  A reason over MU_WIRE_REASON_MAX is cut, and what is not printable is
 * shown as
 * '?'.  Nothing happens when this side has said its last already, or the seal is bad. */
void mu_seal_refuse(struct mu_seal *seal, enum mu_refuse_code code, const char *reason);

/* From mu_seal_accept() on: this side's last frame, a BYE.  The other side may go on.  Nothing
 * happens when this side has said its last already, or the seal is bad. */
void mu_seal_bye(struct mu_seal *seal);

/* Seals one frame, 1 .. mu_seal_frame_max() bytes, from mu_seal_accept() on and before this side's
 * last frame.  'out' has room for count + MU_SEAL_OVERHEAD and does not overlap; the result is how
 * much was written: that much, or 0 when the seal is bad. */
size_t mu_seal_send(struct mu_seal *seal, const uint8_t *plain, size_t count, uint8_t *out);
size_t mu_seal_frame_max(const struct mu_seal *seal);

/* After FRAME: the frame, in the caller's buffer until the next mu_seal_input().  Of kind NOTICES
 * it is a NOTICE or an ACK, or the peer breaks the rules: HELLO, REFUSE and BYE do not come this
 * way. */
const uint8_t *mu_seal_plain(const struct mu_seal *seal, size_t *count);

/* After REFUSED: the reason is in the caller's buffer. */
const struct mu_refuse *mu_seal_refusal(const struct mu_seal *seal);

/* From PEER_KNOWN on, and after a BAD that follows it: who it says to be, 'from' is its slot; 'has'
 * from OPEN on.  NULL before. */
const struct mu_hello *mu_seal_peer(const struct mu_seal *seal);

/* After BAD. */
struct mu_seal_result mu_seal_result(const struct mu_seal *seal);

#endif
