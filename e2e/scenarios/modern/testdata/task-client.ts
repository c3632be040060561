import { MCP_HEADERS, raw, rpc, rpcReply, type RpcReply } from '../../../harness/clients/raw.ts';
import { eventually } from '../../../harness/poll.ts';
import type { Scope } from '../../../harness/scope.ts';

const REVISION = '2026-07-28';
const TASKS = 'io.modelcontextprotocol/tasks';

/** Capabilities of a client that follows tasks and answers questions. */
export const FOLLOWS = { elicitation: {}, extensions: { [TASKS]: {} } };

/** `data` of an error for a client that has not declared the extension. */
export const NEEDS_TASKS = { requiredCapabilities: { extensions: { [TASKS]: {} } } };

export interface TaskRequest {
  readonly capabilities?: object;
  /** `Mcp-Name`, if not that of the parameters. */
  readonly name?: string;
  /** JSON text of the parameters, in place of `params`, without the closing bracket. */
  readonly text?: string;
}

type Members = Readonly<Record<string, unknown>>;

/** A client of 2026-07-28 without a library, which can send what no library sends. */
export class TaskClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = { ...MCP_HEADERS, ...headers, 'mcp-protocol-version': REVISION };
  }

  async request(method: string, params: Members, given: TaskRequest = {}): Promise<RpcReply> {
    const { body, headers } = this.#message(method, params, given);
    return rpcReply(await raw(this.#url, { method: 'POST', headers, body }));
  }

  call(tool: string, args: Members = {}, more: Members = {}): Promise<RpcReply> {
    return this.request('tools/call', { name: tool, arguments: args, ...more });
  }

  /** Calls a tool that makes a task, and returns its id. */
  async start(tool: string, args: Members = {}): Promise<string> {
    const { result, text } = await this.call(tool, args);
    if (result?.['resultType'] !== 'task') throw new Error(`no task: ${text}`);
    return String(result['taskId']);
  }

  get(taskId: string, given?: TaskRequest): Promise<RpcReply> {
    return this.request('tasks/get', { taskId }, given);
  }

  /** Waits until the task has this status, and returns it. */
  when(taskId: string, status: string): Promise<Members> {
    return eventually(`the task is ${status}`, async () => {
      const { result } = await this.get(taskId);
      return result?.['status'] === status && result;
    });
  }

  /** Opens `subscriptions/listen`, and returns its messages as they arrive. */
  async listen(scope: Scope, taskIds: readonly string[], given?: TaskRequest): Promise<TaskStream> {
    const { body, headers } = this.#message('subscriptions/listen', { notifications: { taskIds } }, given ?? {});
    const stop = new AbortController();
    scope.defer(() => {
      stop.abort();
    });
    const response = await fetch(this.#url, { method: 'POST', headers, body, signal: stop.signal });
    const stream: TaskStream = { messages: [], isOver: false };
    const read = async (): Promise<void> => {
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk as Uint8Array, { stream: true });
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        const data = lines.filter((line) => line.startsWith('data:') && line.length > 6);
        stream.messages.push(...data.map((line) => JSON.parse(line.slice(5)) as TaskMessage));
      }
      if (text.startsWith('{')) stream.messages.push(JSON.parse(text) as TaskMessage);
    };
    read()
      .catch(() => undefined)
      .finally(() => {
        stream.isOver = true;
      });
    return stream;
  }

  #message(method: string, params: Members, { capabilities = FOLLOWS, name, text }: TaskRequest) {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientInfo': { name: 'task-client', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const sent = name ?? params['name'] ?? params['taskId'];
    const named: Record<string, string> = typeof sent === 'string' ? { 'mcp-name': sent } : {};
    const headers: Record<string, string> = { ...this.#headers, 'mcp-method': method, ...named };
    const body =
      text === undefined
        ? rpc(method, { ...params, _meta: meta }, 'request-7')
        : `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${text},"_meta":${JSON.stringify(meta)}}}`;
    return { headers, body };
  }
}

export interface TaskMessage {
  readonly method?: string;
  readonly params?: Members;
  readonly result?: Members;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

export interface TaskStream {
  readonly messages: TaskMessage[];
  isOver: boolean;
}
