// Solves linear equations with integer coefficients exactly.
#include "topology/forest/exact_solve.hpp"

#include <cstdint>
#include <utility>

namespace rondo::forest {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Word = std::uint64_t;

constexpr Word prime = 2'147'483'647;  // 2^31 - 1: products of two residues fit into a Word

Word residue(Units value) {
    const Units rest = value % static_cast<Units>(prime);
    return static_cast<Word>(rest < 0 ? rest + static_cast<Units>(prime) : rest);
}

Word power(Word base, Word exponent) {
    Word result = 1;
    for (; exponent > 0; exponent /= 2, base = base * base % prime) {
        if (exponent % 2 == 1) result = result * base % prime;
    }
    return result;
}

/// The inverse modulo the prime, by Gauss-Jordan elimination.
class ModularInverse {
public:
    explicit ModularInverse(const IntegerMatrix& matrix)
        : size_(matrix.size), left_(size_ * size_), right_(size_ * size_, 0) {
        for (int i = 0; i < size_ * size_; ++i) left_[i] = residue(matrix.entries[i]);
        for (int i = 0; i < size_; ++i) right_[i * size_ + i] = 1;
    }

    bool compute() {
        for (int column = 0; column < size_; ++column) {
            if (!bring_pivot(column)) return false;
            for (int row = 0; row < size_; ++row) {
                if (row != column) subtract(row, column, left_[row * size_ + column]);
            }
        }
        return true;
    }

    std::vector<Word> times(const std::vector<Units>& vector) const {
        std::vector<Word> small(size_);
        for (int i = 0; i < size_; ++i) small[i] = residue(vector[i]);
        std::vector<Word> product(size_);
        for (int row = 0; row < size_; ++row) {
            Word sum = 0;
            for (int i = 0; i < size_; ++i)
                sum = (sum + right_[row * size_ + i] * small[i]) % prime;
            product[row] = sum;
        }
        return product;
    }

private:
    bool bring_pivot(int column) {
        int row = column;
        while (row < size_ && left_[row * size_ + column] == 0) ++row;
        if (row == size_) return false;
        const Word inverse = power(left_[row * size_ + column], prime - 2);
        for (int i = 0; i < size_; ++i) {
            std::swap(left_[row * size_ + i], left_[column * size_ + i]);
            std::swap(right_[row * size_ + i], right_[column * size_ + i]);
            left_[column * size_ + i] = left_[column * size_ + i] * inverse % prime;
            right_[column * size_ + i] = right_[column * size_ + i] * inverse % prime;
        }
        return true;
    }

    void subtract(int row, int pivot, Word factor) {
        if (factor == 0) return;
        const Word minus = prime - factor;
        for (int i = 0; i < size_; ++i) {
            Word& left = left_[row * size_ + i];
            Word& right = right_[row * size_ + i];
            left = (left + minus * left_[pivot * size_ + i]) % prime;
            right = (right + minus * right_[pivot * size_ + i]) % prime;
        }
    }

    int size_;
    std::vector<Word> left_;
    std::vector<Word> right_;
};

/// The fraction with small terms that equals value modulo modulus: Euclid's algorithm stopped
/// halfway.
Rational reconstruct(const Integer& value, const Integer& modulus) {
    const Integer bound = sqrt(Integer(modulus / 2));
    Integer before = modulus;
    Integer numerator = value;
    Integer earlier = 0;
    Integer denominator = 1;
    while (numerator > bound) {
        const Integer quotient = before / numerator;
        before = std::exchange(numerator, Integer(before - quotient * numerator));
        earlier = std::exchange(denominator, Integer(earlier - quotient * denominator));
    }
    return Rational(numerator) / Rational(denominator);
}

bool solves(const IntegerMatrix& matrix, const std::vector<Units>& right,
            const std::vector<Rational>& solution) {
    Integer common = 1;
    for (const Rational& value : solution) common = lcm(common, denominator(value));
    std::vector<Integer> scaled;
    for (const Rational& value : solution) {
        scaled.push_back(numerator(value) * (common / denominator(value)));
    }
    for (int row = 0; row < matrix.size; ++row) {
        Integer sum = 0;
        for (int column = 0; column < matrix.size; ++column) {
            if (matrix.at(row, column) != 0) sum += scaled[column] * matrix.at(row, column);
        }
        if (sum != common * Integer(right[row])) return false;
    }
    return true;
}

/// What remains to be solved for after one digit in base `prime`.
void divide_rest(const IntegerMatrix& matrix, const std::vector<Word>& digit,
                 std::vector<Units>& rest) {
    for (int row = 0; row < matrix.size; ++row) {
        for (int column = 0; column < matrix.size; ++column) {
            rest[row] -= static_cast<Units>(digit[column]) * matrix.at(row, column);
        }
        rest[row] /= static_cast<Units>(prime);
    }
}

}  // namespace

IntegerMatrix IntegerMatrix::transposed() const {
    IntegerMatrix result{size, std::vector<int>(entries.size())};
    for (int row = 0; row < size; ++row) {
        for (int column = 0; column < size; ++column) result.at(column, row) = at(row, column);
    }
    return result;
}

std::optional<std::vector<Rational>> solve_exactly(const IntegerMatrix& matrix,
                                                   const std::vector<Units>& right) {
    ModularInverse inverse(matrix);
    if (!inverse.compute()) return std::nullopt;
    std::vector<Units> rest = right;
    std::vector<Integer> lifted(matrix.size, 0);
    Integer modulus = 1;
    // Hadamard's bound: more digits than size + 4 are not needed for entries and sizes met here.
    for (int digits = 1; digits <= 2 * matrix.size + 8; ++digits) {
        const std::vector<Word> digit = inverse.times(rest);
        for (int i = 0; i < matrix.size; ++i) lifted[i] += modulus * digit[i];
        modulus *= prime;
        divide_rest(matrix, digit, rest);
        if ((digits & (digits - 1)) != 0 && digits % 8 != 0) continue;
        std::vector<Rational> solution;
        for (const Integer& value : lifted) solution.push_back(reconstruct(value, modulus));
        if (solves(matrix, right, solution)) return solution;
    }
    return std::nullopt;
}

}  // namespace rondo::forest
