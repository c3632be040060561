/** Address of an MCP server. */
export type Target =
  | { readonly transport: 'streamable-http' | 'sse'; readonly url: string }
  | { readonly transport: 'stdio'; readonly command: string; readonly args: readonly string[] };

/** One operation of a client. Lists are read to their last page. */
export type Step =
  | { readonly op: 'tools' | 'resources' | 'templates' | 'prompts' | 'ping' }
  | { readonly op: 'call'; readonly name: string; readonly args: Readonly<Record<string, unknown>> }
  | { readonly op: 'read'; readonly uri: string }
  | { readonly op: 'prompt'; readonly name: string; readonly args: Readonly<Record<string, string>> }
  | {
      readonly op: 'complete';
      readonly ref: Reference;
      readonly argument: { readonly name: string; readonly value: string };
    };

export type Reference =
  | { readonly type: 'ref/prompt'; readonly name: string }
  | { readonly type: 'ref/resource'; readonly uri: string };

/** Outcome of a step: the result (the items of a list) or the JSON-RPC error. */
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly code: number | undefined; readonly message: string };

/** Outcomes of a whole session. */
export interface Transcript {
  readonly initialize: {
    readonly protocolVersion?: string | undefined;
    readonly serverInfo: Readonly<Record<string, unknown>>;
    readonly capabilities: Readonly<Record<string, unknown>>;
    readonly instructions?: string | undefined;
  };
  readonly outcomes: readonly Outcome[];
  /** Id of the session, when the client exposes it. The client has deleted the session. */
  readonly sessionId?: string | undefined;
}

/** A client library: connects, runs the steps in order, ends the session. */
export type RunClient = (target: Target, steps: readonly Step[]) => Promise<Transcript>;

/** A page of a list: its items and the cursor of the next. */
export interface Page {
  readonly items: readonly unknown[];
  readonly next: string | undefined;
}

export async function everyPage(read: (cursor: string | undefined) => Promise<Page>): Promise<unknown[]> {
  const all: unknown[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await read(cursor);
    all.push(...items);
    cursor = next;
  } while (cursor !== undefined);
  return all;
}

/** Runs the steps; an error of `perform` becomes an outcome, so that the other steps still run. */
export async function outcomesOf(
  steps: readonly Step[],
  perform: (step: Step) => Promise<unknown>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of steps) {
    try {
      outcomes.push({ ok: true, result: await perform(step) });
    } catch (error) {
      const code = error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
      outcomes.push({ ok: false, code, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return outcomes;
}
