/** Request that must be answered with `status`. `known` is a workload of the group `work`; its image is `npx://server`. */
export interface StatusCase {
  /** Number in the list of operations of the specification. */
  readonly operation: number;
  readonly status: number;
  readonly method: string;
  /** Path below `/api/v1beta`. */
  readonly path: string;
  readonly body?: unknown;
  /** Code of the error, which a client gets as problem details. */
  readonly code?: string;
}

const sized = 'x'.repeat(1024 * 1024);

const bulk = (operation: number, path: string): StatusCase[] => {
  const post = (status: number, body: unknown, code?: string): StatusCase => ({
    ...{ operation, status, method: 'POST', path, body },
    ...(code !== undefined && { code }),
  });
  return [
    post(202, { names: ['known'] }),
    post(202, { names: ['unknown', 'known'] }),
    post(202, { names: ['delete', 'stop'] }),
    post(202, { group: 'empty' }),
    post(202, { group: 'work' }),
    post(400, 'no JSON', 'bad_request'),
    post(400, '', 'bad_request'),
    post(400, [], 'bad_request'),
    post(400, { names: 'known' }, 'bad_request'),
    post(400, {}, 'invalid_selection'),
    post(400, { names: [] }, 'invalid_selection'),
    post(400, { names: null, group: null }, 'invalid_selection'),
    post(400, { names: ['known'], group: 'work' }, 'invalid_selection'),
    post(400, { names: ['known', '../../etc'] }, 'invalid_name'),
    post(400, { names: [''] }, 'invalid_name'),
    post(400, { names: ['a'.repeat(101)] }, 'invalid_name'),
    post(400, { group: 'Upper' }, 'invalid_group'),
    post(400, { group: 'nobody' }, 'group_not_found'),
    post(413, { names: [sized] }, 'body_too_large'),
  ];
};

const read = (operation: number, suffix: string): StatusCase[] =>
  [
    [200, 'known', undefined],
    [404, 'unknown', 'workload_not_found'],
    [404, 'constructor', 'workload_not_found'],
    [404, 'stop', 'workload_not_found'],
    [400, '..%2f..%2fsecrets', 'invalid_name'],
    [400, '.hidden', 'invalid_name'],
    [400, '%00', 'invalid_name'],
    [400, '%ff', 'invalid_name'],
    [400, 'a'.repeat(101), 'invalid_name'],
  ].map(([status, name, code]) => ({
    ...{ operation, status: status as number, method: 'GET', path: `/workloads/${String(name)}${suffix}` },
    ...(code !== undefined && { code: String(code) }),
  }));

const list = (status: number, query: string, code?: string): StatusCase => ({
  ...{ operation: 22, status, method: 'GET', path: `/workloads${query}` },
  ...(code !== undefined && { code }),
});

const edit = (status: number, name: string, body: unknown, code?: string): StatusCase => ({
  ...{ operation: 24, status, method: 'POST', path: `/workloads/${name}/edit`, body },
  ...(code !== undefined && { code }),
});

/** Every status of operations 19 to 24, with the requests that cause it. Run them in this order: the last ones delete `known`. */
export const STATUSES: readonly StatusCase[] = [
  ...read(20, '/export'),
  ...read(21, ''),
  list(200, ''),
  list(200, '/'),
  list(200, '?all=true'),
  list(200, '?all=TRUE'),
  list(200, '?all=nonsense&all=true'),
  list(200, '?group=work'),
  list(400, '?group=Upper', 'bad_request'),
  list(400, '?group=a%2fb', 'bad_request'),
  list(404, '?group=nobody', 'group_not_found'),
  edit(200, 'known', {}),
  edit(200, 'known', { unknown: 1, TOOLS: ['echo'], image: null }),
  edit(400, 'known', 'no JSON', 'bad_request'),
  edit(400, 'known', [], 'bad_request'),
  edit(400, 'known', { proxy_port: 'high' }, 'bad_request'),
  edit(400, 'known', { env_vars: { A: 1 } }, 'bad_request'),
  edit(400, '.hidden', {}, 'invalid_name'),
  edit(404, 'unknown', {}, 'workload_not_found'),
  edit(413, 'known', { image: sized }, 'body_too_large'),
  ...bulk(23, '/workloads/restart'),
  ...bulk(19, '/workloads/delete'),
];

/** Statuses of operation 24 that depend on the settings: only a real store causes them. */
export const SETTINGS_STATUSES: readonly StatusCase[] = [
  edit(400, 'known', { transport: 'carrier-pigeon' }, 'invalid_workload'),
  edit(400, 'known', { proxy_mode: 'udp' }, 'invalid_workload'),
  edit(400, 'known', { proxy_port: 70_000 }, 'invalid_workload'),
  edit(400, 'known', { group: 'nobody' }, 'group_not_found'),
  edit(400, 'known', { secrets: [{ name: 'no-such-secret', target: 'TOKEN' }] }, 'invalid_workload'),
  edit(400, 'known', { oauth_config: { callback_port: 80 } }, 'invalid_workload'),
  edit(404, 'known', { image: 'npx://@vmcp-example/no-such-package' }, 'image_not_found'),
];
