/*
 * Sends a train of UDP packets, or prints when each packet of one arrived; knows nothing of unbloat.
 *
 *	train send SIGNAL HOST COUNT BYTES GAP_US	as soon as the file SIGNAL is there
 *	train receive SIGNAL QUIET_MS			until nothing has come for so long
 *
 * Sizes are those of IP packets. The receiver prints a line for each packet, in the order of arrival: its number, when
 * it was sent, when it arrived (by the kernel's own time stamp), in nanoseconds of both ends' one clock, and its size.
 *
 * It is in C for a guest starts it some eighty times, and executes each instruction of an interpreter's start.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	PORT = 5000,
	HEADERS = 20 + 8,
	LARGEST = 65536,
	AMPLE = 1 << 28
};

/* The number of a packet before the train, which opens the path for it. */
static const uint32_t WARM_UP = UINT32_MAX;

struct stamp {
	uint32_t number;
	uint64_t sent_ns;
} __attribute__((packed));

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = {ns / 1000000000, ns % 1000000000};

	nanosleep(&pause, NULL);
}

static int checked(int result, const char *what)
{
	if (result < 0)
		err(1, "%s", what);
	return result;
}

static int bound_socket(int type)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int on = 1, fd = checked(socket(AF_INET, type, 0), "socket");

	checked(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), "SO_REUSEADDR");
	checked(bind(fd, (struct sockaddr *)&here, sizeof(here)), "bind");
	return fd;
}

static int connected_socket(const char *host)
{
	struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
	char port[8];
	int fd, failure;

	snprintf(port, sizeof(port), "%d", PORT);
	failure = getaddrinfo(host, port, &wanted, &found);
	if (failure)
		errx(1, "%s: %s", host, gai_strerror(failure));
	fd = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket");
	checked(connect(fd, found->ai_addr, found->ai_addrlen), "connect");
	freeaddrinfo(found);
	return fd;
}

static void send_packet(int fd, uint32_t number, int64_t sent_ns, size_t size)
{
	static char packet[LARGEST];
	struct stamp stamp = {htobe32(number), htobe64(sent_ns)};

	memcpy(packet, &stamp, sizeof(stamp));
	checked(send(fd, packet, size, 0), "send");
}

static void send_train(const char *signal, const char *host, uint32_t count, size_t size, int64_t gap_ns)
{
	struct sched_param first = {.sched_priority = 1};
	int door = bound_socket(SOCK_STREAM), fd = connected_socket(host);
	int64_t start;

	/* The shell does not wait any longer once somebody listens here. */
	checked(listen(door, 1), "listen");
	/* Before all ordinary programs: the train has no gaps but those asked for. */
	checked(sched_setscheduler(0, SCHED_RR, &first), "sched_setscheduler");
	while (access(signal, F_OK))
		sleep_ns(2000000);
	send_packet(fd, WARM_UP, 0, size);
	sleep_ns(100000000);
	start = now_ns();
	for (uint32_t number = 0; number < count; number++) {
		int64_t wait = start + number * gap_ns - now_ns();

		if (wait > 0)
			sleep_ns(wait);
		send_packet(fd, number, now_ns(), size);
	}
	for (;;)
		pause();
}

/* Returns the size of the next packet's data, or -1 when none has come for as long as the socket waits. */
static ssize_t next_packet(int fd, struct stamp *stamp, int64_t *arrived_ns)
{
	static char data[LARGEST];
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec into = {data, sizeof(data)};
	struct msghdr message = {
		.msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t size = recvmsg(fd, &message, 0);
	struct timespec arrived;

	if (size < 0 && errno == EAGAIN)
		return -1;
	checked(size, "recvmsg");
	memcpy(&arrived, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(arrived));
	memcpy(stamp, data, sizeof(*stamp));
	*arrived_ns = arrived.tv_sec * INT64_C(1000000000) + arrived.tv_nsec;
	return size;
}

static void receive_train(const char *signal, long quiet_ms)
{
	struct timeval quiet = {quiet_ms / 1000, quiet_ms % 1000 * 1000};
	int ample = AMPLE, on = 1, fd = bound_socket(SOCK_DGRAM);
	struct stamp stamp;
	int64_t arrived_ns;
	ssize_t size;

	checked(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &ample, sizeof(ample)), "SO_RCVBUFFORCE");
	checked(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)), "SO_TIMESTAMPNS");
	close(checked(open(signal, O_CREAT | O_WRONLY, 0600), signal));
	while ((size = next_packet(fd, &stamp, &arrived_ns)) >= 0) {
		if (be32toh(stamp.number) != WARM_UP)
			printf("%" PRIu32 " %" PRIu64 " %" PRId64 " %zd\n", be32toh(stamp.number),
			       be64toh(stamp.sent_ns), arrived_ns, size + HEADERS);
		checked(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet)), "SO_RCVTIMEO");
	}
}

int main(int count, char **words)
{
	static char output[1 << 21];

	/* Nothing is written before all has come. */
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	/* What the program needs comes from the disk now, not when it is in a hurry. */
	checked(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	if (count == 7 && !strcmp(words[1], "send"))
		send_train(words[2], words[3], strtoul(words[4], NULL, 10), strtoul(words[5], NULL, 10) - HEADERS,
			   strtoll(words[6], NULL, 10) * 1000);
	else if (count == 4 && !strcmp(words[1], "receive"))
		receive_train(words[2], strtol(words[3], NULL, 10));
	else
		errx(2, "see the head of train.c");
	return 0;
}
