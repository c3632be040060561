import { describe, expect, it } from 'vitest';
import { openGet } from '../../faults/event-stream.ts';
import type { Exchange, McpServer } from '../../faults/mcp-server.ts';
import { openSession, raw, textOf } from '../../harness/clients/raw.ts';
import { eventually } from '../../harness/poll.ts';
import type { Vmcp } from '../../harness/vmcp.ts';
import { gatewayOverOne } from '../../regressions/gateway.ts';

/** A server without sessions and without a stream, as `StreamableHTTPServerTransport` without `sessionIdGenerator` is. */
const STATELESS = { sessions: false, getStatus: 405 };

interface Status {
  readonly backends: readonly { readonly health: string; readonly reason?: string; readonly tools?: number }[];
  readonly problems: readonly { readonly reason: string; readonly path?: string; readonly message: string }[];
}

async function statusOf(vmcp: Vmcp): Promise<Status> {
  return JSON.parse((await raw(`${vmcp.management}/status`)).body) as Status;
}

const toolsOf = async (vmcp: Vmcp): Promise<string[]> => (await openSession(vmcp.url)).tools();

function failLists(backend: McpServer, answer: (exchange: Exchange) => void): void {
  backend.intercept = (exchange) => {
    if (exchange.message.method !== 'tools/list') return false;
    answer(exchange);
    return true;
  };
}

describe.concurrent('a backend that announces no changes', () => {
  it('shows new sessions a tool that it has added, and finds the tool when it is called first', async () => {
    const { vmcp, backend } = await gatewayOverOne(STATELESS);
    const session = await openSession(vmcp.url);
    expect(await session.tools()).toEqual(['one_tool']);
    backend.tools = ['tool', 'added'];
    const isFound = async () => textOf(await session.call('one_added', { text: 'x' })) === 'added x';
    await eventually('the call finds the tool', isFound);
    expect(await toolsOf(vmcp)).toEqual(['one_added', 'one_tool']);
    expect((await session.call('one_missing')).error).toMatchObject({ code: -32602 });
    expect(backend.count('tools/list')).toBeLessThanOrEqual(3);
  });

  it('that lists nothing at first is read again soon', async () => {
    const { vmcp, backend } = await gatewayOverOne({
      ...STATELESS,
      methods: {
        'tools/list': ({ result }) => {
          const isFirst = backend.count('tools/list') === 1;
          result({ tools: isFirst ? [] : [{ name: 'late', inputSchema: { type: 'object' } }] });
        },
      },
    });
    await eventually('its tools are listed', async () => (await toolsOf(vmcp)).includes('one_late'));
  });

  it('tells a client that listens of a change, and only of a change', async () => {
    const { vmcp, backend } = await gatewayOverOne(STATELESS);
    await toolsOf(vmcp); // a session from before the first list would be told of that
    const session = await openSession(vmcp.url);
    const stream = await openGet(vmcp.url, session);
    const changes = () => stream.methods().filter((method) => method === 'notifications/tools/list_changed').length;
    for (const tools of [['tool'], ['tool', 'added'], ['tool', 'added']]) {
      backend.tools = tools;
      const before = backend.count('tools/list');
      await eventually('the list is read again', async () => {
        await session.call('one_missing');
        return backend.count('tools/list') > before;
      });
    }
    await eventually('the client is notified', () => changes() > 0);
    expect(changes()).toBe(1);
  });
});

describe.concurrent('a backend whose tools/list fails', () => {
  const fetchFailed = ({ error }: Exchange): void => {
    error(-32603, 'fetch failed');
  };

  it('once is read again, and is not healthy without tools meanwhile', async () => {
    const { vmcp, backend } = await gatewayOverOne({
      ...STATELESS,
      methods: {
        'tools/list': (exchange) => {
          if (backend.count('tools/list') <= 2) fetchFailed(exchange);
          else exchange.result({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
        },
      },
    });
    await eventually('its tools are listed', async () => (await toolsOf(vmcp)).includes('one_tool'));
    await eventually('it is healthy', async () => (await statusOf(vmcp)).backends[0]?.health === 'healthy');
    expect(vmcp.output()).not.toMatch(/from=unknown to=healthy|"from":"unknown","to":"healthy"/u);
  });

  it('for good shows its reason', async () => {
    const { vmcp } = await gatewayOverOne({ ...STATELESS, methods: { 'tools/list': fetchFailed } });
    await eventually('the reason is shown', async () =>
      String((await statusOf(vmcp)).backends[0]?.reason).includes('tools/list answers the error -32603'),
    );
    const { backends, problems } = await statusOf(vmcp);
    expect(backends[0]?.health).not.toBe('healthy');
    expect(problems).toMatchObject([{ reason: 'ListUnavailable', path: 'vmcp.backends.one' }]);
  });

  it('after it has worked keeps its tools, and shows the problem', async () => {
    const { vmcp, backend } = await gatewayOverOne(STATELESS);
    const session = await openSession(vmcp.url);
    await session.tools();
    failLists(backend, fetchFailed);
    const status = await eventually('the list is read again', async () => {
      await session.call('one_missing');
      const read = await statusOf(vmcp);
      return read.problems.length > 0 && read;
    });
    expect(status.backends[0]).toMatchObject({
      health: 'degraded',
      reason: 'tools/list answers the error -32603',
      tools: 1,
    });
    expect(status.problems).toMatchObject([{ reason: 'ListUnavailable', path: 'vmcp.backends.one' }]);
    expect(textOf(await session.call('one_tool', { text: 'x' }))).toBe('tool x');
    backend.intercept = undefined;
    await eventually('it is healthy', async () => (await statusOf(vmcp)).backends[0]?.health === 'healthy');
    expect((await statusOf(vmcp)).problems).toEqual([]);
  });
});
