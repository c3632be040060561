import type { Envelope } from '../../http/json-scan.ts';
import type { Account } from '../budgets/account.ts';
import type { Budget } from '../budgets/limits.ts';
import type { CredentialFault, CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { LaunchProblem } from '../../workloads/runner/runner.ts';

/** What the gateway itself met on the way to a backend; a backend's own JSON-RPC error is a reply, not a failure. */
export type FailureKind =
  | 'unavailable' // connection refused or reset, process gone, 5xx
  | 'timeout'
  | 'cancelled'
  | 'unauthenticated' // 401 or 403
  | 'too_large'
  | 'refused' // another 4xx: the backend is there and does not want this request
  | 'garbage' // not MCP: no JSON, wrong content type, wrong id
  | 'session_lost'
  | 'circuit_open'
  | 'overloaded' // a budget of the gateway is used up: says nothing of the backend
  | Exclude<CredentialFault, 'unavailable'> // no credential for the backend could be obtained
  | 'credential_unavailable'; // whoever gives it cannot be asked now: that says nothing of the backend

export interface BackendFailure {
  readonly kind: FailureKind;
  /** For the log only: may quote addresses and system errors, never what the backend wrote in a body. */
  readonly detail: string;
  readonly retryAfterSeconds?: number;
  /** Why the backend's process could not be started. */
  readonly launch?: LaunchProblem;
  /** The budget that is used up (`overloaded`). */
  readonly budget?: Budget;
  /** HTTP status, of a request that was `refused` or `unauthenticated`. */
  readonly status?: number;
  /** Upstream provider that the caller must log in to again (`reauthenticate`) or has no access to (`forbidden`). */
  readonly provider?: string | undefined;
}

/** Thrown where a failure cannot be handed to a sink: opening a channel, `request` helpers. */
export class BackendError extends Error {
  readonly failure: BackendFailure;
  constructor(failure: BackendFailure) {
    super(`${failure.kind}: ${failure.detail}`);
    this.name = 'BackendError';
    this.failure = failure;
  }
}

/** What a backend said of itself in `initialize`. */
export interface ServerFacts {
  readonly revision: string;
  /** The `capabilities` member, parsed. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>>;
  readonly instructions: string | undefined;
  /** False when the backend keeps no session (streamable HTTP without Mcp-Session-Id): its channel may serve every client. */
  readonly hasSession: boolean;
}

/** One request to a backend. The channel gives it an id of its own and puts `id` back into the reply. */
export interface BackendRequest {
  readonly method: string;
  /** JSON text of `params`, forwarded as it is. */
  readonly params: Buffer | undefined;
  /** JSON text of the id that the reply shall carry. */
  readonly id: Buffer;
  /** Longest wait for the complete reply, ms. */
  readonly timeoutMs: number;
  /** Extra HTTP headers of this request (lower case), ignored by stdio. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True when the session of the first attempt was lost and this one follows a new handshake. */
  readonly repeated?: boolean;
  /** The credential for the backend: wins over every header of the same name. */
  readonly credential?: CredentialHeaders | undefined;
}

/**
 * Takes what comes back for one request. Exactly one of `reply`, `end` or `fail` is called last, and nothing after it;
 * `message` may be called any number of times before, `part` only when the reply is long and streamed.
 */
export interface ReplySink {
  /** The whole reply: bytes of one JSON-RPC response that carries `request.id`. */
  reply(message: Buffer): void;
  /** A piece of a long reply that carries `request.id`; false asks the channel to wait for `RequestHandle.resume`. */
  part(piece: Buffer): boolean;
  /** The long reply is complete. */
  end(): void;
  /** The backend has taken the request: it is not sent again, and `params` are not needed any more. */
  taken?(): void;
  /** So many bytes of a reply are collected before they can be passed on; false: there is no room for them. */
  collecting?(bytes: number): boolean;
  /** A notification or a request of the backend that belongs to this request (progress, log, elicitation). */
  message(message: Buffer, envelope: Envelope): void;
  /** After `part` was called this means a broken reply: the client's stream must be cut, not completed. */
  fail(failure: BackendFailure): void;
}

export interface RequestHandle {
  /** Stops waiting, tells the backend (`notifications/cancelled`) and calls `sink.fail` with kind `cancelled`. */
  cancel(reason: string): void;
  /** The client's stream drained: go on after `part` returned false. */
  resume(): void;
  /** The backend waits for the client: `timeoutMs` does not run until `proceed`, when it starts anew. */
  hold(): void;
  proceed(): void;
}

/** Longest time that a call is held, ms: somebody has to read and type. */
export const LONGEST_HOLD_MS = 600_000;

/** An initialized MCP connection to one backend. */
export interface Channel {
  readonly facts: ServerFacts;
  request(request: BackendRequest, sink: ReplySink): RequestHandle;
  /** Sends a notification, or a response to a request of the backend, as the JSON text of the whole message. Best effort. */
  send(message: Buffer): void;
  /** Opens the backend's unsolicited stream (GET of streamable HTTP) where it is not open anyway; in the background, once. */
  listen(): void;
  /** False after the connection or process died or the backend forgot the session: open a new one. */
  readonly alive: boolean;
  /** Ends the session at the backend (DELETE, process stop); never throws. */
  close(): Promise<void>;
}

/** `ChannelOwner.key` of the gateway's own channel. */
export const DISCOVERY = 'discovery';

/** On whose behalf a channel is opened. */
export interface ChannelOwner {
  /** Client session id, principal, or `DISCOVERY`: channels of different owners never share session state. */
  readonly key: string;
  /** JSON text of the `capabilities` declared to the backend. */
  readonly capabilities: string;
  /** Revision offered in `initialize`. */
  readonly revision: string;
  /** Notifications and requests of the backend that belong to no running request (list_changed, GET stream). */
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
  /** Budgets of the principal; absent for the gateway's own channel. */
  readonly account?: Account | undefined;
  /** The credential for what the channel sends on its own account: handshake, notifications, streams, the end. */
  readonly authorize?: (() => CredentialHeaders | Promise<CredentialHeaders>) | undefined;
}

/** How one backend is reached: one object per backend and configuration. */
export interface Transport {
  /** Connects and runs the handshake. Rejects with `BackendError`. */
  open(owner: ChannelOwner, signal: AbortSignal): Promise<Channel>;
  /** Frees sockets and processes; open channels are closed first. */
  close(): Promise<void>;
}
