import type { View } from './aggregation/view.ts';
import type { ListDigests, Session } from './session.ts';

const NOTIFICATIONS: Readonly<Record<keyof ListDigests, Buffer>> = {
  tools: Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
  resources: Buffer.from('{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}'),
  prompts: Buffer.from('{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}'),
};

/** Returns the digests of the lists in a view, to detect changes. */
export const digestsOf = ({ lists }: View): ListDigests => ({
  tools: lists.tools.digest,
  resources: lists.resources.digest + lists.templates.digest + lists.skills.digest,
  prompts: lists.prompts.digest,
});

/**
 * Notifies a connected client of the lists that changed since its last notification. Other clients are notified later.
 */
export function announce(session: Session, now: ListDigests): void {
  const { seen, streams, listeners } = session;
  for (const listener of listeners ?? []) listener.changed(now);
  if (!streams.main.connected) return;
  session.seen = now;
  if (seen === undefined) return;
  for (const kind of ['tools', 'resources', 'prompts'] as const) {
    if (seen[kind] !== now[kind]) streams.main.send(NOTIFICATIONS[kind]);
  }
}
