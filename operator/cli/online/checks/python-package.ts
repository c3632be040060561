import { parseUvx } from '../../../../gateway/workloads/runner/schemes/uvx.ts';
import { jsonObject, notFound, replyOf, unchecked, unreachable, type OnlineCheck } from '../online-check.ts';

const INDEX = 'https://pypi.org/simple';
/** The simple index as JSON (PEP 691); older indexes answer in HTML, without a list of versions. */
const JSON_INDEX = 'application/vnd.pypi.simple.v1+json, text/html;q=0.1';

/** Returns the names that the index uses (PEP 503). */
const indexName = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/gu, '-');

/** Returns a text that is equal for equal versions (PEP 440): without zeros at the end. */
function comparable(version: string): string {
  const parts = version.toLowerCase().split('.');
  while (parts.at(-1) === '0') parts.pop();
  return parts.join('.');
}

/** Checks that the index has the package in the version of the reference. */
export const pythonPackage: OnlineCheck = async ({ value }, { get, env }) => {
  const { name, requirement } = parseUvx(value);
  const index = env['UV_INDEX_URL'] ?? env['PIP_INDEX_URL'] ?? INDEX;
  const url = `${index.replace(/\/$/u, '')}/${indexName(name)}/`;
  const reply = await replyOf(get, url, { headers: { accept: JSON_INDEX } });
  if (typeof reply === 'string') return unreachable(`${reply}: the package "${name}" was not checked`);
  if (reply.status === 404) return notFound(`PyPI has no package "${name}": correct its name`);
  if (reply.status !== 200) return unchecked(`the Python index answered ${String(reply.status)} for "${name}"`);
  const [, version] = requirement.split('==');
  const { versions } = jsonObject(reply.body);
  if (version === undefined || !Array.isArray(versions)) return undefined;
  const known = versions.filter((each) => typeof each === 'string');
  if (known.some((each) => comparable(each) === comparable(version))) return undefined;
  return notFound(`PyPI has no version ${version} of "${name}": the newest is ${known.at(-1) ?? 'unknown'}`);
};
