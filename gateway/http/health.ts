import type { RequestHandler } from 'express';

/** Liveness: the process only, never backends. */
export const liveness: RequestHandler = (_req, res) => {
  res.json({ status: 'ok' });
};

/** What decides whether requests are sent here; asked at each probe. */
export interface Readiable {
  readonly draining: boolean;
  readonly awaitsBackends: boolean;
  readonly incoming: { readonly ready: boolean; readonly reason?: string };
  readonly config: { readonly vmcp: { readonly cluster?: object } };
}

/**
 * Readiness: 503 while the gateway shuts down, and until it has been told its backends. Why no token can be judged yet
 * stands in `incoming`, and gates nothing.
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
