import type { WriteStream } from 'node:tty';
import { printable } from '../../../gateway/contract/text/printable.ts';
import type { InstallDisplay } from '../../../gateway/workloads/runner/schemes/install-progress.ts';

/** The part of a standard stream that the display uses. */
export type Terminal = Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

const DEFAULT_COLUMNS = 80;

/**
 * Shows the running installations in the last lines of a terminal, a line for each server, updated in place. Other output to `streams`
 * appears above them. Returns undefined when `streams` are not terminals that can move the cursor (ECMA-48).
 */
export function openInstallDisplay(
  streams: readonly [Terminal, ...Terminal[]],
  { TERM: term = '' }: Readonly<Record<string, string | undefined>>,
): (InstallDisplay & { close(): void }) | undefined {
  const terminals = streams.filter(({ isTTY }) => isTTY === true);
  const [first] = terminals;
  if (first === undefined || term === 'dumb') return undefined;
  const rows = new Map<string, string>();
  const originals = terminals.map((terminal) => ({ terminal, write: terminal.write }));
  const send = originals[0]?.write.bind(first) as (bytes: Buffer) => boolean;
  const draw = (text: string): boolean => send(Buffer.from(text)); // in strings, control sequences are made visible
  let drawn = 0;
  const erase = (): string => (drawn === 0 ? '' : `\u001b[${String(drawn)}A\u001b[J`);
  const lines = (): string => {
    drawn = rows.size;
    const { columns = 0 } = first; // 0 where the terminal does not know
    const width = (columns > 0 ? columns : DEFAULT_COLUMNS) - 1;
    return [...rows.values()].map((row) => `${row.slice(0, width)}\n`).join('');
  };
  const redraw = (): void => {
    const before = erase();
    draw(before + lines());
  };
  for (const { terminal, write } of originals) {
    const original = write.bind(terminal) as (...args: readonly unknown[]) => boolean;
    terminal.write = (...args: readonly unknown[]): boolean => {
      if (drawn > 0) draw(erase());
      drawn = 0;
      const isDrained = original(...args);
      if (rows.size > 0) draw(lines());
      return isDrained;
    };
  }
  return {
    show(workload, { package: name, seconds, files }) {
      const found = files === 0 ? '' : `, ${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}`;
      rows.set(workload, printable(`${workload}: installing, ${String(seconds)} s${found}: ${name}`));
      redraw();
    },
    end(workload) {
      if (rows.delete(workload)) redraw();
    },
    close() {
      rows.clear();
      if (drawn > 0) redraw();
      for (const { terminal, write } of originals) terminal.write = write;
    },
  };
}
