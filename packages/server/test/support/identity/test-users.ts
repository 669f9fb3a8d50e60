// Users of one test realm, and the credentials that they enter.
import { randomBytes, randomUUID } from 'node:crypto';
import { defined, type GroupName } from '@switchyard/contract';
import { Secret, TOTP } from 'otpauth';
import type { Identity } from '../../../src/identity/index.ts';

type NewUser = Parameters<Identity['accounts']['create']>[0];
type User = Awaited<ReturnType<Identity['accounts']['create']>>;

export type TestUser = {
  readonly user: User;
  readonly password: string;
  readonly otpSecret?: string;
};

export type TestUserOptions = Partial<NewUser> & {
  /** The merchant of the user; default: the user belongs to the organisation. */
  readonly merchantId?: string;
  readonly group?: GroupName;
  readonly hasOneTimePassword?: boolean;
};

type TestUserRealm = {
  readonly identity: Pick<Identity, 'accounts'>;
  readonly organizationId: string;
  readonly userDomainId: string;
};

export const newOtpSecret = (): string =>
  new Secret({ buffer: new Uint8Array(randomBytes(20)).buffer }).base32;

export const otpCodeAt = (otpSecret: string, timestamp: number): string =>
  new TOTP({ secret: Secret.fromBase32(otpSecret) }).generate({ timestamp });

export async function createTestUser(
  realm: TestUserRealm,
  facts: TestUserOptions = {},
): Promise<TestUser> {
  const { merchantId, group, hasOneTimePassword = false, ...members } = facts;
  const { identity, organizationId, userDomainId } = realm;
  const entityId = merchantId ?? organizationId;
  const name = group ?? (merchantId === undefined ? 'org_admin' : 'merchant_manager');
  const password = `of ${randomUUID()}`;
  const otpSecret = hasOneTimePassword ? newOtpSecret() : undefined;
  const user = await identity.accounts.create({
    organizationId,
    userDomainId,
    username: `ada-${randomUUID()}`,
    entityType: merchantId === undefined ? 'tenant' : 'merchant',
    entityId,
    email: 'ada@shop.example',
    emailVerified: true,
    givenName: 'Ada',
    familyName: 'Byron',
    groups: [`${entityId}_${name}`],
    secondFactor: hasOneTimePassword ? 'On' : 'Off',
    password,
    passwordIsRandom: members.password === undefined,
    otpSecret,
    ...members,
  });
  return { user, password, ...defined({ otpSecret }) };
}

/** The form fields of the password grant for this user, without a one-time code. */
export function passwordForm({ user, password }: TestUser, clientId: string) {
  return { grant_type: 'password', client_id: clientId, username: user.username, password };
}
