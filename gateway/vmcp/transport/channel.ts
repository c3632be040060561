import type { Envelope } from '../../http/json-scan.ts';
import type { Account } from '../budgets/account.ts';
import type { Budget } from '../budgets/limits.ts';
import type { CredentialFault, CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { LaunchProblem, Restart, StartPhase } from '../../workloads/runner/runner.ts';

/**
 * Kinds of failures of the gateway on the way to a backend. A JSON-RPC error of a backend is a reply, not a failure.
 */
export type FailureKind =
  | 'unavailable' // connection refused or reset, process gone, 5xx
  | 'timeout'
  | 'cancelled'
  | 'unauthenticated' // 401 or 403
  | 'too_large'
  | 'refused' // another 4xx: the backend is available and rejects this request
  | 'garbage' // not MCP: no JSON, wrong content type, wrong id
  | 'session_lost'
  | 'circuit_open'
  | 'overloaded' // a budget of the gateway is exceeded; not caused by the backend
  | Exclude<CredentialFault, 'unavailable'> // no credential for the backend
  | 'credential_unavailable'; // the source of the credential is unavailable; not caused by the backend

export interface BackendFailure {
  readonly kind: FailureKind;
  /** For the log only. May quote addresses and system errors, never text of the backend. */
  readonly detail: string;
  readonly retryAfterSeconds?: number;
  /** Reason why the backend's process could not be started. */
  readonly launch?: LaunchProblem;
  /** The exceeded budget (`overloaded`). */
  readonly budget?: Budget;
  /**
   * Cause in words, for users of `/status`: no address but that of a forward proxy, and no text of the backend but a line of its
   * error output. Absent where the kind says enough.
   */
  readonly cause?: string | undefined;
  /** JSON-RPC code of the error with which the backend refused a request of the gateway itself. */
  readonly code?: number;
  /** HTTP status of a request that was `refused` or `unauthenticated`. */
  readonly status?: number;
  /** Upstream provider at which the user must log in again (`reauthenticate`) or has no access (`forbidden`). */
  readonly provider?: string | undefined;
}

/** Thrown where there is no sink for a failure: while a channel opens, and by `requestReply`. */
export class BackendError extends Error {
  readonly failure: BackendFailure;
  constructor(failure: BackendFailure) {
    super(`${failure.kind}: ${failure.detail}`);
    this.name = 'BackendError';
    this.failure = failure;
  }
}

/** Data from a backend's `initialize` result. */
export interface ServerFacts {
  readonly revision: string;
  /** The `capabilities` member, parsed. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>>;
  readonly instructions: string | undefined;
  /**
   * False for a backend without sessions (streamable HTTP without Mcp-Session-Id): all clients may share its channel.
   */
  readonly hasSession: boolean;
}

/** A session at a backend that another replica can continue. */
export interface BackendSession {
  readonly id: string;
  /** MCP endpoint of the backend. */
  readonly url: string;
  readonly revision: string;
  readonly capabilities: ServerFacts['capabilities'];
}

/** Facts about a client that a backend without sessions receives with each request. */
export interface RequestClient {
  readonly revision: string;
  /** JSON text of the capabilities that the client declares. */
  readonly capabilities: string;
  readonly client: { readonly name: string; readonly version: string };
  /** Index of `LOG_LEVELS`: messages below it are not relayed. -1: the client has named none. */
  readonly logLevel: number;
}

/** One request to a backend. The channel sends it under its own id and restores `id` in the reply. */
export interface BackendRequest {
  readonly method: string;
  /** JSON text of `params`, forwarded unchanged. */
  readonly params: Buffer | undefined;
  /** JSON text of the id in the reply. */
  readonly id: Buffer;
  /** Longest wait for the complete reply, ms. */
  readonly timeoutMs: number;
  /** Extra HTTP headers of this request (lower case), ignored by stdio. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True when the request is repeated in a new session, because the session of the first attempt was lost. */
  readonly repeated?: boolean;
  /** JSON text of the tool that is called, as its list has it. */
  readonly item?: Buffer | undefined;
  /** Client of the request; absent when the gateway itself asks. */
  readonly client?: RequestClient | undefined;
  /** Credential for the backend. Replaces all headers of the same names. */
  readonly credential?: CredentialHeaders | undefined;
}

/** Receiver of the reply to one request. The last call is exactly one of `reply` or `fail`; `message` may come before. */
export interface ReplySink {
  /** Receives the whole reply: one JSON-RPC response that carries `request.id`. */
  reply(message: Buffer): void;
  /** Called when the backend has accepted the request: it is not repeated, and `params` can be freed. */
  taken?(): void;
  /** Called when `bytes` of a long reply are buffered. Returns false when they exceed the budget. */
  collecting?(bytes: number): boolean;
  /** Receives a notification or a request of the backend that belongs to this request (progress, log, elicitation). */
  message(message: Buffer, envelope: Envelope): void;
  /** Called when the request failed. */
  fail(failure: BackendFailure): void;
}

export interface RequestHandle {
  /** Stops waiting, sends `notifications/cancelled` to the backend and calls `sink.fail` with kind `cancelled`. */
  cancel(reason: string): void;
  /** Pauses `timeoutMs` while the backend waits for the client. */
  pauseTimeout(): void;
  /** Starts `timeoutMs` again from zero. */
  restartTimeout(): void;
}

/** Longest pause of a timeout, ms: a user must read and type. */
export const LONGEST_HOLD_MS = 600_000;

/** An initialized MCP connection to one backend. */
export interface Channel {
  readonly facts: ServerFacts;
  request(request: BackendRequest, sink: ReplySink): RequestHandle;
  /** Sends a notification, or a response to a request of the backend, as JSON text. Errors are ignored. */
  send(message: Buffer): void;
  /** Opens the backend's unsolicited stream (GET of streamable HTTP) in the background, unless it is open. */
  listen(): void;
  /**
   * True while announcements of changed lists can arrive: the unsolicited stream is open. Absent for a transport that always
   * receives them.
   */
  readonly hears?: boolean;
  /** Closes that stream: another replica opens it. */
  unlisten?(): void;
  /** The session at the backend; undefined without one, or when it belongs to the connection. */
  readonly session?: BackendSession | undefined;
  /** False after the connection or process has ended or the backend has lost the session: open a new channel. */
  readonly alive: boolean;
  /** Ends the session at the backend (DELETE, process stop); never throws. */
  close(): Promise<void>;
  /** Closes the channel without ending `session`, which other replicas use. */
  release?(): void;
}

/** `ChannelOwner.key` of the gateway's own channel. */
export const DISCOVERY = 'discovery';

/** The session or principal that a channel is opened for. */
export interface ChannelOwner {
  /** Client session id, principal, or `DISCOVERY`. Channels with different keys share no session state. */
  readonly key: string;
  /** JSON text of the `capabilities` declared to the backend. */
  readonly capabilities: string;
  /** Revision offered in `initialize`. */
  readonly revision: string;
  /**
   * Receives notifications and requests of the backend that belong to no running request (list_changed, GET stream).
   */
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
  /** Session to continue instead of a handshake. Only transports of streamable HTTP read it. */
  readonly resume?: BackendSession | undefined;
  /** True when other replicas send requests in the same session. */
  readonly isShared?: boolean;
  /** Budgets of the principal; absent for the gateway's own channel. */
  readonly account?: Account | undefined;
  /** Returns the credential for messages that the channel sends itself: handshake, notifications, streams, DELETE. */
  readonly authorize?: (() => CredentialHeaders | Promise<CredentialHeaders>) | undefined;
}

/** Connection to one backend: one object per backend and configuration. */
export interface Transport {
  /** Connects and runs the handshake. Rejects with `BackendError`. */
  open(owner: ChannelOwner, signal: AbortSignal): Promise<Channel>;
  /** Returns the step of a process that was never ready; undefined for a remote backend. */
  phase?(): StartPhase | undefined;
  /** Returns the restart of a process that ended, until it has run for some time again. */
  restart?(): Restart | undefined;
  /** Closes all channels and frees sockets and processes. */
  close(): Promise<void>;
}
