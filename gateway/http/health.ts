import type { RequestHandler } from 'express';

/** Liveness probe: the process only, never backends. */
export const liveness: RequestHandler = (_req, res) => {
  res.json({ status: 'ok' });
};

/** State that decides readiness, read at each probe. */
export interface Readiable {
  readonly draining: boolean;
  readonly awaitsBackends: boolean;
  readonly incoming: { readonly ready: boolean; readonly reason?: string };
  readonly config: { readonly vmcp: { readonly cluster?: object } };
}

/**
 * Readiness probe: 503 while the gateway shuts down, and until it knows its backends. `incoming` reports why tokens cannot be
 * validated yet, which does not affect readiness.
 */
export const readiness =
  (server: Readiable): RequestHandler =>
  (_req, res) => {
    const mode = server.config.vmcp.cluster === undefined ? 'static' : 'dynamic';
    if (server.draining) res.status(503).json({ status: 'not_ready', reason: 'shutting_down' });
    else if (server.awaitsBackends) {
      res.status(503).json({ status: 'not_ready', mode, reason: 'cache_sync_pending' });
    } else {
      const { ready, reason } = server.incoming;
      res.json({ status: 'ready', mode, ...(!ready && { incoming: { ready, reason } }) });
    }
  };
