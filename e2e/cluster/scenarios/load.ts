import { openSession, rpc, rpcReply, textOf, type RawSession } from '../../harness/clients/raw.ts';

/** Outcomes of the calls: answered, or rejected with 404 because the pod does not know the session. */
export interface Tally {
  answered: number;
  reopened: number;
  /** Other outcomes. */
  readonly lost: string[];
}

export interface Load {
  readonly tally: Tally;
  /** Stops the load; resolves when the last call has ended. */
  stop(): Promise<Tally>;
}

async function worker(url: string, tool: string, tally: Tally, running: () => boolean): Promise<void> {
  let session: RawSession | undefined;
  while (running()) {
    try {
      session ??= await openSession(url);
      const answer = await session.post(rpc('tools/call', { name: tool, arguments: { ms: 100 } }));
      if (answer.status === 404) {
        tally.reopened += 1;
        session = undefined;
      } else if (textOf(rpcReply(answer)) === 'waited 100 ms') tally.answered += 1;
      else tally.lost.push(`${String(answer.status)} ${answer.body}`);
    } catch (error) {
      tally.lost.push(String(error));
      session = undefined;
    }
  }
}

/** Starts `workers` clients; each calls a tool of 100 ms again as soon as it is answered. */
export function startLoad(url: string, tool: string, workers = 8): Load {
  const tally: Tally = { answered: 0, reopened: 0, lost: [] };
  let on = true;
  const ended = Promise.all(Array.from({ length: workers }, () => worker(url, tool, tally, () => on)));
  return {
    tally,
    async stop() {
      on = false;
      await ended;
      return tally;
    },
  };
}
