import type { BackendRequest } from '../channel.ts';
import { BodyPieces, LARGE_BODY_BYTES } from './body-pieces.ts';

/** Writes the JSON-RPC requests of one channel. */
export class RequestBodies {
  #method = '';
  #methodPrefix = '';

  /** Returns a request with the channel's own id, and with `inserted` at the offset `at` of `params`. Large `params` are not copied. */
  of(ownId: string, { method, params }: BackendRequest, at = 0, inserted: Buffer = NOTHING): Buffer | BodyPieces {
    const head = this.#head(ownId, method);
    if (params === undefined) return Buffer.from(`${head}}`);
    const start = `${head},"params":`;
    if (params.length > LARGE_BODY_BYTES)
      return new BodyPieces([Buffer.from(start), ...withInserted(params, at, inserted), Buffer.from('}')]);
    const body = Buffer.allocUnsafe(start.length + params.length + inserted.length + 1);
    let end = body.write(start, 'latin1');
    if (inserted.length > 0) {
      end += params.copy(body, end, 0, at);
      end += inserted.copy(body, end);
    }
    end += params.copy(body, end, at);
    body[end] = 0x7d;
    return body;
  }

  #head(ownId: string, method: string): string {
    if (method !== this.#method) {
      this.#method = method;
      this.#methodPrefix = `,"method":${JSON.stringify(method)}`;
    }
    return `{"jsonrpc":"2.0","id":${ownId}${this.#methodPrefix}`;
  }
}

const NOTHING = Buffer.alloc(0);

const withInserted = (params: Buffer, at: number, inserted: Buffer): Buffer[] =>
  inserted.length === 0 ? [params] : [params.subarray(0, at), inserted, params.subarray(at)];
