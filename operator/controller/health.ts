import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

export interface HealthOptions {
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** Returns the reason reason the operator is not ready, or undefined when it is ready. */
  readonly notReady: () => string | undefined;
}

/** Serves `/healthz` and `/readyz` for the kubelet, and `/metrics` for Prometheus. */
export const healthListener =
  (options: HealthOptions): RequestListener =>
  (request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      reply(response, 500, error instanceof Error ? error.message : String(error));
    });
  };

async function answer(
  { metrics, notReady }: HealthOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    reply(response, 405, 'only GET is supported', { allow: 'GET, HEAD' });
    return;
  }
  const [path] = (request.url ?? '').split('?');
  if (path === '/healthz') reply(response, 200, 'ok');
  else if (path === '/readyz') {
    const reason = notReady();
    reply(response, reason === undefined ? 200 : 503, reason ?? 'ok');
  } else if (path === '/metrics') reply(response, 200, await metrics.text(), { 'content-type': metrics.contentType });
  else reply(response, 404, 'not found: the paths are /healthz, /readyz and /metrics');
}

function reply(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  if (response.headersSent) return;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers });
  response.end(text.endsWith('\n') ? text : `${text}\n`);
}
