import { readFile } from 'node:fs/promises';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { parseObject } from '../contract/json.ts';
import type { Problem } from '../contract/problem.ts';
import {
  AUDIT_DEFAULTS,
  AUDIT_EVENT_TYPES,
  AuditConfig,
  auditConfigProblems,
  type AuditEventType,
} from '../contract/run-config/audit.ts';
import { readDocument } from '../contract/run-config/document.ts';
import { decodeUtf8 } from '../contract/text/utf8.ts';
/** The audit log of a server cannot be written as its settings say. `message` names the field and says what to do. */
export class AuditUnusable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'AuditUnusable';
  }
}

/** Settings of one audit log. */
export interface AuditSettings {
  readonly component: string;
  /** Types to write. */
  readonly types: ReadonlySet<AuditEventType>;
  readonly hasRequests: boolean;
  readonly hasResponses: boolean;
  readonly readsResults: boolean;
  readonly maxDataSize: number;
  readonly maxDelegationDepth: number;
  /** True to reject calls while the queue is full. */
  readonly isStrict: boolean;
  /** Absent: standard output. */
  readonly logFile: string | undefined;
  /** Networks whose `X-Forwarded-For` is used. */
  readonly trustedProxies: readonly string[];
}

const invalid = (file: string, problems: readonly Pick<Problem, 'path' | 'message'>[]): AuditUnusable =>
  new AuditUnusable(
    problems.map(({ path, message }) => `audit_config_path: ${file}: ${path ? `${path}: ` : ''}${message}`).join('\n'),
  );

/** Returns the audit settings of a server; undefined while its audit log is off. Rejects with `AuditUnusable`. */
export async function auditSettings(config: GatewayConfig): Promise<AuditSettings | undefined> {
  const { audit_config_path: file } = config;
  const audit = file === undefined ? config.audit_config : await readAuditConfig(file);
  return audit === undefined ? undefined : settingsOf(audit, config);
}

async function readAuditConfig(file: string): Promise<AuditConfig> {
  const bytes = await readFile(file).catch((error: unknown) => {
    const message = `cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
    throw invalid(file, [{ path: '', message }]);
  });
  const text = decodeUtf8(bytes);
  if (text === undefined) throw invalid(file, [{ path: '', message: 'is not UTF-8: save it in that encoding' }]);
  const read = readAudit(text);
  if ('problems' in read) throw invalid(file, read.problems);
  return read.config;
}

/** Reads the content of the file of `audit_config_path`. Pure. */
export function readAudit(text: string): { readonly config: AuditConfig } | { readonly problems: readonly Problem[] } {
  const json = parseObject(text);
  if (!json) return { problems: [{ reason: 'InvalidType', path: '', message: 'must be a JSON object' }] };
  const read = readDocument(AuditConfig, json);
  if ('problems' in read) return read;
  const problems = auditConfigProblems(read.config);
  return problems.length > 0 ? { problems } : read;
}

/** Bytes of one request or response that are written at most: to redact them takes some ms of the only thread. */
const MAX_DATA_SIZE = 256 * 1_024;

/** Owner of an audit log. */
interface Audited {
  readonly name?: string | undefined;
  readonly vmcp: { readonly incoming: Pick<GatewayConfig['vmcp']['incoming'], 'trusted_proxies'> };
}

/** Fills in the defaults; undefined for settings that turn the log off. Pure. */
export function settingsOf(audit: AuditConfig, { name, vmcp }: Audited): AuditSettings | undefined {
  if (audit.enabled === false) return undefined;
  const { eventTypes: included = [], excludeEventTypes: excluded = [] } = audit;
  const isTaken = (type: string): boolean =>
    (included.length === 0 || included.includes(type)) && !excluded.includes(type);
  return {
    component: audit.component ? audit.component : (name ?? 'vmcp'),
    types: new Set(AUDIT_EVENT_TYPES.filter(isTaken)),
    hasRequests: audit.includeRequestData === true,
    hasResponses: audit.includeResponseData === true,
    readsResults: audit.detectApplicationErrors !== false,
    maxDataSize: Math.min(audit.maxDataSize ?? AUDIT_DEFAULTS.maxDataSize, MAX_DATA_SIZE),
    maxDelegationDepth: audit.maxDelegationDepth ?? AUDIT_DEFAULTS.maxDelegationDepth,
    isStrict: audit.onOverflow === 'refuse',
    logFile: audit.logFile ? audit.logFile : undefined,
    trustedProxies: vmcp.incoming.trusted_proxies ?? [],
  };
}
