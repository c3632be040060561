import type { Envelope, ParamsSurface } from '../../http/json-scan.ts';
import type { Answer } from '../edge/answer.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';

/** One request of a client, as far as the edge has read it. Spans are offsets in `body`. */
export interface ClientRequest {
  readonly body: Buffer;
  readonly envelope: Envelope;
  readonly params: ParamsSurface;
  /** Headers of the client that `passthrough_headers` names; undefined when there are none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Serves one JSON-RPC method to a session. Answers exactly once, at once or later. */
export type Method = (server: VirtualServer, session: Session, request: ClientRequest, answer: Answer) => void;

/** JSON-RPC and MCP error codes. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  timeout: -32001,
} as const;
