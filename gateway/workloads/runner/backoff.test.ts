import { describe, expect, it } from 'vitest';
import { backoffMs, countRestart } from './backoff.ts';

describe('backoffMs', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [4, 8_000],
    [5, 16_000],
    [6, 30_000],
    [7, 30_000],
    [5_000, 30_000],
  ])('waits before restart %i for %i ms', (restarts, pause) => {
    expect(backoffMs(restarts)).toBe(pause);
  });
});

describe('countRestart', () => {
  it.each([
    [0, 10, 1],
    [4, 59_999, 5],
    [4, 60_000, 1],
  ])('makes %i restarts, after %i ms alive, %i', (restarts, aliveMs, next) => {
    expect(countRestart(restarts, aliveMs)).toBe(next);
  });
});
