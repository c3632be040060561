import type { RequestHandler } from 'express';

/** Liveness: the process only, never backends. */
export const liveness: RequestHandler = (_req, res) => {
  res.json({ status: 'ok' });
};

/** Readiness: 503 while the gateway shuts down. */
export const readiness =
  (isDraining: () => boolean): RequestHandler =>
  (_req, res) => {
    if (isDraining()) res.status(503).json({ status: 'not_ready', reason: 'shutting_down' });
    else res.json({ status: 'ready', mode: 'static' });
  };
