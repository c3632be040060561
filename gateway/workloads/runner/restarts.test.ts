import { describe, expect, it } from 'vitest';
import { countRestart, crashLoop, restartPauseMs, restartSentence, WORKLOAD_RESTARTS } from './restarts.ts';

const exit = { code: 3, signal: null };

describe('restarts of a workload', () => {
  it('come after 5 s, doubling to 60 s', () => {
    const pauses = Array.from({ length: 10 }, (_, index) => WORKLOAD_RESTARTS.pauseMs(index + 1) / 1_000);
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60]);
  });

  it.each([
    [{ number: 2, exit }, 'it ended with exit code 3 and is restarted (restart 2 of 10)'],
    [
      { number: 1, exit: { code: null, signal: 'SIGKILL' as const } },
      'it was ended by SIGKILL and is restarted (restart 1 of 10)',
    ],
    [{ number: 1, exit: { code: -1, signal: null } }, 'it could not be executed and is restarted (restart 1 of 10)'],
    [{ number: 1 }, 'it was started and did not answer and is restarted (restart 1 of 10)'],
    [
      { number: 4, problem: { reason: 'InstallFailed' as const, message: 'npm failed', permanent: false } },
      'npm failed',
    ],
  ])('are described: %j', (restart, sentence) => {
    expect(restartSentence({ last: 10, isOpen: false, ...restart })).toBe(sentence);
  });

  it('end with a permanent problem that has the exit code', () => {
    const message = 'it ended with exit code 3 after each of 10 restarts: read its log, correct it, then restart it';
    expect(crashLoop(10, exit)).toEqual({ reason: 'CrashLoop', message, permanent: true });
  });
});

describe('restartPauseMs', () => {
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
    expect(restartPauseMs(restarts)).toBe(pause);
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
