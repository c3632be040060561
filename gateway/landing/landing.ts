import type { RequestHandler } from 'express';
import { sendPage } from '../http/page/send-page.ts';
import { hasUsers, issuerOf } from '../incoming/index.ts';
import type { VirtualServer } from '../vmcp/virtual-server.ts';
import type { ListedBackend } from './landing-page.ts';

export interface LandingOptions {
  readonly server: VirtualServer;
  /** Boundary 1. */
  readonly authenticate: RequestHandler;
  /** Returns the MCP URL for clients; undefined when only clients know it. Never from a request: a Host can be forged. */
  readonly clientUrl: () => string | undefined;
}

/**
 * Answers a browser with a page about the virtual server, and passes on other requests. The page lists the backends
 * only if the virtual server is anonymous or the request has valid credentials.
 */
export function landing({ server, authenticate, clientUrl }: LandingOptions): RequestHandler {
  return async (req, res, next) => {
    res.vary('Accept');
    if (!/\btext\/html\b/iu.test(req.headers.accept ?? '')) {
      next();
      return;
    }
    const { landingPage } = await import('./landing-page.ts'); // on demand: a gateway starts without it
    const { config } = server;
    const send = (backends?: readonly ListedBackend[]): void => {
      sendPage(res, landingPage({ name: server.name, url: clientUrl(), issuer: issuerOf(config), backends }));
    };
    if (!hasUsers(config.vmcp.incoming.type)) send(backendsOf(server));
    else if (req.headers.authorization === undefined) send();
    else {
      await authenticate(req, res, (error?: unknown) => {
        if (error === undefined) send(backendsOf(server));
        else next(error);
      });
    }
  };
}

function backendsOf({ config, fleet }: VirtualServer): ListedBackend[] {
  const { backends } = fleet.health();
  return config.vmcp.backends.map(({ name }) => ({ name, state: backends[name]?.status ?? 'unknown' }));
}
