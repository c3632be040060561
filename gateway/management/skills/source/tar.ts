import { ArchiveError, PathSet, safePath } from './archive-path.ts';

/** Regular file of an archive. */
interface ArchivedFile {
  /** Relative path without `.` and `..`. */
  readonly path: string;
  readonly content: Buffer;
}

export interface ArchiveLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  /** Limit of the whole archive, unpacked. */
  readonly maxBytes: number;
}

interface Header {
  readonly path: string;
  readonly size: number;
  readonly type: string;
}

const BLOCK = 512;
const MAX_EXTENSION_BYTES = 64 * 1024;
const FOLDER = '5';
const FILES: ReadonlySet<string> = new Set(['0', '\0', '7']);
/** Types of entries that describe others: pax headers for the next entry and for all later ones, and the long name of GNU tar. */
const [PAX, PAX_OF_ALL, LONG_NAME] = ['x', 'g', 'L'];

/**
 * Reads the files of a tar archive (POSIX ustar and pax, and long names of GNU tar). Rejects links, devices and paths that lead out of
 * the archive.
 * @throws ArchiveError
 */
export async function* readTar(chunks: AsyncIterable<Uint8Array>, limits: ArchiveLimits): AsyncGenerator<ArchivedFile> {
  const bytes = new ByteReader(chunks, limits.maxBytes);
  const paths = new PathSet(limits.maxFiles);
  let next: Partial<Header> = {};
  for (;;) {
    const block = await bytes.take(BLOCK);
    if (block.every((byte) => byte === 0)) break;
    const header = { ...readHeader(block), ...next };
    if (header.type === PAX || header.type === PAX_OF_ALL || header.type === LONG_NAME) {
      const content = await readContent(bytes, header, MAX_EXTENSION_BYTES);
      if (header.type !== PAX_OF_ALL) next = { ...next, ...readExtension(header.type, content) };
      continue;
    }
    next = {};
    const path = safePath(header.path, header.type === FOLDER);
    if (header.type !== FOLDER && !FILES.has(header.type)) {
      throw new ArchiveError(`"${path}" is a link or a device: replace it by a file`);
    }
    const content = await readContent(bytes, header, limits.maxFileBytes);
    if (header.type === FOLDER) {
      paths.addFolder(path);
      continue;
    }
    paths.addFile(path);
    yield { path, content };
  }
  await bytes.skipRest();
}

async function readContent(bytes: ByteReader, { path, size }: Header, maxBytes: number): Promise<Buffer> {
  if (size > maxBytes) throw new ArchiveError(`"${path}" has more than ${String(maxBytes)} bytes`);
  const content = await bytes.take(size);
  await bytes.take((BLOCK - (size % BLOCK)) % BLOCK);
  return content;
}

function readHeader(block: Buffer): Header {
  const sum = block.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  if (readOctal(block, 148, 8) !== sum) throw new ArchiveError('damaged: a header has a wrong checksum');
  const prefix = block.toString('latin1', 257, 262) === 'ustar' && block[263] !== 0x20 ? readText(block, 345, 155) : '';
  const name = readText(block, 0, 100);
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    size: readOctal(block, 124, 12),
    type: String.fromCharCode(block[156] ?? 0),
  };
}

function readText(block: Buffer, from: number, length: number): string {
  const field = block.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end); // a name that is not UTF-8 is refused later
}

function readOctal(block: Buffer, from: number, length: number): number {
  const text = readText(block, from, length).trim();
  if (!/^[0-7]*$/u.test(text)) throw new ArchiveError('damaged: a header has a number that is not octal');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function readExtension(type: string | undefined, content: Buffer): Partial<Header> {
  if (type === LONG_NAME) return { path: readText(content, 0, content.length) };
  const records = paxRecords(content);
  const [path, size] = [records.get('path'), records.get('size')];
  if (size !== undefined && !/^\d{1,15}$/u.test(size)) throw new ArchiveError('damaged: a pax header has a wrong size');
  return { ...(path !== undefined && { path }), ...(size !== undefined && { size: Number(size) }) };
}

/** Reads records of the form `LENGTH NAME=VALUE\n`, where LENGTH counts the whole record. */
function paxRecords(content: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString('latin1', at, space));
    const record = content.toString('utf8', space + 1, at + length);
    const equals = record.indexOf('=');
    const isValid = space > at && Number.isInteger(length) && length > 0 && at + length <= content.length;
    if (!isValid || equals < 1 || !record.endsWith('\n')) throw new ArchiveError('damaged: a pax header is not valid');
    records.set(record.slice(0, equals), record.slice(equals + 1, -1));
    at += length;
  }
  return records;
}

/** Takes pieces of a chosen length from a stream. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #maxBytes: number;
  #pending: Buffer = Buffer.alloc(0);
  #received = 0;

  constructor(chunks: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  /** Reads to the end, so that the program that writes the archive can end. */
  async skipRest(): Promise<void> {
    while ((await this.#next()) !== undefined);
  }

  async take(length: number): Promise<Buffer> {
    const pieces = [this.#pending];
    let available = this.#pending.length;
    while (available < length) {
      const value = await this.#next();
      if (value === undefined) throw new ArchiveError('damaged: it ends too early');
      pieces.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      available += value.length;
    }
    const all = pieces.length === 1 ? this.#pending : Buffer.concat(pieces);
    this.#pending = all.subarray(length);
    return all.subarray(0, length);
  }

  async #next(): Promise<Uint8Array | undefined> {
    const chunk = await this.#chunks.next();
    if (chunk.done === true) return undefined;
    this.#received += chunk.value.length;
    if (this.#received > this.#maxBytes) throw new ArchiveError(`larger than ${String(this.#maxBytes)} bytes`);
    return chunk.value;
  }
}
