import { defaultResource, resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import type { TelemetryConfig } from '../../contract/run-config/telemetry.ts';

/** What runs, as far as the configuration does not say it. */
export interface Service {
  readonly name: string;
  /** Namespace of the virtual server; undefined where there are none. */
  readonly namespace: string | undefined;
  readonly version: string;
  /** Unique for this process: replicas must not overwrite each other's series. */
  readonly instanceId: string;
}

/** @see OpenTelemetry semantic-conventions, resource/service.md */
export function resourceOf(config: TelemetryConfig, { name, namespace, version, instanceId }: Service): Resource {
  const { serviceName, serviceVersion, customAttributes = {} } = config;
  const attributes = {
    'service.name': name,
    'service.version': version,
    'service.instance.id': instanceId,
    ...(namespace !== undefined && { 'service.namespace': namespace }),
    ...customAttributes,
    ...(serviceName !== undefined && { 'service.name': serviceName }),
    ...(serviceVersion !== undefined && { 'service.version': serviceVersion }),
  };
  return defaultResource().merge(resourceFromAttributes(attributes));
}
