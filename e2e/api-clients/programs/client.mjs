import createClient from 'openapi-fetch';

/** @typedef {import('./schema.d.ts').paths} Paths */

const [, , baseUrl = '', backend = ''] = process.argv;
/** @type {import('openapi-fetch').Client<Paths>} */
const api = createClient({ baseUrl });

/** @template Data @param {{ data?: Data, error?: unknown }} reply */
function bodyOf({ data, error }) {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function groupNames() {
  const { groups } = bodyOf(await api.GET('/api/v1beta/groups'));
  return groups.map(({ name }) => name);
}

const first = await groupNames();
const created = bodyOf(await api.POST('/api/v1beta/groups', { body: { name: 'lab' } }));
/** @type {import('./schema.d.ts').components['schemas']['CreateWorkloadRequest']} */
const body = { name: 'notes', group: 'lab', url: backend, tools_override: { echo: { name: 'say' } } };
bodyOf(await api.POST('/api/v1beta/workloads', { body }));
const path = { name: 'notes' };
const details = bodyOf(await api.GET('/api/v1beta/workloads/{name}', { params: { path } }));
const query = { all: true, group: 'lab' };
const { workloads } = bodyOf(await api.GET('/api/v1beta/workloads', { params: { query } }));
const deleted = await api.DELETE('/api/v1beta/workloads/{name}', { params: { path } });
const lab = { path: { name: 'lab' } };
const gone = await api.DELETE('/api/v1beta/groups/{name}', { params: { ...lab, query: { 'with-workloads': true } } });
const missing = await api.GET('/api/v1beta/groups/{name}', { params: lab });
/** @type {{ first: string[], created: string, override?: string | undefined, listed: unknown[], statuses: number[], last: string[] }} */
const facts = {
  first,
  created: created.name,
  override: details.tools_override['echo']?.name,
  listed: workloads.map(({ name, remote, group }) => [name, remote, group]),
  statuses: [deleted.response.status, gone.response.status, missing.response.status],
  last: await groupNames(),
};
console.log(JSON.stringify(facts));
