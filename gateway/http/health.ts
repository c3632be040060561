import type { RequestHandler } from 'express';

/** Liveness: the process only, never backends. */
export const liveness: RequestHandler = (_req, res) => {
  res.json({ status: 'ok' });
};

/** Readiness: 503 while the gateway shuts down. Why no token can be judged yet stands in `incoming`, and gates nothing. */
export const readiness =
  (isDraining: () => boolean, incoming: () => { readonly ready: boolean; readonly reason?: string }): RequestHandler =>
  (_req, res) => {
    if (isDraining()) res.status(503).json({ status: 'not_ready', reason: 'shutting_down' });
    else {
      const { ready, reason } = incoming();
      res.json({ status: 'ready', mode: 'static', ...(!ready && { incoming: { ready, reason } }) });
    }
  };
