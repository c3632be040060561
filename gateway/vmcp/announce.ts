import type { View } from './aggregation/view.ts';
import type { ListDigests, Session } from './session.ts';

const NOTIFICATIONS: Readonly<Record<keyof ListDigests, Buffer>> = {
  tools: Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
  resources: Buffer.from('{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}'),
  prompts: Buffer.from('{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}'),
};

/** What clients see of a view, for telling whether it changed. */
export const digestsOf = ({ lists }: View): ListDigests => ({
  tools: lists.tools.digest,
  resources: lists.resources.digest + lists.templates.digest,
  prompts: lists.prompts.digest,
});

/** Tells a client that listens which of its lists differ from those it was last told of; one that does not, later. */
export function announce(session: Session, now: ListDigests): void {
  const { seen, streams } = session;
  if (!streams.main.connected) return;
  session.seen = now;
  if (seen === undefined) return;
  for (const kind of ['tools', 'resources', 'prompts'] as const) {
    if (seen[kind] !== now[kind]) streams.main.send(NOTIFICATIONS[kind]);
  }
}
