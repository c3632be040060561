import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../operations.ts';
import { openApiOf } from './openapi.ts';

it('is accepted by the linter', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const source = JSON.stringify(openApiOf(OPERATIONS, '0.0.0'));
  const findings = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(findings.map(({ ruleId, message, location: [at] }) => `${ruleId} ${at?.pointer ?? ''}: ${message}`)).toEqual(
    [],
  );
});

it('gives every operation an id and a path of its own', () => {
  const ids = OPERATIONS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const places = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(places).size).toBe(places.length);
});
