import type { BackendFailure, BackendRequest, Channel, ChannelOwner, RequestHandle } from '../channel.ts';

/** Result of one request. */
export interface Outcome {
  readonly reply?: { readonly id: unknown; readonly result?: unknown; readonly error?: unknown };
  readonly failure?: BackendFailure;
  readonly messages: { readonly method?: string; readonly params?: Record<string, unknown>; readonly id?: unknown }[];
}

export interface Call {
  readonly handle: RequestHandle;
  readonly outcome: Promise<Outcome>;
}

const parse = (text: Buffer): never => JSON.parse(text.toString()) as never;

export function startCall(channel: Channel, request: Partial<BackendRequest> & { method: string }, onMessage?: (text: Buffer) => void): Call {
  const messages: Outcome['messages'] = [];
  let handle: RequestHandle | undefined;
  const outcome = new Promise<Outcome>((resolve) => {
    handle = channel.request(
      { params: undefined, id: Buffer.from('"client-1"'), timeoutMs: 10_000, ...request },
      {
        reply: (message) => resolve({ reply: parse(message), messages }),
        message(message) {
          messages.push(parse(message));
          onMessage?.(message);
        },
        fail: (failure) => resolve({ failure, messages }),
      },
    );
  });
  if (!handle) throw new Error('no handle');
  return { handle, outcome };
}

export const toolParams = (name: string, args: object = {}, meta?: object): Buffer =>
  Buffer.from(JSON.stringify({ name, arguments: args, ...(meta && { _meta: meta }) }));

export const callTool = (channel: Channel, name: string, args: object = {}, meta?: object): Promise<Outcome> =>
  startCall(channel, { method: 'tools/call', params: toolParams(name, args, meta) }).outcome;

/** Returns the text of the first content block of a tool's result. */
export const textOf = ({ reply }: Outcome): string | undefined =>
  (reply?.result as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text;

export const ownerOf = (key: string, rest: Partial<ChannelOwner> & { principal?: string } = {}): ChannelOwner & { principal?: string } => ({
  key,
  capabilities: '{"elicitation":{},"sampling":{},"roots":{}}',
  revision: '2025-11-25',
  onMessage: () => undefined,
  ...rest,
});
