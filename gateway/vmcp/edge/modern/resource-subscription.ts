import { paramsOf, scanBackendEnvelope, scanEnvelope } from '../../../http/json-scan.ts';
import { listedUri } from '../../aggregation/routing.ts';
import type { Answer } from '../../answers/answer.ts';
import { Call } from '../../call.ts';
import { subscription } from '../../methods/subscribe.ts';
import type { Session } from '../../session.ts';
import type { VirtualServer } from '../../virtual-server.ts';

const ID = Buffer.from('0');

/**
 * Subscribes the session to resources. Returns the URIs that their backends and the policies accepted, as updates have them. Those of
 * its other streams are no exception: policies may deny them meanwhile.
 */
export async function subscribe(
  server: VirtualServer,
  { session, identity, headers }: Call,
  uris: readonly string[],
): Promise<string[]> {
  const accepted = await Promise.all(uris.map((uri) => ask(server, session, true, uri, { identity, headers })));
  const view = server.view(session).current;
  return [...new Set(uris.filter((_, index) => accepted[index]).map((uri) => listedUri(view, uri)))];
}

/** Unsubscribes the session from those of `uris` that none of its streams wants any more. */
export function unsubscribe(server: VirtualServer, session: Session, uris: Iterable<string>): void {
  if (session.ended) return;
  const { identity } = session;
  for (const uri of uris) {
    const isWanted = [...(session.listeners ?? [])].some((listener) => listener.wants(uri));
    if (!isWanted) void ask(server, session, false, uri, { identity, headers: undefined });
  }
}

function ask(
  server: VirtualServer,
  session: Session,
  isSubscription: boolean,
  uri: string,
  from: Pick<Call, 'identity' | 'headers'>,
): Promise<boolean> {
  const method = `resources/${isSubscription ? 'subscribe' : 'unsubscribe'}`;
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method, params: { uri } }));
  const envelope = scanEnvelope(body);
  return new Promise((resolve) => {
    const call = new Call(session, new Verdict(resolve), body, envelope, {});
    call.params = paramsOf(envelope);
    call.identity = from.identity;
    call.headers = from.headers;
    subscription(isSubscription)(server, call);
  });
}

/** Answer of a request that the gateway makes for a client: whether it succeeded. */
export class Verdict implements Answer {
  readonly id = ID;
  readonly started = false;
  readonly #settle: (isAccepted: boolean) => void;

  constructor(settle: (isAccepted: boolean) => void) {
    this.#settle = settle;
  }

  result(): void {
    this.#settle(true);
  }

  reply(message: Buffer): void {
    this.#settle(scanBackendEnvelope(message).error === undefined);
  }

  error(): void {
    this.#settle(false);
  }

  end(): boolean {
    this.#settle(false);
    return true;
  }

  drop(): void {
    this.#settle(false);
  }

  message(): void {
    // messages of a subscription belong to no client request
  }

  watchClient(): void {
    // the request lasts as long as its backend takes
  }

  unwatchClient(): void {
    // see `watchClient`
  }
}
