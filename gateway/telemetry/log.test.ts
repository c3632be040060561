import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLog } from './log.ts';

function lines(write: (log: ReturnType<typeof createLog>) => void): Record<string, unknown>[] {
  const text: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text.push(chunk.toString());
      done();
    },
  });
  write(createLog(stream, 'info'));
  return text.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('createLog', () => {
  it('writes one JSON object per line with time, level and fields', () => {
    const [line] = lines((log) => log.warn('backend call failed', { backend: 'a', reason: 'timeout' }));
    expect(line).toMatchObject({ level: 'warn', message: 'backend call failed', backend: 'a', reason: 'timeout' });
    expect(Date.parse(String(line?.['timestamp']))).not.toBeNaN();
  });

  it('is silent below its level', () => {
    expect(lines((log) => log.debug('x'))).toEqual([]);
  });

  it('cuts secrets out of fields, nested fields and texts', () => {
    const canary = 'canary-7f3a';
    const text = JSON.stringify(
      lines((log) => {
        log.info('x', {
          authorization: `Bearer ${canary}`,
          headers: { Cookie: canary, 'x-api-key': canary },
          list: [{ access_token: canary }],
        });
        log.info('x', {
          error: `GET failed with Authorization: Bearer ${canary}${canary}`,
          code: canary,
          code_verifier: canary,
        });
        log.info(`token eyJhbGciOiJIUzI1NiJ9.${canary}.sig`);
      }),
    );
    expect(text).not.toContain(canary);
    expect(text).toContain('[redacted]');
  });
});
