// The virtual board: a Verilated board core whose serial line ends in a pseudo-terminal.
//
// Arguments: file descriptor of the terminal, clocks a bit, clocks for each of the engine's, seed, and the chances in a
// million that a byte is dropped, has a bit flipped, or is followed by a byte of garbage, in either direction. SIGUSR1
// presses the reset button.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "Vplusb_board.h"
#include "verilated.h"

namespace {

// Clocks between two looks at the terminal; clocks of rest after which all looks become waits, so that an idle board
// costs no processor time: more than any frame's silence, or what the engine does with what its buffers hold.
constexpr int LOOK = 256, REST = 200000, WAIT_MS = 4;
// Clocks that the reset button stays pressed: several of the slowest engine's.
constexpr int PRESS = 32;

volatile std::sig_atomic_t button = 0;

struct Noise {
    uint64_t state;
    uint32_t drop, flip, garbage;

    uint32_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state >> 32;
    }
    bool happens(uint32_t chance) { return chance && next() % 1000000 < chance; }

    template <typename Sink> void pass(uint8_t byte, Sink sink) {
        if (!happens(drop)) sink(happens(flip) ? byte ^ (1 << next() % 8) : byte);
        if (happens(garbage)) sink(static_cast<uint8_t>(next()));
    }
};

// To the board: start bit, eight data bits, stop bit.
struct Sender {
    std::deque<uint8_t> bytes;
    int bit, clock = 0, left = 0;
    uint32_t shift = 0;

    bool step() {
        if (clock == 0) {
            if (left == 0) {
                if (bytes.empty()) return true;
                shift = 0x200u | bytes.front() << 1;
                bytes.pop_front();
                left = 10;
            }
            clock = bit;
            level = shift & 1;
            shift >>= 1;
            --left;
        }
        --clock;
        return level;
    }
    bool level = true;
};

// From the board, sampled in the middle of each bit.
struct Receiver {
    int bit, wait = -1, count = 0;
    uint32_t shift = 0;

    // -1 if no byte is complete.
    int step(bool level) {
        if (wait < 0) {
            if (!level) wait = bit + bit / 2 - 1, count = 0, shift = 0;
            return -1;
        }
        if (wait-- > 0) return -1;
        if (count == 8) {
            wait = -1;
            return level ? static_cast<int>(shift) : -1;
        }
        shift |= static_cast<uint32_t>(level) << count++;
        wait = bit - 1;
        return -1;
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) return 2;
    const int terminal = std::atoi(argv[1]), bit = std::atoi(argv[2]), divider = std::atoi(argv[3]);
    Noise noise{std::strtoull(argv[4], nullptr, 10) * 0x9E3779B97F4A7C15ull + 1, static_cast<uint32_t>(std::atoi(argv[5])),
                static_cast<uint32_t>(std::atoi(argv[6])), static_cast<uint32_t>(std::atoi(argv[7]))};
    const pid_t parent = getppid();
    std::signal(SIGUSR1, [](int) { button = 1; });
    fcntl(terminal, F_SETFL, fcntl(terminal, F_GETFL) | O_NONBLOCK);

    VerilatedContext context;
    Vplusb_board board{&context};
    Sender sender{{}, bit};
    Receiver receiver{bit};
    board.rx = 1;
    int reset = PRESS;
    uint64_t rest = 0;
    for (uint64_t cycle = 0;; ++cycle) {
        if (cycle % LOOK == 0) {
            if (button) button = 0, reset = PRESS;
            // Nobody to serve any more.
            if (rest > REST && getppid() != parent) return 0;
            // The first look after a response waits too: time need not pass while the host thinks of its next request.
            const bool answered = rest >= LOOK && rest < 2 * LOOK && sender.bytes.empty();
            if (rest > REST || answered) {
                pollfd watched{terminal, POLLIN, 0};
                poll(&watched, 1, WAIT_MS);
            }
            uint8_t buffer[4096];
            // The line holds what the operating system would: it takes more only when the board has had it.
            if (sender.bytes.size() < sizeof buffer) {
                const ssize_t got = read(terminal, buffer, sizeof buffer);
                for (ssize_t i = 0; i < got; ++i) noise.pass(buffer[i], [&](uint8_t b) { sender.bytes.push_back(b); });
                if (got > 0) rest = 0;
            }
        }
        board.rst = board.engine_rst = reset > 0;
        if (reset > 0) --reset;
        board.rx = sender.step();
        board.clk = 1;
        board.engine_clk = cycle % divider == 0;
        board.eval();
        board.clk = board.engine_clk = 0;
        board.eval();
        const int byte = receiver.step(board.tx);
        ++rest;
        if (byte >= 0) {
            rest = 0;
            // A full terminal loses bytes, as an adapter does.
            noise.pass(static_cast<uint8_t>(byte), [&](uint8_t b) { (void)!write(terminal, &b, 1); });
        }
    }
}
