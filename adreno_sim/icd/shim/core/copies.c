/* The host's side of transfers: rows between the host's memory and staging, at the time at which the command may touch them. */
#include "misuse.h"
#include "schedule.h"

static uint8_t *last_byte(const struct copy *copy) {
    return copy->host + (copy->slices - 1) * copy->host_slice + (copy->rows - 1) * copy->host_row + copy->row;
}

static bool overlap(const struct copy *one, const struct copy *other) {
    return one->host < last_byte(other) && other->host < last_byte(one);
}

static void move_rows(struct link *link, const struct copy *copy) {
    uint8_t *staging = link->staging + copy->at;
    bool dense = copy->host_row == copy->row && copy->host_slice == copy->row * copy->rows;
    size_t rows = dense ? 1 : copy->rows, slices = dense ? 1 : copy->slices, row = dense ? copy->bytes : copy->row;
    for (size_t z = 0; z < slices; z++)
        for (size_t y = 0; y < rows; y++) {
            uint8_t *host = copy->host + z * copy->host_slice + y * copy->host_row;
            memcpy(copy->way == TO_STAGING ? staging : host, copy->way == TO_STAGING ? host : staging, row);
            staging += row;
        }
}

/* A transfer for which there is no staging, straight between the host and the heap when all before it is complete. */
static void move_straight(struct event *event) {
    struct copy *copy = &event->copy;
    if (copy->way == TO_STAGING) {
        memcpy(copy->straight, copy->host, copy->row);
        const uint64_t range[3] = {copy->memory, copy->offset, copy->row};
        _Static_assert(sizeof range == ADRENO_SIZE_RANGE && sizeof range <= ADRENO_SIZE_TRANSFER, "RANGE fits in the body");
        memcpy(event->body, range, sizeof range);
        event->command = ADRENO_COMMAND_WRITTEN;
        event->body_size = sizeof range;
    } else {
        begin_host_write(event->link, copy);
        memcpy(copy->host, copy->straight, copy->row);
        end_host_write(event->link, copy);
        event->command = ADRENO_COMMAND_NOTHING;
        event->body_size = 0;
    }
    copy->way = NO_COPY;
}

/* Whether `later` is known to wait for a command in the ring. Whatever it waits for by name may do so in turn. */
static bool comes_before(const struct event *earlier, const struct event *later) {
    const struct queue *queue = later->queue;
    if (later->wait_count || later->all_before) return true;
    if (earlier->queue != queue) return false;
    return !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) || queue->barrier_number >= earlier->number;
}

cl_int prepare_copy(struct event *event) {
    struct link *link = event->link;
    struct copy *copy = &event->copy;
    if (copy->way == NO_COPY) return CL_SUCCESS;
    for (struct event *other = link->first_copying; other; other = other->next_copying)
        if (overlap(copy, &other->copy) && !comes_before(other, event))
            note_misuse((struct misuse){.what = ADRENO_MISUSE_UNORDERED_TRANSFER, .call = event->call},
                        "it %s memory of the host that call %u still writes, and nothing orders the two",
                        copy->way == TO_STAGING ? "reads" : "writes", other->call);
    if (copy->way == TO_STAGING) /* what an earlier command writes to the host's memory has to be there first */
        for (struct event *other = link->first_copying; other; other = other->next_copying)
            if (overlap(copy, &other->copy)) {
                drain_locked(link);
                break;
            }
    if (!copy->bytes) {
        uint64_t bytes = (uint64_t)copy->row * copy->rows * copy->slices;
        bool taken = staging_take(link, bytes, &copy->at);
        if (!taken) {
            drain_locked(link);
            taken = staging_take(link, bytes, &copy->at);
        }
        if (!taken && copy->straight) {
            move_straight(event);
            return CL_SUCCESS;
        }
        if (!taken) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
        copy->bytes = bytes;
    }
    memcpy((uint8_t *)event->body + 8, &copy->at, sizeof copy->at);
    if (copy->way == TO_STAGING) move_rows(link, copy);
    return CL_SUCCESS;
}

void complete_copy(struct event *event, cl_int status) {
    struct link *link = event->link;
    struct copy *copy = &event->copy;
    if (copy->way == FROM_STAGING && event->number) {
        struct event **at = &link->first_copying, *before = NULL;
        while (*at && *at != event) before = *at, at = &before->next_copying;
        if (*at) *at = event->next_copying;
        if (link->last_copying == event) link->last_copying = before;
        event->next_copying = NULL;
        if (status == CL_COMPLETE) {
            begin_host_write(link, copy);
            move_rows(link, copy);
            end_host_write(link, copy);
        }
    }
    if (copy->bytes && !copy->keep) staging_give(link, copy->at, copy->bytes);
    copy->way = NO_COPY;
    copy->bytes = 0;
}

cl_int write_image_now(struct link *link, struct copy *copy, void *body) {
    copy->way = TO_STAGING;
    copy->bytes = (uint64_t)copy->row * copy->rows * copy->slices;
    state_lock(link);
    bool taken = staging_take(link, copy->bytes, &copy->at);
    if (!taken) {
        drain_locked(link);
        taken = staging_take(link, copy->bytes, &copy->at);
    }
    state_unlock(link);
    if (!taken) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    memcpy((uint8_t *)body + 8, &copy->at, sizeof copy->at);
    move_rows(link, copy);
    enqueue_silently(link, ADRENO_COMMAND_WRITE, body, ADRENO_SIZE_TRANSFER);
    drain(link);
    state_lock(link);
    staging_give(link, copy->at, copy->bytes);
    state_unlock(link);
    return link_lost(link) ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
}
