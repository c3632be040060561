import { maxSatisfying, validRange } from 'semver';
import { isObject } from '../../../../gateway/contract/json.ts';
import { parseNpx } from '../../../../gateway/workloads/runner/schemes/npx.ts';
import { jsonObject, notFound, replyOf, unchecked, unreachable, type OnlineCheck } from '../online-check.ts';

const REGISTRY = 'https://registry.npmjs.org/';
/** The document that npm itself requests: without the texts of each version. */
const ABBREVIATED = 'application/vnd.npm.install-v1+json, application/json;q=0.8';

/** Checks that the registry has the package in a version that the reference allows. */
export const npmPackage: OnlineCheck = async ({ value }, { get, env }) => {
  const { name, version } = parseNpx(value);
  const registry = env['npm_config_registry'] ?? env['NPM_CONFIG_REGISTRY'] ?? REGISTRY;
  const url = `${registry.replace(/\/$/u, '')}/${name.replace('/', '%2f')}`;
  const reply = await replyOf(get, url, { headers: { accept: ABBREVIATED } });
  if (typeof reply === 'string') return unreachable(`${reply}: the package "${name}" was not checked`);
  if (reply.status === 404) return notFound(`npm has no package "${name}": correct its name`);
  if (reply.status !== 200) return unchecked(`the npm registry answered ${String(reply.status)} for "${name}"`);
  const { versions, 'dist-tags': tags } = jsonObject(reply.body);
  const known = isObject(versions) ? Object.keys(versions) : [];
  const tagged = isObject(tags) ? tags : {};
  if (version === undefined || Object.hasOwn(tagged, version)) return undefined;
  if (validRange(version) !== null && maxSatisfying(known, version) !== null) return undefined;
  const latest = typeof tagged['latest'] === 'string' ? `: the latest is ${tagged['latest']}` : '';
  return notFound(`npm has no version ${version} of "${name}"${latest}`);
};
