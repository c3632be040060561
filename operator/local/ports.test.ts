import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseManagementPort, choosePorts, choosePublicPorts, PortInUse } from './ports.ts';

const request = { names: ['a/x', 'a/y', 'b/x'], base: 4483, explicit: false, kept: {}, isFree: () => true };
const except =
  (...busy: number[]) =>
  (port: number) =>
    !busy.includes(port);

describe('choosePorts', () => {
  it.each([
    ['gives the base port to the first and the next ones in order', {}, [4483, 4484, 4485]],
    ['skips busy ports', { isFree: except(4484) }, [4483, 4485, 4486]],
    ['skips a busy default base port', { isFree: except(4483) }, [4484, 4485, 4486]],
    ['keeps earlier ports, independent of the order', { kept: { 'b/x': 4483, 'a/y': 4490 } }, [4484, 4490, 4483]],
    ['reuses the port of a removed server', { kept: { 'a/x': 4483, 'gone/x': 4484, 'b/x': 4485 } }, [4483, 4484, 4485]],
    ['keeps the earlier port of a single server', { names: ['a/x'], kept: { 'a/x': 4490 } }, [4490]],
    [
      'assigns an explicit base port to the first server',
      { names: ['a/x'], kept: { 'a/x': 4490 }, explicit: true },
      [4483],
    ],
    [
      'keeps an explicit base port with the server that had it',
      { kept: { 'a/y': 4483 }, explicit: true },
      [4484, 4483, 4485],
    ],
    ['resolves a port that is stored twice', { kept: { 'a/x': 4484, 'a/y': 4484 } }, [4484, 4483, 4485]],
    ['assigns nothing without servers', { names: [] }, []],
  ])('%s', async (_what, more, expected) => {
    expect(Object.values((await choosePorts({ ...request, ...more })).ports)).toEqual(expected);
  });

  it('reports the servers that had to move', async () => {
    const kept = { 'a/x': 4483, 'a/y': 4484, 'b/x': 4485 };
    const choice = await choosePorts({ ...request, kept, isFree: except(4484) });
    expect(choice.moved).toEqual([{ name: 'a/y', from: 4484, to: 4486 }]);
  });

  it('rejects a busy explicit port', async () => {
    const choice = choosePorts({ ...request, explicit: true, isFree: except(4483) });
    await expect(choice).rejects.toThrow(new PortInUse(4483, '--port'));
  });

  it('fails when no port is free', async () => {
    await expect(choosePorts({ ...request, base: 65_534 })).rejects.toThrow(PortInUse);
  });
});

describe('chooseManagementPort', () => {
  it.each([
    ['uses the given port', 8080, true, [], [], 8080],
    ['skips a busy default port', 8080, false, [8080], [], 8081],
    ['avoids public ports that are not open yet', 8080, false, [], [8080, 8081], 8082],
  ])('%s', async (_what, port, explicit, busy, taken, expected) => {
    expect(await chooseManagementPort(port, explicit, taken, except(...busy))).toBe(expected);
  });

  it.each([
    ['busy', [8080], []],
    ['one of our public ports', [], [8080]],
  ])('rejects an explicit port that is %s', async (_what, busy, taken) => {
    const choice = chooseManagementPort(8080, true, taken, except(...busy));
    await expect(choice).rejects.toMatchObject({
      reason: 'PortInUse',
      message: expect.stringContaining('--management-port') as unknown,
    });
  });
});

describe('choosePublicPorts', () => {
  let dir: string;
  let base: number;
  let first: Server;
  const listen = (port: number) =>
    new Promise<Server>((resolve) => {
      const server = createServer().listen(port, '127.0.0.1', () => resolve(server));
    });
  const choose = async (names: string[], more = {}) => {
    const file = join(dir, 'ports.json');
    return (await choosePublicPorts({ names, base, explicit: false, host: '127.0.0.1', file, ...more })).ports;
  };

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'vmcp-ports-'));
    first = await listen(0);
    base = (first.address() as AddressInfo).port;
  });
  afterEach(() => {
    first.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('skips a busy port, unless it counts as our own', async () => {
    expect((await choose(['a/x']))['a/x']).toBeGreaterThan(base);
    await expect(choose(['a/x'], { explicit: true })).rejects.toThrow(PortInUse);
    expect(await choose(['b/x'], { open: [base] })).toEqual({ 'b/x': base });
  });

  it('remembers the ports of absent servers until another server gets them', async () => {
    const open = { open: [base, base + 1, base + 2] };
    expect(await choose(['a/x', 'b/x'], open)).toEqual({ 'a/x': base, 'b/x': base + 1 });
    expect(await choose(['b/x'], open)).toEqual({ 'b/x': base + 1 });
    expect(await choose(['a/x', 'b/x'], open)).toEqual({ 'a/x': base, 'b/x': base + 1 });
    expect(await choose(['c/x'], open)).toEqual({ 'c/x': base });
    expect(await choose(['a/x', 'b/x', 'c/x'], open)).toEqual({ 'a/x': base + 2, 'b/x': base + 1, 'c/x': base });
  });

  it('starts a new choice for another base port', async () => {
    const open = { open: [base, base + 1, base + 10, base + 11] };
    await choose(['a/x', 'b/x'], open);
    expect(await choose(['a/x', 'b/x'], { ...open, base: base + 10 })).toEqual({ 'a/x': base + 10, 'b/x': base + 11 });
    expect(JSON.parse(readFileSync(join(dir, 'ports.json'), 'utf8'))).toMatchObject({ 'a/x': base + 10 });
  });
});
