import { expect, it } from 'vitest';
import { openSession, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp, writeFiles } from '../harness/vmcp.ts';
import { openGet } from '../faults/event-stream.ts';
import { startMcpServer } from '../faults/mcp-server.ts';
import { gatewayOverOne, rarely } from './gateway.ts';

it('ends the sessions and streams of a backend that leaves the group, and notifies clients', async () => {
  const scope = testScope();
  const [stays, leaves] = [await startMcpServer(scope, 'stays'), await startMcpServer(scope, 'leaves')];
  const config = { operational: rarely };
  const both = gatewayOver([entry('leaves', leaves.url), entry('stays', stays.url)], config);
  const vmcp = await startVmcp(scope, { files: both, args: ['--watch'] });
  const session = await openSession(vmcp.url);
  const stream = await openGet(vmcp.url, session);
  expect(textOf(await session.call('leaves_tool', { text: 'x' }))).toBe('tool x');
  expect(textOf(await session.call('stays_tool', { text: 'x' }))).toBe('tool x');
  await eventually('the client has a stream at both', () => leaves.streams.size === 2 && stays.streams.size === 2);
  const changes = stream.methods().length;

  await writeFiles(vmcp.folder, gatewayOver([entry('stays', stays.url)], config));
  await eventually('the streams have ended', () => leaves.streams.size === 0);
  await eventually('its sessions have ended', () => leaves.sessions.size === 0);
  await eventually('the client is notified', () => stream.methods().length > changes);
  expect(await session.tools()).toEqual(['stays_tool']);
  expect((await session.call('leaves_tool')).error).toMatchObject({ code: -32602 });
  expect(textOf(await session.call('stays_tool', { text: 'y' }))).toBe('tool y');
  expect({ streams: stays.streams.size, sessions: stays.sessions.size }).toEqual({ streams: 2, sessions: 2 });
});

it('deletes the backend sessions and streams of a session that ends with DELETE', async () => {
  const { vmcp, backend } = await gatewayOverOne();
  const sessions = await Promise.all(Array.from({ length: 20 }, () => openSession(vmcp.url)));
  const streams = await Promise.all(sessions.map((session) => openGet(vmcp.url, session)));
  await Promise.all(sessions.map((session) => session.call('one_tool')));
  await eventually('every session has a stream', () => backend.streams.size === 21);
  await Promise.all(sessions.map((session) => session.end()));
  await eventually('the streams of the clients have ended', () => streams.every((stream) => stream.ended()));
  await eventually('only the session of the gateway is left', () => backend.sessions.size === 1);
  await eventually('the streams are closed', () => backend.streams.size === 1);
});
