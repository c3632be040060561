import type { Identity } from '../contract/identity.ts';
import type { Envelope, ParamsSurface } from '../http/json-scan.ts';
import type { HeldBytes } from './budgets/byte-budget.ts';

/** One request of a client, as far as the edge has read it. Spans are offsets in `body`. */
export interface ClientRequest {
  readonly body: Buffer;
  readonly envelope: Envelope;
  readonly params: ParamsSurface;
  /** Who sent it; undefined: anonymous. */
  readonly caller: Identity | undefined;
  /** Headers of the client that `passthrough_headers` names; undefined when there are none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The part of the budget that `body` takes; undefined for a small one. Who keeps `body` after returning retains it. */
  readonly held: HeldBytes | undefined;
}
