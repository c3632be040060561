import type { AuthServerContext } from '../context.ts';
import type { Login } from '../storage/records.ts';
import type { UpstreamIdentity } from '../upstream/upstream.ts';

const UUID_BYTES = 16;

/**
 * Finds or creates the user that the first provider has authenticated. A user is a provider and a subject there, never an
 * e-mail address. A synthetic subject is not stored, because it differs at each login.
 */
export async function resolveUser(
  { store, now, random }: AuthServerContext,
  provider: string,
  { subject, synthetic, name, email }: Omit<UpstreamIdentity, 'claims'>,
): Promise<Login> {
  const authTime = now();
  const candidate = { id: uuidOf(random(UUID_BYTES)), provider, subject, createdAt: authTime };
  const userId = synthetic ? subject : (await store.users.resolve(candidate)).id;
  return { userId, authTime, ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
}

/** Version 4. @see RFC 9562 §5.4 */
function uuidOf(random: Uint8Array): string {
  const bytes = Buffer.from(random);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, '$1-$2-$3-$4-$5');
}
