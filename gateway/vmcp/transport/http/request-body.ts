import type { BackendRequest } from '../channel.ts';
import { BodyPieces, LARGE_BODY_BYTES } from './body-pieces.ts';

/** Writes the JSON-RPC requests of one channel. */
export class RequestBodies {
  #method = '';
  #methodPrefix = '';

  /** Returns a request with the channel's own id. Large `params` are not copied. */
  of(ownId: string, { method, params }: BackendRequest): Buffer | BodyPieces {
    const head = this.#head(ownId, method);
    if (params === undefined) return Buffer.from(`${head}}`);
    if (params.length > LARGE_BODY_BYTES)
      return new BodyPieces([Buffer.from(`${head},"params":`), params, Buffer.from('}')]);
    const body = Buffer.allocUnsafe(head.length + 10 + params.length + 1);
    let at = body.write(head, 'latin1');
    at += body.write(',"params":', at, 'latin1');
    at += params.copy(body, at);
    body[at] = 0x7d;
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
