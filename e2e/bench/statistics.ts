/** Returns the median. Throws on an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError('no values');
  return (lower + upper) / 2;
}

/** Returns the nearest-rank percentile: the smallest value that at least `rank` percent of the values do not exceed. */
export function percentile(values: readonly number[], rank: number): number {
  if (!(rank >= 0 && rank <= 100)) throw new RangeError(`${String(rank)} is not a percentile rank`);
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('no values');
  return value;
}

/** Returns the median, or null when a round has no value. */
export function medianOrNull(values: readonly (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === values.length ? median(numbers) : null;
}

/** Returns each value divided by that of `base` in the same round, for the rounds that both have. */
export const ratiosByRound = (values: readonly number[], base: readonly number[]): number[] =>
  values.slice(0, base.length).map((value, round) => value / (base[round] ?? NaN));
