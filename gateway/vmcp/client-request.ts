import type { Identity } from '../contract/identity.ts';
import type { Envelope, ParamsSurface } from '../http/json-scan.ts';

/** One request of a client, as far as the edge has read it. Spans are offsets in `body`. */
export interface ClientRequest {
  readonly body: Buffer;
  readonly envelope: Envelope;
  readonly params: ParamsSurface;
  /** Who sent it; undefined: anonymous. */
  readonly caller: Identity | undefined;
  /** Headers of the client that `passthrough_headers` names; undefined when there are none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}
