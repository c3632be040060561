interface Resource {
  readonly kind: string;
  readonly metadata?: unknown;
  readonly spec?: unknown;
}

/** Returns the MCPExternalAuthConfig with the authorization server of a VirtualMCPServer; none for other objects. */
export function embeddedAuthServers(object: Resource): Resource[] {
  const { authServerConfig } = (object.spec ?? {}) as { readonly authServerConfig?: unknown };
  if (object.kind !== 'VirtualMCPServer' || authServerConfig === undefined) return [];
  const spec = { type: 'embeddedAuthServer', embeddedAuthServer: authServerConfig };
  return [{ ...object, kind: 'MCPExternalAuthConfig', spec }];
}
