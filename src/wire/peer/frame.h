/* What one connection between two daemons carries: docs/wire.md has every byte.
 *
 * A frame is one struct mu_message.  Everything that can be checked without knowing the machine is
 * checked here, on the way out as on the way in, and one message has exactly one encoding. */
#ifndef MU_WIRE_PEER_FRAME_H
#define MU_WIRE_PEER_FRAME_H

#include "core/base/event.h"
#include "wire/base/bytes.h"

enum {
    MU_WIRE_VERSION = 3,
    MU_WIRE_REFUSE_VERSION = 1, /* of a REFUSE, for ever: who is too old or too new can read why */
};

enum {
    MU_WIRE_NOTICE_FIXED = 33, /* bytes of a notice before its payload */
    MU_WIRE_FRAME_MIN = 6,     /* bytes of the shortest frame: length, version, type */
    /* and of the longest: a NOTICE with a payload of 65535.  The length field of a frame counts
     * what follows it, so it is at most 4 less. */
    MU_WIRE_FRAME_MAX = MU_WIRE_FRAME_MIN + 16 + MU_WIRE_NOTICE_FIXED + UINT16_MAX,
    MU_WIRE_REASON_MAX = 200, /* characters of a refusal's reason */
};

enum mu_message_type {
    MU_MESSAGE_NOTICE = MU_FRAME_NOTICE,
    MU_MESSAGE_ACK = MU_FRAME_ACK,
    MU_MESSAGE_HELLO = 3,  /* the first frame in each direction */
    MU_MESSAGE_REFUSE = 4, /* the last one: what the other side did wrong */
    MU_MESSAGE_BYE = 5,    /* the last one: this node leaves, it is not dead */
    MU_MESSAGE_FULL = MU_FRAME_FULL,
    MU_MESSAGE_ROOM = MU_FRAME_ROOM,
    MU_MESSAGE_AGAIN = MU_FRAME_AGAIN,
};

struct mu_hello {
    uint64_t machine;     /* every machine draws its own: daemons of two never mix */
    uint32_t size;        /* places for members, fixed when the machine starts, however many are in;
                             both slots are below it, but for a launcher's, which has none and says
                             'size' */
    mu_slot from;         /* who speaks */
    mu_slot to;           /* who is meant, not the same */
    uint32_t incarnation; /* of who speaks, from 1 */
    uint64_t view;        /* the number of its view; 0: it has none */
    uint64_t hash;        /* of that view; 0 without one */
    uint64_t has;         /* the last sequence that it has received from the other side */
};

/* Zero belongs to nobody.  A reader takes codes that it does not know, and shows the reason. */
enum mu_refuse_code {
    MU_REFUSE_VERSION = 1, /* that version is not spoken here */
    MU_REFUSE_FORMAT,      /* a frame that cannot be */
    MU_REFUSE_MACHINE,     /* of another machine, or of one of another size */
    MU_REFUSE_SLOT,        /* this is not who was meant */
    MU_REFUSE_DEAD,        /* that incarnation was declared dead */
    MU_REFUSE_FULL,        /* no room for one more link */
    MU_REFUSE_RETURNED,    /* no view has admitted that incarnation, as far as is known here */
};

struct mu_refuse {
    uint8_t code;       /* enum mu_refuse_code */
    uint8_t length;     /* of the reason: 1 .. MU_WIRE_REASON_MAX */
    const char *reason; /* printable ASCII, so that it can go into a log as it is; not terminated */
};

struct mu_message {
    enum mu_message_type type;
    union {
        struct mu_frame frame; /* NOTICE, ACK, FULL, ROOM, AGAIN; frame.type says the same */
        struct mu_hello hello;
        struct mu_refuse refuse;
    };
};

enum mu_wire_error {
    MU_WIRE_OK = 0,
    MU_WIRE_TRUNCATED, /* the bytes end inside the frame */
    MU_WIRE_LENGTH,    /* the frame says that it is shorter or longer than any */
    MU_WIRE_VERSION_NEWER,
    MU_WIRE_VERSION_OLDER,
    MU_WIRE_TYPE,
    MU_WIRE_BODY_SHORT, /* the frame ends inside a field */
    MU_WIRE_TRAILING,   /* something follows the last field */
    MU_WIRE_SEQUENCE,
    MU_WIRE_KIND,
    MU_WIRE_SLOT, /* not below the largest machine's size */
    MU_WIRE_INCARNATION,
    MU_WIRE_RANK,
    MU_WIRE_PAYLOAD_INDEX,
    MU_WIRE_PAYLOAD_LENGTH, /* not what is there */
    MU_WIRE_SIZE,
    MU_WIRE_HELLO_SLOT, /* above the size in the same HELLO */
    MU_WIRE_HELLO_SELF, /* from a slot to itself */
    MU_WIRE_HELLO_VIEW, /* a hash, and no view */
    MU_WIRE_REFUSE_CODE,
    MU_WIRE_REASON_LENGTH,
    MU_WIRE_REASON_SHORT, /* not as long as it says */
    MU_WIRE_REASON_BYTE,
    MU_WIRE_NO_ROOM, /* the writer is full */
};

/* What is wrong, with the value that broke the rule and, for some rules, the bound it broke. */
struct mu_wire_result {
    enum mu_wire_error error;
    uint64_t value;
    uint64_t bound;
};

/* Room for every sentence of this folder. */
enum { MU_WIRE_TEXT_MAX = 256 };

/* One sentence with value and rule, cut off at 'room'.  Returns 'text'. */
const char *mu_wire_text(struct mu_wire_result result, char *text, size_t room);

enum mu_wire_progress {
    MU_WIRE_MORE,       /* *size bytes are needed before it makes sense to ask again */
    MU_WIRE_COMPLETE,   /* the first *size bytes are one frame, to be decoded */
    MU_WIRE_BAD_LENGTH, /* whatever follows: mu_wire_decode() of the same bytes says why */
};

/* For streams: is there a whole frame at the start of these bytes?  A bad length is told as soon as
 * its four bytes are there, so nobody is made to buffer more than MU_WIRE_FRAME_MAX. */
enum mu_wire_progress mu_wire_frame_size(const uint8_t *bytes, size_t available, size_t *size);

/* Exactly one frame.  Payload and reason of *message point into 'bytes' and live as long as those.
 * On error *message is worth nothing. */
struct mu_wire_result mu_wire_decode(const uint8_t *bytes, size_t count,
                                     struct mu_message *message);

/* On error nothing was written; when that was for lack of room the writer is marked full. */
struct mu_wire_result mu_wire_encode(struct mu_writer *writer, const struct mu_message *message);

/* Does it enter the core?  Then it is in message.frame. */
bool mu_wire_is_frame(enum mu_message_type type);

/* The same for what the core wants sent. */
struct mu_wire_result mu_wire_encode_frame(struct mu_writer *writer, const struct mu_frame *frame);

/* A notice as it stands at the end of a NOTICE frame, for whoever embeds one elsewhere.  Reading
 * takes all that is left: a notice is always last. */
struct mu_wire_result mu_wire_check_notice(const struct mu_notice *notice);
struct mu_wire_result mu_wire_read_notice(struct mu_reader *reader, struct mu_notice *notice);
void mu_wire_write_notice(struct mu_writer *writer, const struct mu_notice *notice);

#endif
