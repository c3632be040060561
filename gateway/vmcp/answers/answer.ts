import type { RequestTrace } from '../../telemetry/tracing.ts';
import type { Capabilities } from '../server-requests.ts';
import type { ReplySink } from '../transport/channel.ts';
import type { Ending } from './ending.ts';

/** A call that ends when its client can no longer receive the reply. */
export interface WatchingCall {
  clientLeft(): void;
}

/** Destination of the reply to one client request, for any client transport. */
export interface Answer extends Omit<ReplySink, 'fail' | 'reply'> {
  /** JSON text of the client's id. */
  readonly id: Buffer;
  /** Trace of a sampled request. */
  readonly trace?: RequestTrace | undefined;
  /** Called when the item that the request names exists: its advertised name, or its URI. */
  routed?(name: string, backend: string): void;
  /** Sends the whole reply of a backend. `errorType` is the `error.type` of OpenTelemetry. */
  reply(message: Buffer, errorType?: string): void;
  /** `result` is JSON text. `errorType` is that of a result which reports an error. */
  result(result: Buffer | string, errorType?: string): void;
  error(code: number, message: string, data?: unknown): void;
  /**
   * Ends the request without a reply. Returns false when the response has started and so cannot say it: only `refused` is then a JSON-RPC
   * error.
   */
  end(ending: Ending): boolean;
  /** Notifies `call` when the client has left and cannot receive the reply, until `unwatchClient`. */
  watchClient(call: WatchingCall): void;
  unwatchClient(): void;
  /** Ends the exchange without a reply. */
  drop(): void;
  /** False as long as nothing was sent. */
  readonly started: boolean;
  /** True when the client has left and nothing was sent: no reply can reach it. */
  readonly isLost?: boolean;
  /** Rejects the call, because its backend needs capabilities that the client has not declared. */
  lacks?(missing: Capabilities): void;
}
