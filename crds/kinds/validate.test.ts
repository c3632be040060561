import { describe, expect, it } from 'vitest';
import { validateObject, withDefaults } from './validate.ts';

const server = (spec: object, metadata: object = { name: 'sample' }) => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata,
  spec,
});

const virtual = (spec: object) => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'sample' },
  spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...spec },
});

const messages = (kind: string, object: unknown) =>
  validateObject(kind, object).map(({ path, message }) => `${path}: ${message}`);

describe('messages', () => {
  it.each<[string, string[], object]>([
    ['a misspelt field', ['spec.imag: unknown field "imag"; did you mean "image"?'], { image: 'a', imag: 'b' }],
    [
      'a field in other letters',
      ['spec.MCPPORT: unknown field "MCPPORT"; did you mean "mcpPort"?'],
      { image: 'a', MCPPORT: 1 },
    ],
    [
      'the start of a field',
      ['spec.group: unknown field "group"; did you mean "groupRef"?'],
      { image: 'a', group: 'b' },
    ],
    [
      'the end of a field',
      ['spec.header: unknown field "header"; did you mean "hostHeader"?'],
      { image: 'a', header: 'b' },
    ],
    ['a field like none', ['spec.zzzzzz: unknown field "zzzzzz"; remove it'], { image: 'a', zzzzzz: 1 }],
    [
      'a field of a small object',
      ['spec.groupRef.zz: unknown field "zz"; there is name'],
      { image: 'a', groupRef: { name: 'a', zz: 1 } },
    ],
    ['a wrong type', ['spec.mcpPort: must be a whole number, not text'], { image: 'a', mcpPort: '80' }],
    ['text for a reference', ['spec.groupRef: must be an object with name, not text'], { image: 'a', groupRef: 'a' }],
    ['a fraction', ['spec.mcpPort: must be a whole number, not a number'], { image: 'a', mcpPort: 8.5 }],
    ['nothing', ['spec.image: must be text, not nothing'], { image: null }],
    [
      'a wrong choice',
      ['spec.transport: must be one of "stdio", "streamable-http", "sse"'],
      { image: 'a', transport: 'http' },
    ],
    ['an empty text', ['spec.image: must not be empty'], { image: '' }],
    ['a bound', ['spec.mcpPort: must be at most 65535'], { image: 'a', mcpPort: 65536 }],
    [
      'a duration',
      ['spec.proxyReadTimeout: must be a duration such as 30s or 1h30m'],
      { image: 'a', proxyReadTimeout: 'soon' },
    ],
  ])('say about %s what to do', (_, expected, spec) => {
    expect(messages('MCPServer', server(spec))).toEqual(expected);
  });

  it('describe a missing field', () => {
    expect(messages('MCPServer', server({}))).toEqual([
      expect.stringMatching(/^spec\.image: set spec\.image: Container image/u) as string,
    ]);
  });

  it('never repeat a value', () => {
    const env = [
      { name: 'A', value: ['canary'] },
      { name: 'canary name', value: 'x' },
    ];
    const text = JSON.stringify(validateObject('MCPServer', server({ image: 'a', env, transport: 'canary' })));
    expect(text).not.toContain('canary');
  });
});

describe('problems', () => {
  it('of schema and rules are reported together', () => {
    const found = validateObject(
      'VirtualMCPServer',
      virtual({
        nope: 1,
        replicas: 'two',
        sessionStorage: { provider: 'kvstore' },
        passthroughHeaders: ['Host'],
        config: { aggregation: { conflictResolution: 'priority', tools: [{}] } },
      }),
    );
    expect(found.map(({ path, reason }) => `${reason} ${path}`).toSorted()).toEqual([
      'InvalidType spec.replicas',
      'MissingField spec.config.aggregation.tools[0].workload',
      'RuleViolated spec.passthroughHeaders',
      'RuleViolated spec.sessionStorage.address',
      'UnknownField spec.nope',
    ]);
  });

  it('of a rule are reported only when the fields that it reads are valid', () => {
    const wrong = virtual({ passthroughHeaders: 'Host', sessionStorage: { provider: 7 } });
    expect(validateObject('VirtualMCPServer', wrong).map(({ reason }) => reason)).toEqual([
      'InvalidType',
      'InvalidValue',
    ]);
  });

  it.each([null, [], 'text', 7, {}, { spec: null }, { metadata: [] }])(
    'are returned for %j without throwing',
    (object) => {
      expect(validateObject('VirtualMCPServer', object).length).toBeGreaterThan(0);
    },
  );

  it('quote members with dots or brackets in paths', () => {
    const outgoingAuth = { backends: { 'a.b': { type: 'x' }, 'c[0]': { type: 'x' }, 0: { type: 'x' } } };
    expect(validateObject('VirtualMCPServer', virtual({ outgoingAuth })).map(({ path }) => path)).toEqual([
      'spec.outgoingAuth.backends.0.type',
      'spec.outgoingAuth.backends["a.b"].type',
      'spec.outgoingAuth.backends["c[0]"].type',
    ]);
  });

  it.each(['vmcp.dev/v1beta1', 'toolhive.stacklok.dev/v1alpha1'])(
    'of apiVersion %s name the one to write',
    (apiVersion) => {
      expect(messages('MCPServer', { ...server({ image: 'a' }), apiVersion })).toEqual([
        'apiVersion: this is for another program or version: write apiVersion: vmcp.dev/v1alpha1',
      ]);
    },
  );

  it('do not include null metadata members and a null status: the API server treats them as absent', () => {
    const metadata = { name: 'sample', creationTimestamp: null, labels: null, ownerReferences: null };
    const object = { ...server({ image: 'a' }, metadata), status: null };
    expect(validateObject('MCPServer', object)).toEqual([]);
    expect(validateObject('MCPServer', { ...object, status: {} })).toEqual([]);
    const { metadata: stored, ...rest } = withDefaults('MCPServer', object);
    expect([stored, Object.keys(rest)]).toEqual([{ name: 'sample' }, ['apiVersion', 'kind', 'spec', 'status']]);
  });

  it.each([
    [{ name: null }, 'MissingField metadata.name'],
    [{ name: 'sample', labels: { a: null } }, 'InvalidType metadata.labels.a'],
    [{ name: 'sample', creationTimestmp: 1 }, 'UnknownField metadata.creationTimestmp'],
  ])('remain for metadata %j', (metadata, expected) => {
    const found = validateObject('MCPServer', server({ image: 'a' }, metadata));
    expect(found.map(({ reason, path }) => `${reason} ${path}`)).toEqual([expected]);
  });

  it('include unknown members with names of inherited properties', () => {
    const spec = JSON.parse('{"image":"a","__proto__":{"x":1},"constructor":1}') as object;
    expect(validateObject('MCPServer', server(spec)).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['spec.constructor']),
    );
  });

  it('throws on an unknown kind', () => {
    expect(() => validateObject('Deployment', {})).toThrow('unknown kind "Deployment"');
  });
});

describe('withDefaults', () => {
  it('returns a copy with defaults and does not change the object', () => {
    const object = server({ image: 'a', permissionProfile: { name: 'none' } });
    const complete = withDefaults('MCPServer', object);
    expect(object.spec).toEqual({ image: 'a', permissionProfile: { name: 'none' } });
    expect(complete.spec).toEqual({
      image: 'a',
      transport: 'stdio',
      proxyPort: 8080,
      proxyMode: 'streamable-http',
      trustProxyHeaders: false,
      sessionAffinity: 'ClientIP',
      permissionProfile: { type: 'builtin', name: 'none' },
    });
  });

  it('adds defaults only to existing objects, also inside lists and maps', () => {
    const { spec } = withDefaults('VirtualMCPServer', virtual({ config: { operational: { failureHandling: {} } } }));
    expect(spec).toMatchObject({
      config: {
        operational: {
          failureHandling: { healthCheckInterval: '30s', healthCheckTimeout: '10s', unhealthyThreshold: 3 },
        },
      },
    });
    expect(spec).not.toHaveProperty('config.aggregation');
    expect(spec).not.toHaveProperty('config.operational.failureHandling.circuitBreaker');
    expect(spec).not.toHaveProperty('config.operational.failureHandling.partialFailureMode');
  });

  it('shares nothing with the object or the schema', () => {
    const object = server({ image: 'a', args: ['x'], podTemplateSpec: { spec: { a: [1] } } });
    const complete = withDefaults('MCPServer', object);
    (complete.spec as { podTemplateSpec: { spec: { a: number[] } } }).podTemplateSpec.spec.a.push(2);
    expect(object.spec).toEqual({ image: 'a', args: ['x'], podTemplateSpec: { spec: { a: [1] } } });
  });
});
