#include "net/seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum mu_seal_class mu_seal_class(enum mu_seal_error error)
{
    switch (error) {
    case MU_SEAL_OK:
        return MU_SEAL_CLASS_NONE;
    case MU_SEAL_CALL_TAG:
    case MU_SEAL_ANSWER_TAG:
    case MU_SEAL_WEAK_KEY:
    case MU_SEAL_FRAME_TAG:
        return MU_SEAL_CLASS_FORGED;
    case MU_SEAL_BAD_MAGIC:
    case MU_SEAL_BAD_STEP:
    case MU_SEAL_NO_INCARNATION:
    case MU_SEAL_NO_KIND:
    case MU_SEAL_LENGTH:
    case MU_SEAL_STREAM_TAG:
    case MU_SEAL_FIRST_FRAME:
    case MU_SEAL_LAST_FRAME:
    case MU_SEAL_HELLO_DIFFERS:
        return MU_SEAL_CLASS_MALFORMED;
    case MU_SEAL_STEP_ORDER:
    case MU_SEAL_CONFIRM_TAG:
    case MU_SEAL_AFTER_LAST:
        return MU_SEAL_CLASS_ORDER;
    case MU_SEAL_VERSION_NEWER:
    case MU_SEAL_VERSION_OLDER:
        return MU_SEAL_CLASS_VERSION;
    case MU_SEAL_OTHER_MACHINE:
    case MU_SEAL_OTHER_SIZE:
        return MU_SEAL_CLASS_MACHINE;
    case MU_SEAL_NOT_MEANT:
    case MU_SEAL_NOT_CALLED:
    case MU_SEAL_NO_SUCH_SLOT:
    case MU_SEAL_OWN_SLOT:
        return MU_SEAL_CLASS_SLOT;
    case MU_SEAL_OTHER_KIND:
        return MU_SEAL_CLASS_KIND;
    case MU_SEAL_CUT:
        return MU_SEAL_CLASS_CUT;
    }
    abort();
}

const char *mu_seal_class_name(enum mu_seal_class class)
{
    switch (class) {
    case MU_SEAL_CLASS_NONE:
        return "none";
    case MU_SEAL_CLASS_FORGED:
        return "forged";
    case MU_SEAL_CLASS_MALFORMED:
        return "malformed";
    case MU_SEAL_CLASS_ORDER:
        return "order";
    case MU_SEAL_CLASS_VERSION:
        return "version";
    case MU_SEAL_CLASS_MACHINE:
        return "machine";
    case MU_SEAL_CLASS_SLOT:
        return "slot";
    case MU_SEAL_CLASS_KIND:
        return "kind";
    case MU_SEAL_CLASS_CUT:
        return "cut";
    case MU_SEAL_CLASSES:
        break;
    }
    abort();
}

/* printf takes the value and then the bound; a sentence may use none of them, or the value only. */
static const char *sentence(enum mu_seal_error error)
{
#define N "%" PRIu64
    switch (error) {
    case MU_SEAL_OK:
        return "the connection is good";
    case MU_SEAL_BAD_MAGIC:
        return "the first four bytes, 0x%08" PRIx64 ", are not muster's, 0x%08" PRIx64;
    case MU_SEAL_BAD_STEP:
        return "handshake step " N " is not one of 1 (CALL) to 3 (CONFIRM)";
    case MU_SEAL_STEP_ORDER:
        return "handshake step " N " came where step " N " is due: sent back, or sent again";
    case MU_SEAL_CALL_TAG:
        return "the tag of the CALL is wrong: it was not made with this machine's key";
    case MU_SEAL_ANSWER_TAG:
        return "the tag of the ANSWER is wrong: not made with this machine's key, or for another "
               "call";
    case MU_SEAL_CONFIRM_TAG:
        return "the CONFIRM is not of this connection: its CALL was recorded and sent again";
    case MU_SEAL_WEAK_KEY:
        return "the other side's ephemeral key is of small order: no secret would come of it";
    case MU_SEAL_VERSION_NEWER:
        return "version " N " of the other side is newer than " N
               ", the newest this program speaks";
    case MU_SEAL_VERSION_OLDER:
        return "version " N " of the other side is older than " N
               ", the oldest this program speaks";
    case MU_SEAL_OTHER_MACHINE:
        return "the other side is of machine " N ", this is machine " N;
    case MU_SEAL_OTHER_SIZE:
        return "the other side is of a machine of size " N ", this one has " N;
    case MU_SEAL_NOT_MEANT:
        return "slot " N " was meant, this is slot " N;
    case MU_SEAL_NOT_CALLED:
        return "slot " N " answers, slot " N " was called";
    case MU_SEAL_NO_SUCH_SLOT:
        return "the other side says to be slot " N ", which is not below the machine's size, " N;
    case MU_SEAL_OWN_SLOT:
        return "the other side says to be slot " N ", which this is";
    case MU_SEAL_NO_INCARNATION:
        return "incarnation " N " is not at least " N;
    case MU_SEAL_NO_KIND:
        return "kind " N " of a connection is not one of 1 (notices) to 4 (witness)";
    case MU_SEAL_OTHER_KIND:
        return "kind " N " of a connection came where kind " N
               " is due (1 notices, 2 bulk, 3 launcher, 4 witness)";
    case MU_SEAL_LENGTH:
        return "length " N " of a sealed frame is not between 18 and " N;
    case MU_SEAL_FRAME_TAG:
        return "sealed frame " N " is not the one that was sent: altered, repeated, or out of "
               "order";
    case MU_SEAL_STREAM_TAG:
        return "tag " N " of a sealed frame is neither 0 (a frame) nor 3 (the last one)";
    case MU_SEAL_FIRST_FRAME:
        return "the first sealed frame is not a HELLO or the last, a REFUSE";
    case MU_SEAL_LAST_FRAME:
        return "the last sealed frame is not a BYE or a REFUSE";
    case MU_SEAL_HELLO_DIFFERS:
        return "the HELLO says " N ", where the handshake said " N;
    case MU_SEAL_AFTER_LAST:
        return "bytes after the last frame: " N;
    case MU_SEAL_CUT:
        return "the connection ended without a BYE, after " N " frames";
    }
#undef N
    abort();
}

const char *mu_seal_text(struct mu_seal_result result, char *text, size_t room)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* every one stands just above */
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    int length = snprintf(text, room, sentence(result.error), result.value, result.bound);
#pragma GCC diagnostic pop
    if (result.wire.error != MU_WIRE_OK && length > 0 && (size_t)length < room) {
        char why[MU_WIRE_TEXT_MAX];
        mu_wire_text(result.wire, why, sizeof why);
        snprintf(text + length, room - (size_t)length, ": %s", why);
    }
    return text;
}
