import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { Scope } from '../../../../e2e/harness/scope.ts';

/** Commit that the server promises and never sends. */
const COMMIT = 'c'.repeat(40);
const BLOB_BYTES = 256 * 1024;
/** Largest payload of one packet on the band of the pack. */
const BAND_BYTES = 65_515;
const [FLUSH, DELIMITER] = ['0000', '0001'];

/** Renders a packet: its length in four hexadecimal digits, then its payload. */
const packet = (payload: string | Buffer): Buffer => {
  const bytes = Buffer.from(payload);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
};

const packets = (...lines: readonly string[]): Buffer =>
  Buffer.concat(lines.map((line) => (line === FLUSH || line === DELIMITER ? Buffer.from(line) : packet(`${line}\n`))));

/** Returns the entry of a pack for one blob: its type and size in 7-bit groups, then its content. */
function blobEntry(): Buffer {
  const size = [0x30 | 0x80 | (BLOB_BYTES & 0x0f)];
  for (let rest = BLOB_BYTES >>> 4; rest > 0; rest >>>= 7) size.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  return Buffer.concat([Buffer.from(size), deflateSync(randomBytes(BLOB_BYTES), { level: 0 })]);
}

export interface EndlessGitServer {
  /** HOST:PORT on loopback. */
  readonly host: string;
  /** Number of bytes of packs that were written so far. */
  readonly sent: () => number;
}

/**
 * Starts a git host whose only pack breaks off after `maxBytes`.
 * @see https://git-scm.com/docs/protocol-v2
 */
export async function startEndlessGitServer(
  scope: Scope,
  maxBytes: number,
): Promise<EndlessGitServer> {
  let sent = 0;
  async function* pack(): AsyncGenerator<Buffer> {
    yield packets('shallow-info', `shallow ${COMMIT}`, DELIMITER, 'packfile');
    yield packet(Buffer.from('\u0001PACK\0\0\0\u0002\0\u0001\0\0', 'latin1')); // 65,536 objects
    for (const entry = blobEntry(); sent < maxBytes; sent += entry.length) {
      for (let at = 0; at < entry.length; at += BAND_BYTES) {
        yield packet(Buffer.concat([Buffer.from([1]), entry.subarray(at, at + BAND_BYTES)]));
      }
    }
  }
  const server = createServer((req, res) => void answer(req, res));
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (req.method === 'GET') {
      res.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
      res.end(packets('# service=git-upload-pack', FLUSH, 'version 2', 'ls-refs', 'fetch=shallow', FLUSH));
      return;
    }
    let body = '';
    for await (const chunk of req) body += String(chunk);
    res.setHeader('content-type', 'application/x-git-upload-pack-result');
    if (body.includes('command=ls-refs')) {
      res.end(packets(`${COMMIT} HEAD`, FLUSH));
      return;
    }
    await pipeline(Readable.from(pack()), res).catch(() => undefined); // the client leaves
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { host: `127.0.0.1:${String((server.address() as AddressInfo).port)}`, sent: () => sent };
}
