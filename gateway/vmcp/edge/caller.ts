import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import { ANONYMOUS, type Identity } from '../../contract/identity.ts';
import { addressKey, forwardedAddresses } from '../../http/client-address.ts';
import type { Span } from '../../http/json-walk.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';

/** Returns the principal that the incoming mode stored; `anonymous` without one. */
export const principalOf = (res: Response): string => (res.locals['principal'] as string | undefined) ?? ANONYMOUS;

export const identityOf = (res: Response): Identity | undefined => res.locals['identity'] as Identity | undefined;

/** Key of anonymous clients, which have no identity. */
export const ANYONE = {};

/**
 * Records the identity of the latest request of a session. Ends the subscriptions to resources that it may not read: an earlier
 * token of the same user may have had more rights.
 */
export function identify(server: VirtualServer, session: Session, identity: Identity | undefined): void {
  session.identity = identity;
  if (session.subscriptions.size === 0 || server.calls.policies.length === 0) return;
  const denied = session.subscriptions.keepFor(identity ?? ANYONE, (name, backend) =>
    server.shows(session, name, backend),
  );
  if (session.shared) for (const uri of denied) server.replica?.unsubscribed(session, uri);
}

/**
 * Returns the bytes of the client's id: a view of a small body, and a copy of a large one, which must not stay in
 * memory.
 */
export const ownId = (body: Buffer, { start, end }: Span, held: HeldBytes | undefined): Buffer =>
  held ? Buffer.from(body.subarray(start, end)) : body.subarray(start, end);

/** Creates the reader of the key by which large bodies take turns: the principal, or the address of an anonymous client. */
export function turnKeys(server: VirtualServer): (req: IncomingMessage) => string {
  let trusted: readonly string[] | undefined;
  let addressOf = forwardedAddresses([]);
  return (req) => {
    const principal = principalOf((req as Request).res as Response);
    if (principal !== ANONYMOUS) return principal;
    const { trusted_proxies: proxies = [] } = server.config.vmcp.incoming;
    if (proxies !== trusted) addressOf = forwardedAddresses((trusted = proxies));
    return `address ${addressKey(addressOf(req))}`;
  };
}
