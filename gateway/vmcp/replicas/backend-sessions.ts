import { BackendError, type BackendSession, type Channel, type ChannelOwner } from '../transport/channel.ts';
import type { BackendSessions } from '../backends/backend-sessions.ts';
import type { Session } from '../session.ts';
import type { Mailbox } from './messages.ts';
import type { SessionStore } from './session-store.ts';

/** Most attempts to agree with other replicas on the session at a backend. */
const ATTEMPTS = 3;

/** Sessions at backends in the store: the replicas of a session use the same one at each backend. */
export class StoredBackendSessions implements BackendSessions {
  readonly #store: SessionStore;
  readonly #mailbox: Mailbox;

  constructor(store: SessionStore, mailbox: Mailbox) {
    this.#store = store;
    this.#mailbox = mailbox;
  }

  async open(
    session: Session,
    backend: string,
    url: string | undefined,
    lost: BackendSession | undefined,
    open: (resume: ChannelOwner['resume']) => Promise<Channel>,
  ): Promise<Channel> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const stored = await this.#store.backend(session.id, backend);
      const isUsable = stored && stored.id !== lost?.id && stored.url === url;
      const channel = await open(isUsable ? stored : undefined);
      if (!channel.session || isUsable) return channel;
      const saved = await this.#store.saveBackend(session.id, backend, channel.session, stored);
      if (saved?.id === channel.session.id) {
        this.#opened(session, backend);
        return channel;
      }
      await channel.close(); // another replica was faster
      if (!saved) break;
    }
    throw new BackendError({ kind: 'unavailable', detail: 'the session has ended' });
  }

  /** Lets the replica that has the client's stream open that of the backend. */
  #opened({ id, shared }: Session, backend: string): void {
    const holder = shared?.holder;
    if (holder === undefined || holder === this.#mailbox.replica) return;
    this.#mailbox.post(holder, 'opened', { session: id, backend });
  }
}
