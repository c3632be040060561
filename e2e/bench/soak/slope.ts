/** One reading of a gauge: hours since the start, and MiB. */
export interface Reading {
  readonly hours: number;
  readonly mib: number;
}

/** Removes the first `share` of the run, in which caches fill and code is compiled. */
export function settled(readings: readonly Reading[], share: number): Reading[] {
  const [first, last] = [readings[0], readings.at(-1)];
  if (!first || !last) return [];
  const from = first.hours + (last.hours - first.hours) * share;
  return readings.filter(({ hours }) => hours >= from);
}

/** Returns the slope in MiB per hour by least squares. @throws Error for fewer than two different times */
export function slopePerHour(readings: readonly Reading[]): number {
  const count = readings.length;
  const meanHours = readings.reduce((sum, { hours }) => sum + hours, 0) / count;
  const meanMib = readings.reduce((sum, { mib }) => sum + mib, 0) / count;
  let [products, squares] = [0, 0];
  for (const { hours, mib } of readings) {
    products += (hours - meanHours) * (mib - meanMib);
    squares += (hours - meanHours) ** 2;
  }
  if (!(squares > 0)) throw new RangeError('a slope needs readings at two different times');
  return products / squares;
}
