import type { Request, RequestHandler, Response } from 'express';
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
 * are those of all servers of the process; one that shares its output with another is left out.
 */
export function auditManagement(logs: () => readonly AuditLog[]): RequestHandler {
  return (req, res, next) => {
    const requests = logs().map((log) => AuditedRequest.of(log, req, res));
    if (requests.length > 0) {
      res.once('close', () => {
        if (isAudited(req, res)) for (const request of requests) end(request, res);
      });
    }
    next();
  };
}

const isAudited = ({ method }: Request, { statusCode }: Response): boolean =>
  !READING.has(method) || DENIED.has(statusCode);

function end(request: AuditedRequest, { locals }: Response): void {
  request.operation('vmcp_management_request', locals['operation'] as string | undefined);
  request.closed();
}
