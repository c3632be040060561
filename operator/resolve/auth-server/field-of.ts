/** Configuration members whose field name in a resource is not just their camel-case form. */
const FIELDS: Readonly<Record<string, string>> = {
  allow_private_ips: 'allowPrivateIPs',
  client_secret_file: 'clientSecretRef',
  initial_access_token_file: 'initialAccessTokenRef',
  insecure_allow_http: 'insecureAllowHTTP',
  private_key_file: 'privateKeyRef',
  userinfo: 'userInfo',
  userinfo_override: 'userInfoOverride',
};

/** `oidc_config.userinfo_override.http_method` -> `oidcConfig.userInfoOverride.httpMethod`. Names in maps stay. */
export function fieldOf(path: string): string {
  const [, members = '', name = ''] =
    /^(.*?)((?<=\.(?:additional_(?:headers|authorization_params|token_params)))\..*)?$/su.exec(path) ?? [];
  const camel = (member: string): string =>
    FIELDS[member] ?? member.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());
  return members.split('.').map(camel).join('.') + name;
}
