// The one loop that reduces and copies, for whoever moves the packs: a GPU block's threads or one
// host thread with vectors. `Lanes` says who takes which pack and how packs move; `Codec` turns a
// pack into values and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/reduce_step.hpp"
#include "rondo/types.hpp"

namespace rondo::kernels {

/// The decoded values of one pack: scalars on a GPU, vectors on the host.
template <class Value, unsigned size_>
struct Values {
    static constexpr unsigned size = size_;
    using Scalar = Lane<Value>;
    Value value[size_];
};

template <ReduceOp op, class Value>
RONDO_DEVICE Value fold(Value a, Value b) {
    if constexpr (op == ReduceOp::prod) {
        return multiply(a, b);
    } else if constexpr (op == ReduceOp::min) {
        return minimum(a, b);
    } else if constexpr (op == ReduceOp::max) {
        return maximum(a, b);
    } else {
        return add(a, b);
    }
}

/// A codec that is fast but not for all values names another one that is, as Careful, and says when
/// that one must do a pack again (needs_care()).
template <class Codec>
concept HasCarefulCodec = requires {
    typename Codec::Careful;
};

template <class Lanes, class Codec, ReduceOp op>
class ReduceLoop {
public:
    RONDO_DEVICE ReduceLoop(const Lanes& lanes, const ReduceStep& step)
        : lanes_(lanes), step_(step), offset_(step.first * Codec::element_bytes) {}

    RONDO_DEVICE void run() const {
        const std::size_t bytes = step_.count * Codec::element_bytes;
        const std::size_t head = lanes_.template head<Codec::element_bytes>(step_, bytes);
        const std::size_t packs = (bytes - head) / pack_bytes;
        const bool aligned = lanes_.all_packs_aligned(step_, offset_ + head);
        if (aligned) {
            body(head, packs);
        }
        // What is left: head and tail, or everything when the spans are misaligned to each other.
        const std::size_t ragged = aligned ? 2 : (bytes + pack_bytes - 1) / pack_bytes;
        RONDO_NO_UNROLL
        for (std::size_t i = lanes_.rank(); i < ragged; i += lanes_.size()) {
            const std::size_t begin = !aligned ? i * pack_bytes
                                      : i == 0 ? 0
                                               : head + packs * pack_bytes;
            const std::size_t full = !aligned ? begin + pack_bytes : i == 0 ? head : bytes;
            const std::size_t end = full < bytes ? full : bytes;
            if (begin != end) {
                ragged_pack(begin, static_cast<unsigned>(end - begin));
            }
        }
    }

private:
    using Pack = typename Codec::Pack;
    using Decoded = typename Codec::Decoded;
    static constexpr std::size_t pack_bytes = sizeof(Pack);
    /// Results of min and max are values of a source: they fit, infinity included. Sums and
    /// products saturate.
    static constexpr bool selects = op == ReduceOp::min || op == ReduceOp::max;
    static constexpr bool only_moves = requires { Codec::only_moves; };
    static constexpr unsigned in_flight = Lanes::template packs_in_flight<Codec>;

    template <class, class, ReduceOp>
    friend class ReduceLoop;

    /// A GPU thread has several packs in flight: of few sources several of each, of many sources
    /// one of each. A host thread reads one source after the other.
    RONDO_DEVICE void body(std::size_t begin, std::size_t packs) const {
        if constexpr (in_flight == 1) {
            constexpr unsigned unroll = Lanes::template unroll<Decoded>;
            const std::size_t whole = packs / unroll * unroll;
            turns<unroll>(begin, 0, whole);
            turns<1>(begin, whole, packs);
        } else if constexpr (only_moves) {
            turns<in_flight>(begin, 0, packs);
        } else if (step_.source_count <= 2) {
            turns<in_flight / 2>(begin, 0, packs);
        } else if (step_.source_count <= 4) {
            turns<(in_flight > 4 ? in_flight / 4 : 1)>(begin, 0, packs);
        } else {
            turns<1>(begin, 0, packs);
        }
    }

    template <unsigned count>
    RONDO_DEVICE void turns(std::size_t begin, std::size_t first, std::size_t end) const {
        const std::size_t size = static_cast<std::size_t>(count) * lanes_.size();
        RONDO_NO_UNROLL
        for (std::size_t i = first + lanes_.rank(); i < end; i += size) {
            const std::size_t offset = begin + i * pack_bytes;
            if constexpr (in_flight == 1) {
                fold_in_turn<count>(offset);
            } else {
                fold_together<count>(offset, lanes_.template turn<count>(end - i));
            }
        }
    }

    /// `count` packs that follow each other, source by source.
    template <unsigned count>
    RONDO_DEVICE void fold_in_turn(std::size_t offset) const {
        Decoded sum[count];
        Pack pack[count];
        load_packs<count>(pack, source(0) + offset);
        RONDO_UNROLL
        for (unsigned u = 0; u < count; ++u) {
            sum[u] = contribution(0, pack[u]);
        }
        RONDO_NO_UNROLL
        for (std::uint32_t s = 1; s < step_.source_count; ++s) {
            load_packs<count>(pack, source(s) + offset);
            RONDO_UNROLL
            for (unsigned u = 0; u < count; ++u) {
                accumulate(sum[u], contribution(s, pack[u]));
            }
        }
        if constexpr (HasCarefulCodec<Codec>) {
            if (any_needs_care(sum)) {
                return careful().template fold_in_turn<count>(offset);
            }
        }
        RONDO_UNROLL
        for (unsigned u = 0; u < count; ++u) {
            pack[u] = finish(sum[u]);
        }
        RONDO_NO_UNROLL
        for (std::uint32_t d = 0; d < step_.destination_count; ++d) {
            std::byte* const destination = this->destination(d) + offset;
            RONDO_UNROLL
            for (unsigned u = 0; u < count; ++u) {
                lanes_.store(destination + u * pack_bytes, pack[u]);
            }
        }
    }

    template <unsigned count>
    RONDO_DEVICE void load_packs(Pack (&pack)[count], const std::byte* from) const {
        lanes_.template prefetch<Decoded, count * pack_bytes>(from);
        RONDO_UNROLL
        for (unsigned u = 0; u < count; ++u) {
            pack[u] = lanes_.template load<Pack>(from + u * pack_bytes);
        }
    }

    /// The packs of one turn, several sources at once: all loads come before the first value is
    /// used. Then pack after pack is folded, so that only one at a time needs registers for values.
    template <unsigned count, class Turn>
    RONDO_DEVICE void fold_together(std::size_t offset, const Turn& turn) const {
        constexpr unsigned together = in_flight / count;
        Pack pack[together][count];
        load_together(pack, 0, offset, turn);
        RONDO_UNROLL
        for (unsigned u = 0; u < count; ++u) {
            Decoded sum = contribution(0, pack[0][u]);
            accumulate_together<1>(sum, pack, 0, u);
            if constexpr (count == 1) {
                RONDO_NO_UNROLL
                for (std::uint32_t s = together; s < step_.source_count; s += together) {
                    load_together(pack, s, offset, turn);
                    accumulate_together<0>(sum, pack, s, u);
                }
            }
            pack[0][u] = finish(sum);
        }
        RONDO_NO_UNROLL
        for (std::uint32_t d = 0; d < step_.destination_count; ++d) {
            std::byte* const destination = this->destination(d) + offset;
            RONDO_UNROLL
            for (unsigned u = 0; u < count; ++u) {
                if (turn.has(u)) {
                    lanes_.store(destination + turn.at(u), pack[0][u]);
                }
            }
        }
    }

    template <unsigned together, unsigned count, class Turn>
    RONDO_DEVICE void load_together(Pack (&pack)[together][count], std::uint32_t first_source,
                                    std::size_t offset, const Turn& turn) const {
        RONDO_UNROLL
        for (unsigned t = 0; t < together; ++t) {
            if (t == 0 || first_source + t < step_.source_count) {
                const std::byte* const from = source(first_source + t) + offset;
                RONDO_UNROLL
                for (unsigned u = 0; u < count; ++u) {
                    pack[t][u] = lanes_.load_if(turn.has(u), from + turn.at(u));
                }
            }
        }
    }

    /// Those from `begin` on.
    template <unsigned begin, unsigned together, unsigned count>
    RONDO_DEVICE void accumulate_together(Decoded& sum, const Pack (&pack)[together][count],
                                          std::uint32_t first_source, unsigned u) const {
        RONDO_UNROLL
        for (unsigned t = begin; t < together; ++t) {
            if (t == 0 || first_source + t < step_.source_count) {
                accumulate(sum, contribution(first_source + t, pack[t][u]));
            }
        }
    }

    RONDO_DEVICE Pack finish(Decoded& sum) const {
        if constexpr (op == ReduceOp::sum && !only_moves) {
            if (step_.divisor != 0) {
                divide_values(sum);
            }
        }
        return Codec::template encode<selects>(sum);
    }

    RONDO_DEVICE auto careful() const {
        return ReduceLoop<Lanes, typename Codec::Careful, op>(lanes_, step_);
    }

    template <unsigned count>
    RONDO_DEVICE static bool any_needs_care(const Decoded (&sum)[count]) {
        Decoded all = sum[0];
        RONDO_UNROLL
        for (unsigned u = 1; u < count; ++u) {
            all.merge(sum[u]);
        }
        return Codec::needs_care(all);
    }

    /// One pack of up to pack_bytes bytes at any address: heads, tails, and spans that are
    /// misaligned to each other.
    RONDO_DEVICE void ragged_pack(std::size_t offset, unsigned bytes) const {
        if constexpr (HasCarefulCodec<Codec>) {
            return careful().ragged_pack(offset, bytes);
        } else {
            ragged_pack_here(offset, bytes);
        }
    }

    RONDO_DEVICE void ragged_pack_here(std::size_t offset, unsigned bytes) const {
        Decoded sum = contribution(0, lanes_.template load_ragged<Pack>(source(0) + offset, bytes));
        RONDO_NO_UNROLL
        for (std::uint32_t s = 1; s < step_.source_count; ++s) {
            accumulate(
                sum, contribution(s, lanes_.template load_ragged<Pack>(source(s) + offset, bytes)));
        }
        const Pack pack = finish(sum);
        RONDO_NO_UNROLL
        for (std::uint32_t d = 0; d < step_.destination_count; ++d) {
            lanes_.store_ragged(destination(d) + offset, pack, bytes);
        }
    }

    RONDO_DEVICE Decoded contribution(std::uint32_t source, const Pack& pack) const {
        Decoded values = Codec::decode(pack);
        if constexpr (op == ReduceOp::premul_sum) {
            using Scalar = typename Decoded::Scalar;
            const Scalar factor = from_argument_bits<Scalar>(step_.factors[source]);
            RONDO_UNROLL
            for (unsigned i = 0; i < Decoded::size; ++i) {
                values.value[i] = multiply(values.value[i], Codec::broadcast(factor));
            }
        }
        return values;
    }

    RONDO_DEVICE static void accumulate(Decoded& sum, const Decoded& values) {
        RONDO_UNROLL
        for (unsigned i = 0; i < Decoded::size; ++i) {
            sum.value[i] = fold<op>(sum.value[i], values.value[i]);
        }
        if constexpr (HasCarefulCodec<Codec>) {
            sum.merge(values);
        }
    }

    RONDO_DEVICE void divide_values(Decoded& sum) const {
        RONDO_UNROLL
        for (unsigned i = 0; i < Decoded::size; ++i) {
            sum.value[i] = divide(sum.value[i], step_.divisor);
        }
    }

    RONDO_DEVICE const std::byte* source(std::uint32_t index) const {
        return static_cast<const std::byte*>(step_.sources[index]) + offset_;
    }
    RONDO_DEVICE std::byte* destination(std::uint32_t index) const {
        return static_cast<std::byte*>(step_.destinations[index]) + offset_;
    }

    const Lanes& lanes_;
    const ReduceStep& step_;
    std::size_t offset_;
};

}  // namespace rondo::kernels
