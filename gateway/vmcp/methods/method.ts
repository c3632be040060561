import type { Call } from '../call.ts';
import type { VirtualServer } from '../virtual-server.ts';

/** Serves one JSON-RPC method to a session. Answers exactly once, at once or later. */
export type Method = (server: VirtualServer, call: Call) => void;
