import { describe, expect, it } from 'vitest';
import { settled, slopePerHour, type Reading } from './slope.ts';

const at = (hours: number, mib: number): Reading => ({ hours, mib });

describe('slopePerHour', () => {
  it.each([
    { name: 'a rising line', readings: [at(0, 10), at(0.5, 11), at(1, 12)], slope: 2 },
    { name: 'a level line', readings: [at(0, 10), at(1, 10), at(2, 10)], slope: 0 },
    { name: 'a falling line', readings: [at(1, 10), at(3, 4)], slope: -3 },
    { name: 'noise that cancels out', readings: [at(0, 10), at(1, 13), at(2, 10)], slope: 0 },
    { name: 'the textbook example', readings: [at(1, 2), at(2, 3), at(3, 5), at(4, 4)], slope: 0.8 },
  ])('of $name is $slope', ({ readings, slope }) => {
    expect(slopePerHour(readings)).toBeCloseTo(slope, 10);
  });

  it.each([{ readings: [] }, { readings: [at(1, 5)] }, { readings: [at(1, 5), at(1, 9)] }])(
    'throws without two different times ($readings.length readings)',
    ({ readings }) => {
      expect(() => slopePerHour(readings)).toThrow('two different times');
    },
  );
});

describe('settled', () => {
  it('removes the start of the run', () => {
    const readings = [at(0, 10), at(0.1, 60), at(0.2, 61), at(0.5, 61), at(1, 61)];
    expect(settled(readings, 0.2)).toEqual([at(0.2, 61), at(0.5, 61), at(1, 61)]);
    expect(slopePerHour(settled(readings, 0.2))).toBe(0);
  });

  it('returns no reading for none, and a single reading unchanged', () => {
    expect(settled([], 0.2)).toEqual([]);
    expect(settled([at(2, 7)], 0.2)).toEqual([at(2, 7)]);
  });
});
