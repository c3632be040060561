import { X509Certificate } from 'node:crypto';
import type { Static, TSchema } from 'typebox';
import { parse } from 'yaml';
import type { BundleRef } from '../../gateway/contract/references.ts';
import type { ObjectScope, Report } from './scope.ts';
import { readDocument } from '../../gateway/contract/run-config/document.ts';

/** Key of a ConfigMap when a reference names none. */
export const DEFAULT_BUNDLE_KEY = 'ca.crt';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu;

/** Checks a referenced bundle and returns the path of its mounted file; undefined without a bundle. */
export function bundleFile(
  reference: BundleRef | undefined,
  path: string,
  scope: ObjectScope,
  report: Report,
): string | undefined {
  if (!reference?.configMapRef) return undefined;
  const { name, key = DEFAULT_BUNDLE_KEY, optional } = reference.configMapRef;
  const bundle = scope.snapshot.configMaps.get(name)?.data[key];
  if (bundle === undefined) return optional === true ? undefined : scope.mount('ConfigMap', name, key);
  const fault = bundleFault(bundle);
  if (fault !== undefined) {
    const message = `key "${key}" of ConfigMap "${name}" contains ${fault}: put the CA's certificate there`;
    report.problem('CABundleRefInvalid', `${path}.configMapRef.key`, message);
  }
  return scope.mount('ConfigMap', name, key);
}

/** Returns what is wrong with the PEM text of a bundle, as the object of "contains". */
export function bundleFault(bundle: string): string | undefined {
  const certificates = bundle.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) return 'no PEM certificate';
  return certificates.every(isCertificate) ? undefined : 'a PEM certificate that cannot be read';
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

/** Parsed document, or its mistakes, each with the path in the document. */
export type ConfigMapDocument<Schema extends TSchema> =
  | { readonly config: Static<Schema> }
  | { readonly problems: readonly string[] };

/** Parses the text of a key of a ConfigMap, JSON or YAML, and checks it against a schema. Pure. */
export function parseConfigMapDocument<Schema extends TSchema>(
  schema: Schema,
  text: string,
): ConfigMapDocument<Schema> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split(/:?\n/u);
    return { problems: [`is neither JSON nor YAML: ${what}`] };
  }
  const read = readDocument(schema, value);
  return 'config' in read
    ? read
    : { problems: read.problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)) };
}

/** Names the document in messages. */
export const documentName = (name: string, key: string): string => `key "${key}" of ConfigMap "${name}"`;
