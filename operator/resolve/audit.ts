import type { AuditConfig } from '../../gateway/contract/run-config/audit.ts';
import type { Scope } from './scope.ts';

/** Resolves the audit settings; undefined while they are off. Warns about settings that have no effect. */
export function resolveAudit(scope: Scope): AuditConfig | undefined {
  const { audit } = scope.vmcp.spec.config ?? {};
  if (audit === undefined) return undefined;
  const report = scope.on(scope.vmcp);
  if (audit.enabled !== true) {
    const isSet = Object.keys(audit).some((member) => SETTINGS.has(member));
    if (isSet)
      report.warning(
        'NoEffect',
        'spec.config.audit',
        'the audit log is off: set enabled: true, or remove its settings',
      );
    return undefined;
  }
  const { component, eventTypes, excludeEventTypes, ...others } = audit;
  return {
    ...others,
    ...(component && { component }),
    ...(eventTypes && eventTypes.length > 0 && { eventTypes }),
    ...(excludeEventTypes && excludeEventTypes.length > 0 && { excludeEventTypes }),
  };
}

/** Settings without a default: the others may stand there because the API server has written them. */
const SETTINGS: ReadonlySet<string> = new Set(['component', 'eventTypes', 'excludeEventTypes', 'logFile']);
