import { at, HEADER_NAME_PATTERN, rule, safeHeaders, type Rule } from '../../gateway/contract/rule.ts';
import { compositeToolRules } from './composite-tools.ts';
import { minimum } from '../../gateway/contract/duration-rules.ts';
import { operationalRules } from './operational.ts';
import { rateLimitingRules } from './rate-limiting.ts';

interface Aggregation {
  readonly conflictResolution?: string;
  readonly conflictResolutionConfig?: { readonly priorityOrder?: readonly string[] };
}

interface ToolRules {
  readonly toolConfigRef?: unknown;
  readonly filter?: unknown;
  readonly overrides?: unknown;
}

const aggregationRules: Rule[] = [
  rule<Aggregation>('aggregation', {
    field: 'conflictResolutionConfig',
    rule:
      "self.conflictResolution != 'priority' || (has(self.conflictResolutionConfig) && " +
      'has(self.conflictResolutionConfig.priorityOrder) && size(self.conflictResolutionConfig.priorityOrder) > 0)',
    message: 'priorityOrder is required when conflictResolution is priority',
    check: (self) =>
      self.conflictResolution !== 'priority' || (self.conflictResolutionConfig?.priorityOrder ?? []).length > 0,
  }),
  rule<ToolRules>('aggregation.tools[]', {
    field: 'toolConfigRef',
    rule: '!has(self.toolConfigRef) || (!has(self.filter) && !has(self.overrides))',
    message: 'set toolConfigRef, or filter and overrides, not both',
    check: (self) => self.toolConfigRef === undefined || (self.filter === undefined && self.overrides === undefined),
  }),
];

interface Optimizer {
  readonly embeddingProvider?: string;
  readonly embeddingHeaders?: Readonly<Record<string, string>>;
}

const OWN_HEADERS = ['authorization', 'content-type'];

const optimizerRules: Rule[] = at('optimizer', [
  rule<Optimizer>('', {
    field: 'embeddingHeaders',
    rule: "!has(self.embeddingHeaders) || self.embeddingProvider == 'openai'",
    message: 'set embeddingHeaders only if embeddingProvider is openai',
    check: (self) => self.embeddingHeaders === undefined || self.embeddingProvider === 'openai',
  }),
  rule<Readonly<Record<string, string>>>('embeddingHeaders', {
    rule: `self.all(h, h.matches("${HEADER_NAME_PATTERN}") && !(h.lowerAscii() in ['authorization', 'content-type']))`,
    message: 'embeddingHeaders must be header names other than Authorization and Content-Type',
    check: (self) =>
      Object.keys(self).every(
        (name) => new RegExp(HEADER_NAME_PATTERN).test(name) && !OWN_HEADERS.includes(name.toLowerCase()),
      ),
  }),
  minimum('', 'embeddingServiceTimeout', '1ms'),
]);

const written = (member: string, instead: string): Rule =>
  rule<Readonly<Record<string, unknown>>>('', {
    field: member,
    rule: `!has(self.${member})`,
    message: `${member} is written by the operator here; ${instead}`,
    check: (self) => self[member] === undefined,
  });

/** Rules of `spec.config`. */
export const vmcpConfigRules = (path: string): Rule[] =>
  at(path, [
    written('backends', 'put servers into the group'),
    written('sessionStorage', 'set spec.sessionStorage'),
    ...aggregationRules,
    ...operationalRules('operational'),
    ...optimizerRules,
    ...rateLimitingRules('rateLimiting'),
    ...compositeToolRules('compositeTools'),
    minimum('codeMode', 'toolCallTimeout', '1ms'),
    safeHeaders('passthroughHeaders'),
  ]);
