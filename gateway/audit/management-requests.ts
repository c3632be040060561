import type { Request, RequestHandler, Response } from 'express';
import { setRefusalReason } from '../http/log-refusals.ts';
import type { AuditLog } from './audit-log.ts';
import { AuditedRequest } from './audited-request.ts';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const DENIED: ReadonlySet<number> = new Set([401, 403, 429]);

/** Sets the operation that a request runs, for its event. */
export function setOperation(res: Response, id: string): void {
  res.locals['operation'] = id;
}

/**
 * Writes an event for each request of the management listener that can change something, and for each that was denied. `logs`
 * are those of all servers of the process and of the listener itself; one that shares its output with another is left out. Refuses
 * changes whose events could not be written.
 */
export function auditManagement(logs: () => readonly AuditLog[]): RequestHandler {
  return (req, res, next) => {
    const current = logs();
    if (!READING.has(req.method) && current.some((log) => log.refusesRequests)) {
      refuseUnrecorded(res);
      return;
    }
    const requests = current.map((log) => AuditedRequest.of(log, req, res));
    if (requests.length > 0) {
      res.once('close', () => {
        if (isAudited(req, res)) for (const request of requests) end(request, res);
      });
    }
    next();
  };
}

const RETRY_AFTER_SECONDS = 1;

/** Answers a request whose event could not be written. */
export function refuseUnrecorded(res: Response): void {
  setRefusalReason(res, 'audit_log_full');
  const message = 'the audit log cannot be written at the moment: try again';
  res.status(503).set('retry-after', String(RETRY_AFTER_SECONDS));
  res.json({ error: 'temporarily_unavailable', message });
}

const isAudited = ({ method }: Request, { statusCode }: Response): boolean =>
  !READING.has(method) || DENIED.has(statusCode);

function end(request: AuditedRequest, { locals }: Response): void {
  request.operation('vmcp_management_request', locals['operation'] as string | undefined);
  request.closed();
}
