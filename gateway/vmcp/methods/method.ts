import type { ClientRequest } from '../client-request.ts';
import type { Answer } from '../answers/answer.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';

/** Serves one JSON-RPC method to a session. Answers exactly once, at once or later. */
export type Method = (server: VirtualServer, session: Session, request: ClientRequest, answer: Answer) => void;
