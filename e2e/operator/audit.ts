import { open, stat } from 'node:fs/promises';
import { auditLogOf, type ControlPlaneAddress } from '../harness/control-plane/control-plane.ts';

/** One request in the audit log of the API server. */
export interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly requestURI: string;
  /** Time of the answer, RFC 3339. */
  readonly stageTimestamp: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly requestObject?: unknown;
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Returns the current end of the audit log; a line that is still being written belongs before it. */
export async function auditMark(address: ControlPlaneAddress): Promise<number> {
  return (await stat(auditLogOf(address))).size;
}

export async function auditSince(address: ControlPlaneAddress, mark: number): Promise<AuditEvent[]> {
  const file = await open(auditLogOf(address));
  try {
    const { size } = await file.stat();
    const from = Math.max(0, mark - 1);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    const lines = buffer.subarray(0, bytesRead).toString('utf8').split('\n');
    // The first piece ends at or after the mark; the last piece is empty or a line that is still being written.
    return lines.slice(mark === 0 ? 0 : 1, -1).map((line) => JSON.parse(line) as AuditEvent);
  } finally {
    await file.close();
  }
}

/** Returns the write requests of a user, except for leases. */
export const writesOf = (events: readonly AuditEvent[], username: string): AuditEvent[] =>
  events.filter(
    ({ verb, user, objectRef }) => user.username === username && WRITES.has(verb) && objectRef?.resource !== 'leases',
  );

/** Formats a request in one line, for the message of a failed expectation. */
export const lineOf = ({ verb, objectRef, responseStatus, requestObject }: AuditEvent): string =>
  `${verb} ${objectRef?.resource ?? ''}/${objectRef?.namespace ?? ''}/${objectRef?.name ?? ''}/${objectRef?.subresource ?? ''} ` +
  `${String(responseStatus?.code)} ${JSON.stringify(requestObject ?? null).slice(0, 1_000)}`;
