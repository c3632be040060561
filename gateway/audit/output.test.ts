import { describe, expect, it } from 'vitest';
import { AuditOutput, OUTPUT_LIMITS, type AuditDestination, type OutputLimits } from './output.ts';

const LIMITS: OutputLimits = { ...OUTPUT_LIMITS, maxEvents: 10, maxBytes: 1_000, flushMs: 1, retryMs: 5, syncMs: 5 };

/** A destination whose writes a test controls. */
class Gate implements AuditDestination {
  readonly name = 'gate';
  text = '';
  opened = 1;
  syncs = 0;
  /** Thrown by the next writes; a number: bytes that fit before. */
  fault: { code: string; after: number } | undefined;
  #waiting: (() => void) | undefined;
  isStalled = false;

  async write(bytes: Buffer): Promise<number> {
    if (this.isStalled)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    const { fault } = this;
    if (fault && fault.after <= 0) throw Object.assign(new Error(fault.code), { code: fault.code });
    const part = fault ? bytes.subarray(0, fault.after) : bytes;
    if (fault) fault.after -= part.length;
    this.text += part.toString();
    return part.length;
  }

  resume(): void {
    this.isStalled = false;
    this.#waiting?.();
  }

  sync(): Promise<void> {
    this.syncs += 1;
    return Promise.resolve();
  }

  reopen(): Promise<void> {
    this.opened += 1;
    this.text += `|file ${String(this.opened)}|`;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function open(limits: Partial<OutputLimits> = {}) {
  const gate = new Gate();
  const lines: [string, object | undefined][] = [];
  const write = (message: string, facts?: object): void => void lines.push([message, facts]);
  return { gate, lines, output: new AuditOutput(gate, { warn: write, info: write }, { ...LIMITS, ...limits }) };
}

describe('AuditOutput', () => {
  it('writes lines in order, and makes them durable', async () => {
    const { gate, output } = open();
    for (let line = 1; line <= 5; line += 1) expect(output.add(`${String(line)}\n`)).toBeUndefined();
    await expect.poll(() => gate.text).toBe('1\n2\n3\n4\n5\n');
    await expect.poll(() => gate.syncs).toBe(1);
  });

  it('drops lines that do not fit while the writer stalls, logs that once, and continues by itself', async () => {
    const { gate, output, lines } = open();
    gate.isStalled = true;
    const dropped = Array.from({ length: 25 }, (_, line) => output.add(`${String(line)}\n`));
    expect(dropped.filter((reason) => reason === 'queue_full')).toHaveLength(15);
    expect(lines).toEqual([['audit events are written too slowly, and dropped', { destination: 'gate', dropped: 1 }]]);
    await expect
      .poll(() => {
        gate.resume();
        return gate.text;
      })
      .toBe('0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n');
    expect(output.add('more\n')).toBeUndefined();
    await expect.poll(() => gate.text).toContain('more\n');
  });

  it('drops lines by size, and reports congestion from half of the queue on', () => {
    const { gate, output } = open();
    gate.isStalled = true;
    expect(output.isCongested).toBe(false);
    expect(output.add(`${'x'.repeat(600)}\n`)).toBeUndefined();
    expect(output.isCongested).toBe(true);
    expect(output.add(`${'é'.repeat(300)}\n`)).toBe('queue_full');
    gate.resume();
  });

  it('keeps the lines of a failed write and completes the broken line', async () => {
    const { gate, output, lines } = open();
    gate.fault = { code: 'ENOSPC', after: 5 };
    output.add('one\ntwo\n');
    await expect.poll(() => lines.length).toBe(1);
    expect(gate.text).toBe('one\nt');
    const dropped = Array.from({ length: 20 }, () => output.add('x\n')).filter((reason) => reason === 'write_failed');
    expect(dropped).toHaveLength(11);
    gate.fault = undefined;
    await expect.poll(() => gate.text).toBe(`one\ntwo\n${'x\n'.repeat(9)}`);
    expect(lines).toEqual([
      [
        'audit events cannot be written: free the disk, or correct its permissions',
        { destination: 'gate', dropped: 0, error: 'ENOSPC' },
      ],
      ['audit events are written again', { destination: 'gate', dropped: 11 }],
    ]);
  });

  it('starts a new file with a whole line when it is opened again after a broken one', async () => {
    const { gate, output } = open({ retryMs: 60_000 });
    gate.fault = { code: 'ENOSPC', after: 5 };
    output.add('one\ntwo\n');
    await expect.poll(() => gate.text).toBe('one\nt');
    gate.fault = undefined;
    output.reopen();
    await expect.poll(() => gate.text).toBe('one\nt|file 2|two\n');
  });

  it('writes the rest when it is closed, and gives up on a writer that stalls', async () => {
    const first = open({ flushMs: 60_000 });
    first.output.add('last\n');
    await first.output.close();
    expect(first.gate.text).toBe('last\n');
    expect(first.lines).toEqual([]);
    const second = open({ closeMs: 20 });
    second.gate.isStalled = true;
    second.output.add('lost\n');
    await second.output.close();
    expect(second.lines).toEqual([['audit events were lost at the end', { count: 1, destination: 'gate' }]]);
  });
});
