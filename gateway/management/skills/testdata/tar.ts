const BLOCK = 512;

export interface TarEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** Type flag; a regular file when absent. */
  readonly type?: string;
  /** Replaces the size of the content in the header. */
  readonly size?: number;
}

/** Writes a ustar archive. Paths have at most 100 bytes. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', type = '0', size }) => {
    const bytes = Buffer.from(content);
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [header(path, size ?? bytes.length, type), bytes, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/** Returns the archive of a folder, from its files by their paths. */
export const tarOf = (files: Readonly<Record<string, string>>): Buffer =>
  tar(Object.entries(files).map(([path, content]) => ({ path, content })));

function header(path: string, size: number, type: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0);
  block.write('0000755\0', 100);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  block.write('ustar\0', 257);
  block.write('00', 263);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Returns one record of a pax header. */
export function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  const digits = String(bytes + String(bytes).length).length;
  return `${String(bytes + digits)}${rest}`;
}
