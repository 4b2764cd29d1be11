// Burst driver: moves whole streams through a Verilated unit with one call from Python.
//
// Built once for each unit with a generated ports.h, which names the model (MODEL) and its input streams
// (INPUTS(X) expands to X(cmd) X(a) ..., FIRST is the index of the one whose first word starts the count of cycles),
// and defines STATISTICS where there is a stream of them.

#include <cstdint>
#include <cstring>
#include <memory>

#include "ports.h"
#include "verilated.h"
#ifdef WAVES
#include "verilated_vcd_c.h"
#endif

namespace {

constexpr int SOURCES = 0
#define ONE(name) +1
    INPUTS(ONE)
#undef ONE
    ;

struct Unit {
    VerilatedContext context;
    std::unique_ptr<MODEL> model;
#ifdef WAVES
    VerilatedVcdC waves;
#endif
    int64_t cycle = 0;
    uint64_t random = 1;
    bool offered[SOURCES] = {};  // the source's word waits to be taken

    // A port of up to 64 bits is an integer, a wider one an array of them; both lie in memory little endian.
    template <typename Port> static void put(Port& port, const uint8_t* word, int64_t bytes) {
        std::memcpy(&port, word, bytes);
    }

    // True in `chance` of 256 calls.
    bool happens(uint32_t chance) {
        if (!chance) return false;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return ((random >> 32) & 255) < chance;
    }

    void settle() { model->eval(); }

    void tick() {
        model->clk = 1;
        model->eval();
        dump(1);
        model->clk = 0;
        model->eval();
        dump(0);
        ++cycle;
    }

    void dump(int high) {
#ifdef WAVES
        if (waves.isOpen()) waves.dump(static_cast<uint64_t>(cycle * 10 + (high ? 0 : 5)));
#else
        (void)high;
#endif
    }
};

}  // namespace

extern "C" {

// The traffic of one call. A source that has offered a word keeps offering it until it is taken.
struct Traffic {
    const uint8_t* const* words;  // of each input stream, in the order of INPUTS
    const int64_t* beats;
    const int64_t* bytes;
    int64_t* sent;           // accepted so far; in and out
    uint8_t* out;            // rows' bytes
    uint8_t* keep;           // rows' TKEEP
    uint8_t* last;           // rows' TLAST, one byte each
    int64_t rows;            // rows to expect
    int64_t out_bytes;       // bytes of a row
    int64_t keep_bytes;      // bytes of a row's TKEEP
    int64_t received;        // rows received so far; in and out
    uint8_t* statistics;     // words of the tiles' statistics
    int64_t tiles;           // words of statistics to expect
    int64_t statistics_bytes;  // bytes of one
    int64_t counted;         // words of statistics received so far; in and out
    int64_t first;           // cycle of the first operand accepted, or -1; in and out
    int64_t end;             // cycle of the last row received; out
    uint32_t idle;           // chance, of 256, that a source offers nothing new in a cycle
    uint32_t stall;          // chance, of 256, that the sink is not ready in a cycle
};

void* plusb_open(const char* waves) {
    Unit* unit = new Unit;
    unit->model = std::make_unique<MODEL>(&unit->context);
#ifdef WAVES
    unit->context.traceEverOn(true);
    unit->model->trace(&unit->waves, 99);
    if (waves) unit->waves.open(waves);
#else
    (void)waves;
#endif
    unit->model->clk = 0;
    return unit;
}

void plusb_close(void* handle) {
    Unit* unit = static_cast<Unit*>(handle);
#ifdef WAVES
    unit->waves.close();
#endif
    unit->model->final();
    delete unit;
}

void plusb_reset(void* handle, uint64_t seed) {
    Unit* unit = static_cast<Unit*>(handle);
    unit->random = seed * 2 + 1;
    for (bool& waiting : unit->offered) waiting = false;
    unit->model->rst = 1;
#define RELEASE(name) unit->model->s_axis_##name##_tvalid = 0;
    INPUTS(RELEASE)
#undef RELEASE
    unit->model->m_axis_out_tready = 0;
#ifdef STATISTICS
    unit->model->m_axis_statistics_tready = 0;
#endif
    unit->settle();
    unit->tick();
    unit->tick();
    unit->model->rst = 0;
    unit->settle();
}

// Runs until all rows have been received, or for `cycles` cycles. Returns the cycles that have passed.
int64_t plusb_run(void* handle, Traffic* traffic, int64_t cycles) {
    Unit* unit = static_cast<Unit*>(handle);
    MODEL& model = *unit->model;
    int64_t passed = 0;
    for (; passed < cycles && (traffic->received < traffic->rows || traffic->counted < traffic->tiles); ++passed) {
        int i = 0;
#define OFFER(name)                                                                         \
    {                                                                                       \
        const int64_t sent = traffic->sent[i];                                              \
        if (!unit->offered[i] && sent < traffic->beats[i] && !unit->happens(traffic->idle)) { \
            unit->offered[i] = true;                                                        \
            const int64_t bytes = traffic->bytes[i];                                        \
            unit->put(model.s_axis_##name##_tdata, traffic->words[i] + sent * bytes, bytes); \
        }                                                                                   \
        model.s_axis_##name##_tvalid = unit->offered[i++];                                  \
    }
        INPUTS(OFFER)
#undef OFFER
        model.m_axis_out_tready = !unit->happens(traffic->stall);
#ifdef STATISTICS
        model.m_axis_statistics_tready = !unit->happens(traffic->stall);
#endif
        unit->settle();
        i = 0;
#define TAKE(name)                                                 \
    {                                                              \
        if (unit->offered[i] && model.s_axis_##name##_tready) {                     \
            unit->offered[i] = false;                                               \
            ++traffic->sent[i];                                                     \
            if (i == FIRST && traffic->first < 0) traffic->first = unit->cycle;     \
        }                                                                           \
        ++i;                                                                        \
    }
        INPUTS(TAKE)
#undef TAKE
        if (model.m_axis_out_tvalid && model.m_axis_out_tready) {
            const int64_t row = traffic->received++;
            std::memcpy(traffic->out + row * traffic->out_bytes, &model.m_axis_out_tdata, traffic->out_bytes);
            std::memcpy(traffic->keep + row * traffic->keep_bytes, &model.m_axis_out_tkeep, traffic->keep_bytes);
            traffic->last[row] = model.m_axis_out_tlast;
            traffic->end = unit->cycle;
        }
#ifdef STATISTICS
        if (model.m_axis_statistics_tvalid && model.m_axis_statistics_tready) {
            uint8_t* word = traffic->statistics + traffic->counted++ * traffic->statistics_bytes;
            std::memcpy(word, &model.m_axis_statistics_tdata, traffic->statistics_bytes);
        }
#endif
        unit->tick();
    }
    return passed;
}

}  // extern "C"
