import { expect } from 'vitest';
import { greetingUri, itemTemplate, pictureUri, PNG, TOOLS } from './backends/fixture.ts';
import type { Step, Transcript } from './clients/client.ts';

/** Names that a tour expects. */
export interface TourOptions {
  /** Name of the fixture server. */
  readonly fixture: string;
  /** Prefix of its tools and prompts: `''` without a gateway. */
  readonly prefix: string;
}

const BIG = 200_000;

/** Returns steps that use every feature of a fixture server once. */
export function tourSteps({ fixture, prefix }: TourOptions): Step[] {
  const call = (name: string, args: Record<string, unknown> = {}): Step => ({ op: 'call', name: prefix + name, args });
  return [
    { op: 'tools' },
    { op: 'resources' },
    { op: 'templates' },
    { op: 'prompts' },
    call('echo', { text: 'grüezi 🙂 "quoted" \n\u0000' }),
    call('add', { a: 2, b: 3 }),
    call('slow', { ms: 30 }),
    call('structured', { city: 'Bern' }),
    call('big', { bytes: BIG }),
    call('failing'),
    call('image'),
    { op: 'read', uri: greetingUri(fixture) },
    { op: 'read', uri: pictureUri(fixture) },
    { op: 'read', uri: itemTemplate(fixture).replace('{id}', '7') },
    { op: 'prompt', name: `${prefix}greet`, args: { who: 'Ada' } },
    { op: 'complete', ref: { type: 'ref/prompt', name: `${prefix}greet` }, argument: { name: 'who', value: 'a' } },
    {
      op: 'complete',
      ref: { type: 'ref/resource', uri: itemTemplate(fixture) },
      argument: { name: 'id', value: 'be' },
    },
  ];
}

const textOf = (text: string) => ({ content: [expect.objectContaining({ type: 'text', text })] });

/** Checks the outcomes of a tour. The gateway may offer more than this fixture. */
export function expectTour({ initialize, outcomes }: Transcript, { fixture, prefix }: TourOptions): void {
  const failed = outcomes.filter((outcome) => !outcome.ok);
  expect(failed).toEqual([]);
  const results = outcomes.map((outcome) => (outcome.ok ? outcome.result : undefined));
  const [tools, resources, templates, prompts, ...calls] = results;
  const [echo, add, slow, structured, big, failing, image, greeting, picture, item, prompt, person, city] = calls;

  expect(initialize.capabilities).toMatchObject({ tools: {}, resources: {}, prompts: {} });
  expect(names(tools)).toEqual(expect.arrayContaining(TOOLS.map((tool) => prefix + tool)));
  expect(uris(resources, 'uri')).toEqual(expect.arrayContaining([greetingUri(fixture), pictureUri(fixture)]));
  expect(uris(templates, 'uriTemplate')).toContain(itemTemplate(fixture));
  expect(names(prompts)).toContain(`${prefix}greet`);

  expect(echo).toMatchObject(textOf('grüezi 🙂 "quoted" \n\u0000'));
  expect(add).toMatchObject(textOf('5'));
  expect(slow).toMatchObject(textOf('waited 30 ms'));
  expect(structured).toMatchObject({ structuredContent: { city: 'Bern', celsius: 21 } });
  expect(big).toMatchObject(textOf('x'.repeat(BIG)));
  expect(failing).toMatchObject({ ...textOf('this tool always fails'), isError: true });
  expect(image).toMatchObject({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] });
  expect(greeting).toMatchObject({ contents: [{ uri: greetingUri(fixture), text: `hello from ${fixture}` }] });
  expect(picture).toMatchObject({ contents: [{ uri: pictureUri(fixture), blob: PNG, mimeType: 'image/png' }] });
  expect(item).toMatchObject({ contents: [{ text: `item 7 of ${fixture}` }] });
  expect(prompt).toMatchObject({ messages: [{ role: 'user', content: { type: 'text', text: 'Say hello to Ada.' } }] });
  expect(person).toMatchObject({ completion: { values: ['Ada', 'Alan'] } });
  expect(city).toMatchObject({ completion: { values: ['Berlin', 'Bern'] } });
}

/** Returns the member `name` of each item of a list. */
export const names = (list: unknown): unknown[] => uris(list, 'name');

function uris(list: unknown, member: string): unknown[] {
  if (!Array.isArray(list)) throw new Error(`not a list: ${JSON.stringify(list)}`);
  return list.map((item: unknown) => (item as Record<string, unknown>)[member]);
}
