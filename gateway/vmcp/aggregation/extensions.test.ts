import { expect, it } from 'vitest';
import { aggregate } from './aggregate.ts';
import {
  APPS,
  OWN_CAPABILITIES,
  relayedExtensions,
  sessionExtensions,
  SKILLS,
  TASKS,
  unservedCapabilities,
} from './extensions.ts';
import { catalog, rules } from './testdata/catalogs.ts';

const apps = { [APPS]: { mimeTypes: ['text/html;profile=mcp-app'] } };

it('a backend learns the extensions of a client that the gateway knows, as the client declares them', () => {
  expect(relayedExtensions({ ...apps, [SKILLS]: {}, 'com.example/own': {}, toString: {} })).toEqual({
    ...apps,
    [SKILLS]: {},
  });
  expect(relayedExtensions({ [APPS]: 1 })).toEqual({});
  expect(relayedExtensions(['x'])).toEqual({});
  expect(relayedExtensions(undefined)).toEqual({});
});

it('the gateway itself declares apps to backends', () => {
  expect(JSON.parse(OWN_CAPABILITIES)).toEqual({ extensions: apps });
});

it('a client with a session is offered no extension that needs the revision without sessions', () => {
  expect(sessionExtensions({ [SKILLS]: {}, [APPS]: {}, [TASKS]: {} })).toEqual({ [APPS]: {} });
});

it('what a backend declares and the gateway does not serve is named', () => {
  const served = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {}, experimental: {} };
  expect(unservedCapabilities({ ...served, extensions: { ...apps, [SKILLS]: {}, [TASKS]: {} } })).toEqual([]);
  const declared = {
    tasks: {},
    teleport: {},
    experimental: { x: {} },
    extensions: { 'com.example/own': {}, toString: {} },
  };
  const names = ['com.example/own', 'experimental.x', 'teleport', 'toString'];
  expect(unservedCapabilities(declared)).toEqual(names);
  expect(unservedCapabilities({ extensions: 1, experimental: 'x' })).toEqual([]);
  const { view, warnings } = aggregate([catalog('a', { capabilities: declared }), catalog('b', {})], rules(), []);
  expect(warnings).toEqual([
    {
      reason: 'CapabilityNotServed',
      backend: 'a',
      message: `"a" declares what the gateway does not serve: ${names.map((name) => JSON.stringify(name)).join(', ')}`,
    },
  ]);
  expect(view.capabilities.extensions).toEqual({});
});
